import { fieldValue, type PodFacts } from './field-refs.js';
import { dataBytes, type DataKind } from './object-source.js';
import type { Container, DataObject, EnvFrom, EnvVar, KeyRef, Pod, ServiceObject } from './pod-types.js';

/** What a container's variables are made from. */
export interface EnvSurroundings {
  readonly facts: PodFacts;
  /** Services of the pod's namespace, and `kubernetes` of default. */
  readonly services: readonly ServiceObject[];
  find(kind: DataKind, name: string): DataObject | undefined;
}

/** A container's environment in order of precedence, or the sentence that says what it lacks. */
export function buildContainerEnv(pod: Pod, container: Container, around: EnvSurroundings): Readonly<Record<string, string>> | string {
  const env: Record<string, string> = { ...serviceEnv(pod, around.services) };
  const problem = firstProblem([
    ...(container.envFrom ?? []).map((from) => () => addAllKeys(env, from, around)),
    ...(container.env ?? []).map((variable) => () => addVariable(env, variable, { pod, container, around })),
  ]);
  return problem ?? env;
}

function firstProblem(steps: readonly (() => string | undefined)[]): string | undefined {
  for (const step of steps) {
    const problem = step();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function addAllKeys(env: Record<string, string>, from: EnvFrom, around: EnvSurroundings): string | undefined {
  const kind: DataKind = from.secretRef === undefined ? 'configmaps' : 'secrets';
  const ref = from.secretRef ?? from.configMapRef ?? { name: '' };
  const object = around.find(kind, ref.name);
  if (object === undefined) return ref.optional === true ? undefined : `${kind} "${ref.name}" not found`;
  for (const [key, bytes] of dataBytes(kind, object)) env[`${from.prefix ?? ''}${key}`] = bytes.toString();
  return undefined;
}

/** Expands `$(NAME)` from the environment, as Kubernetes does in commands, arguments and values; `$$` is a plain `$`. */
export function expandReferences(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^)]+)\)/g, (whole, name: string | undefined) => (name === undefined ? '$' : (env[name] ?? whole)));
}

/** The variables by which a pod finds the Services that exist when it starts (`FOO_SERVICE_HOST`). */
function serviceEnv(pod: Pod, services: readonly ServiceObject[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...services.filter((service) => isLinked(pod, service)).map(variablesOf)) as Record<string, string>;
}

function isLinked(pod: Pod, service: ServiceObject): boolean {
  const { namespace, name } = service.metadata;
  if ((service.spec.clusterIP ?? 'None') === 'None' || service.spec.clusterIP === '') return false;
  if (namespace === 'default' && name === 'kubernetes') return true;
  return pod.spec.enableServiceLinks !== false && namespace === pod.metadata.namespace;
}

function variablesOf(service: ServiceObject): Record<string, string> {
  const prefix = variableName(service.metadata.name);
  const address = service.spec.clusterIP ?? '';
  const ports = service.spec.ports ?? [];
  const env: Record<string, string> = { [`${prefix}_SERVICE_HOST`]: address };
  if (ports[0] !== undefined) env[`${prefix}_SERVICE_PORT`] = String(ports[0].port);
  for (const port of ports) {
    const each = `${prefix}_PORT_${port.port}_${port.protocol ?? 'TCP'}`;
    if (port.name !== undefined) env[`${prefix}_SERVICE_PORT_${variableName(port.name)}`] = String(port.port);
    env[`${each}_ADDR`] = address;
    env[`${each}_PORT`] = String(port.port);
  }
  return env;
}

const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_');

interface VariableContext {
  readonly pod: Pod;
  readonly container: Container;
  readonly around: EnvSurroundings;
}

function addVariable(env: Record<string, string>, variable: EnvVar, context: VariableContext): string | undefined {
  const from = variable.valueFrom;
  if (from === undefined) {
    env[variable.name] = expandReferences(variable.value ?? '', env);
    return undefined;
  }
  if (from.configMapKeyRef !== undefined) return addKey(env, variable.name, { kind: 'configmaps', ref: from.configMapKeyRef, around: context.around });
  if (from.secretKeyRef !== undefined) return addKey(env, variable.name, { kind: 'secrets', ref: from.secretKeyRef, around: context.around });
  const value = from.fieldRef === undefined ? resourceValue(context, from.resourceFieldRef?.resource ?? '') : fieldValue(context.pod, from.fieldRef.fieldPath, context.around.facts);
  if (value === undefined) return `variable ${variable.name}: the testbed does not know its source`;
  env[variable.name] = value;
  return undefined;
}

function addKey(env: Record<string, string>, name: string, source: { readonly kind: DataKind; readonly ref: KeyRef; readonly around: EnvSurroundings }): string | undefined {
  const object = source.around.find(source.kind, source.ref.name);
  const bytes = object === undefined ? undefined : dataBytes(source.kind, object).get(source.ref.key);
  if (bytes !== undefined) env[name] = bytes.toString();
  return bytes !== undefined || source.ref.optional === true ? undefined : `key "${source.ref.key}" of ${source.kind} "${source.ref.name}" not found`;
}

const MULTIPLIERS: Readonly<Record<string, number>> = { '': 1, m: 0.001, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** `limits.memory` and its like as whole numbers: bytes, or CPUs rounded up. */
function resourceValue(context: VariableContext, resource: string): string | undefined {
  const match = /^(limits|requests)\.(.+)$/.exec(resource);
  if (match === null) return undefined;
  const quantity = context.container.resources?.[match[1] as 'limits' | 'requests']?.[match[2] ?? ''] ?? '0';
  const [, number = '0', unit = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(quantity) ?? [];
  return String(Math.ceil(Number(number) * (MULTIPLIERS[unit] ?? 1)));
}
