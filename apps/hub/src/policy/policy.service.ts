import { Inject, Injectable } from '@nestjs/common';

import { clusterId, FleetError, type ClusterSelector, type Problem, type SamenessPolicy } from '#domain/fleet';
import { policyProblems } from '#domain/sameness';
import { FleetStore } from '#ports';

import { FleetViewSource } from '../core/fleet-view-source.js';
import { planPage, type Page, type PageRequest } from '../graphql/page.js';
import { answerMutation, type MutationAnswer } from '../graphql/user-error.model.js';
import { toLabels } from '../member-cluster/cluster-input-problems.js';
import type { ClusterSelectionInput, SetSamenessPolicyInput } from './policy.inputs.js';
import type { ClusterSelection, SamenessPolicyModel } from './policy.model.js';

/** Keeps the policies that say what is the same where. */
@Injectable()
export class PolicyService {
  constructor(
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(FleetViewSource) private readonly views: FleetViewSource,
  ) {}

  async list(page: PageRequest): Promise<Page<SamenessPolicyModel>> {
    return planPage((await this.store.policies.list()).map(toModel), ({ name }) => name, page);
  }

  async find(name: string): Promise<SamenessPolicyModel | undefined> {
    const policy = await this.store.policies.find(name);
    return policy === undefined ? undefined : toModel(policy);
  }

  async set(input: SetSamenessPolicyInput, by: string): Promise<MutationAnswer<SamenessPolicyModel>> {
    const policy: SamenessPolicy = { name: input.name, namespaces: input.namespaces, mayExport: toSelector(input.mayExport), mayImport: toSelector(input.mayImport), owner: input.owner };
    const problems = [...policyProblems(policy), ...labelTwiceProblems('mayExport', input.mayExport), ...labelTwiceProblems('mayImport', input.mayImport)];
    return answerMutation(problems, async () => {
      await this.store.policies.save(policy, by);
      await this.views.catchUp();
      return toModel(policy);
    });
  }

  async remove(name: string, by: string): Promise<MutationAnswer<SamenessPolicyModel>> {
    return answerMutation([], async () => {
      const policy = await this.store.policies.find(name);
      if (policy === undefined) throw new FleetError('POLICY_NOT_FOUND', 'user', `There is no policy "${name}".`);
      await this.store.policies.remove(name, by);
      await this.views.catchUp();
      return toModel(policy);
    });
  }
}

const toSelector = ({ all, names, matchLabels }: ClusterSelectionInput): ClusterSelector => ({ all, names: names.map(clusterId), matchLabels: toLabels(matchLabels) });

const toModel = ({ name, namespaces, mayExport, mayImport, owner }: SamenessPolicy): SamenessPolicyModel => ({ name, namespaces, mayExport: toSelection(mayExport), mayImport: toSelection(mayImport), owner });

const toSelection = ({ all, names, matchLabels }: ClusterSelector): ClusterSelection => ({
  all,
  names,
  matchLabels: Object.keys(matchLabels).sort().map((key) => ({ key, value: matchLabels[key] ?? '' })),
});

// As a record, the later of two equal keys would win silently.
const labelTwiceProblems = (path: string, { matchLabels }: ClusterSelectionInput): readonly Problem[] =>
  matchLabels.flatMap(({ key }, index) => (matchLabels.findIndex((label) => label.key === key) < index ? [{ path: `${path}.matchLabels[${index}]`, code: 'POLICY_LABEL_TWICE', message: `"${key}" is given twice; keep one.` }] : []));
