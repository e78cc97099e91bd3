import { isRfc1123Label, type Problem } from '#domain/fleet';
import { labelProblems } from '#domain/sameness';

import type { LabelInput, LocationInput } from './member-cluster.inputs.js';

/** The most labels of one cluster. */
const CLUSTER_LABELS_MAX = 64;

/** Everything wrong with the labels, the location and the network of a cluster. */
export function placementProblems(input: { readonly labels?: readonly LabelInput[] | null; readonly location?: LocationInput | null; readonly network?: string | null }): readonly Problem[] {
  return [...labelListProblems(input.labels ?? []), ...locationProblems(input.location), ...networkProblems(input.network)];
}

function labelListProblems(labels: readonly LabelInput[]): readonly Problem[] {
  if (labels.length > CLUSTER_LABELS_MAX) return [{ path: 'labels', code: 'CLUSTER_LABELS_TOO_MANY', message: `The cluster has ${labels.length} labels; use at most ${CLUSTER_LABELS_MAX}.` }];
  return labels.flatMap(({ key, value }, index) => {
    if (labels.findIndex((label) => label.key === key) < index) return [{ path: `labels[${index}]`, code: 'CLUSTER_LABEL_TWICE', message: `"${key}" is given twice; keep one.` }];
    return labelProblems(`labels[${index}]`, key, value);
  });
}

function locationProblems(location: LocationInput | null | undefined): readonly Problem[] {
  if (location === null || location === undefined) return [];
  const parts = [['region', location.region], ['zone', location.zone]] as const;
  return parts.filter(([, text]) => text !== '' && !LOCATION.test(text)).map(([part, text]) => ({
    path: `location.${part}`,
    code: 'CLUSTER_LOCATION_INVALID',
    message: `"${text}" is no ${part}: use at most 63 letters, digits, "-", "_" and ".", as in the topology labels of nodes.`,
  }));
}

const LOCATION = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function networkProblems(network: string | null | undefined): readonly Problem[] {
  if (network === null || network === undefined || isRfc1123Label(network)) return [];
  return [{ path: 'network', code: 'CLUSTER_NETWORK_INVALID', message: `"${network}" is no network name: use at most 63 lower case letters, digits and "-".` }];
}

/** A list of labels as a record. */
export const toLabels = (labels: readonly LabelInput[]): Readonly<Record<string, string>> => Object.fromEntries(labels.map(({ key, value }) => [key, value]));
