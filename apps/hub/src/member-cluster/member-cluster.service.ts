import { Inject, Injectable } from '@nestjs/common';

import { parseKubeconfig } from '#contracts/kubeconfig';
import { clusterId, type Freshness, type Problem } from '#domain/fleet';
import { memberNameProblems } from '#domain/membership';
import { Clock, FleetStore, type ClusterCredential, type ClusterUpdate } from '#ports';

import { HUB_SETTINGS, type HubSettings } from '../core/hub-settings.js';
import { answerMutation, type MutationAnswer } from '../graphql/user-error.model.js';
import { planPage, type Page, type PageRequest } from '../graphql/page.js';
import { placementProblems, toLabels } from './cluster-input-problems.js';
import type { RegisterClusterInput, RemoveClusterInput, UpdateClusterInput } from './member-cluster.inputs.js';
import type { Cluster } from './member-cluster.model.js';
import { toCluster } from './to-cluster.js';

/** Registers, shows, changes and removes member clusters. It never calls one: the worker tries what was registered. */
@Injectable()
export class MemberClusterService {
  constructor(
    @Inject(FleetStore) private readonly store: FleetStore,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(HUB_SETTINGS) private readonly settings: HubSettings,
  ) {}

  async list(filter: { readonly freshness: Freshness | undefined }, page: PageRequest): Promise<Page<Cluster>> {
    const records = await this.store.membership.list();
    const wanted = records.filter(({ freshness }) => filter.freshness === undefined || freshness === filter.freshness);
    return planPage(wanted.map((record) => toCluster(record, this.clock.nowMs())), ({ name }) => name, page);
  }

  async find(name: string): Promise<Cluster | undefined> {
    const record = await this.store.membership.find(clusterId(name));
    return record === undefined ? undefined : toCluster(record, this.clock.nowMs());
  }

  async register(input: RegisterClusterInput, by: string): Promise<MutationAnswer<Cluster>> {
    const credential = this.#credential(input);
    const problems = [...memberNameProblems(input.name), ...credential.problems, ...placementProblems(input)];
    return answerMutation(problems, async () => {
      const { region = '', zone = '' } = input.location ?? {};
      const registration = { id: clusterId(input.name), labels: toLabels(input.labels), region, zone, network: input.network, credential: credential.value };
      return toCluster(await this.store.membership.register(registration, by), this.clock.nowMs());
    });
  }

  async update(input: UpdateClusterInput, by: string): Promise<MutationAnswer<Cluster>> {
    const credential = this.#credential(input);
    const problems = [...memberNameProblems(input.name), ...credential.problems, ...placementProblems(input)];
    return answerMutation(problems, async () => {
      const update: ClusterUpdate = {
        ...(input.labels ? { labels: toLabels(input.labels) } : {}),
        ...(input.location ? { region: input.location.region, zone: input.location.zone } : {}),
        ...(input.network ? { network: input.network } : {}),
        ...(credential.value === undefined ? {} : { credential: credential.value }),
      };
      return toCluster(await this.store.membership.update(clusterId(input.name), update, by), this.clock.nowMs());
    });
  }

  async remove({ name, force }: RemoveClusterInput, by: string): Promise<MutationAnswer<Cluster>> {
    return answerMutation(memberNameProblems(name), async () => toCluster(await this.store.membership.requestRemoval(clusterId(name), { force, by }), this.clock.nowMs()));
  }

  #credential(input: { readonly kubeconfig?: string | null; readonly context?: string | null }): { readonly value: ClusterCredential | undefined; readonly problems: readonly Problem[] } {
    if (input.kubeconfig === null || input.kubeconfig === undefined) return { value: undefined, problems: contextAloneProblems(input.context) };
    const parsed = parseKubeconfig(input.kubeconfig, { contextName: input.context ?? undefined, allowLocalServers: this.settings.allowLocalClusters });
    if (!parsed.ok) return { value: undefined, problems: parsed.problems.map((problem) => ({ ...problem, path: problem.path === '' ? 'kubeconfig' : `kubeconfig.${problem.path}` })) };
    return { value: { kubeconfig: parsed.text, serverUrl: parsed.connection.server }, problems: [] };
  }
}

const contextAloneProblems = (context: string | null | undefined): readonly Problem[] =>
  context === null || context === undefined ? [] : [{ path: 'context', code: 'KUBECONFIG_CONTEXT_ALONE', message: 'A context is named but no kubeconfig is given; send both or neither.' }];
