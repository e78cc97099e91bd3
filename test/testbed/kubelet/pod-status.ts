import type { PodFacts } from './field-refs.js';
import type { ContainerRunner, ContainerState } from './container-runner.js';
import type { Pod, PodCondition } from './pod-types.js';

/** What a pod's status is made from. */
export interface PodObservation {
  readonly pod: Pod;
  readonly facts: PodFacts;
  readonly startTime: string;
  readonly sandboxReady: boolean;
  /** Why no container can start yet, such as a missing Secret. */
  readonly waitingFor: string | undefined;
  readonly initRunners: readonly ContainerRunner[];
  readonly runners: readonly ContainerRunner[];
}

/** The status of a pod as a node reports it. Conditions keep their transition times from `previous` where nothing changed. */
export function buildPodStatus(seen: PodObservation, nowIso: string): Record<string, unknown> {
  const phase = phaseOf(seen);
  return {
    phase,
    conditions: mergeConditions(seen.pod, conditionsOf(seen, phase), nowIso),
    startTime: seen.startTime,
    hostIP: seen.facts.hostIp,
    hostIPs: [{ ip: seen.facts.hostIp }],
    ...(seen.sandboxReady ? { podIP: seen.facts.podIp, podIPs: [{ ip: seen.facts.podIp }] } : {}),
    initContainerStatuses: seen.initRunners.map((runner) => containerStatus(runner, seen.waitingFor)),
    containerStatuses: seen.runners.map((runner) => containerStatus(runner, seen.waitingFor)),
  };
}

/** The pod's phase by its containers. */
function phaseOf(seen: PodObservation): string {
  const states = seen.runners.map((runner) => runner.state);
  if (states.length > 0 && states.every((state) => state.kind === 'terminated') && seen.runners.every((runner) => !willRestart(seen.pod, runner.state))) {
    return states.every((state) => state.kind === 'terminated' && state.exitCode === 0) ? 'Succeeded' : 'Failed';
  }
  const failedInit = seen.pod.spec.restartPolicy === 'Never' && seen.initRunners.some((runner) => runner.state.kind === 'terminated' && runner.state.exitCode !== 0);
  if (failedInit) return 'Failed';
  const allBegan = seen.runners.every((runner) => runner.state.kind !== 'waiting' || runner.lastState !== undefined);
  return allBegan && states.length > 0 ? 'Running' : 'Pending';
}

/** True where a pod's restart policy starts a container again that ended so. */
export function willRestart(pod: Pod, state: ContainerState): boolean {
  if (state.kind !== 'terminated' || pod.metadata.deletionTimestamp !== undefined) return false;
  const policy = pod.spec.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && state.exitCode !== 0);
}

function conditionsOf(seen: PodObservation, phase: string): readonly PodCondition[] {
  const over = phase === 'Succeeded' || phase === 'Failed';
  const initialized = seen.initRunners.every(isInitDone);
  const notReady = seen.runners.filter((runner) => !runner.ready).map((runner) => runner.container.name);
  const containersReady = !over && notReady.length === 0 && seen.sandboxReady;
  const gates = (seen.pod.spec.readinessGates ?? []).every((gate) => seen.pod.status?.conditions?.some((condition) => condition.type === gate.conditionType && condition.status === 'True'));
  const unready = over ? { reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' } : { reason: 'ContainersNotReady', message: `containers with unready status: [${notReady.join(' ')}]` };
  return [
    condition('PodReadyToStartContainers', seen.sandboxReady),
    condition('Initialized', initialized, { reason: 'ContainersNotInitialized' }),
    condition('ContainersReady', containersReady, unready),
    condition('Ready', containersReady && gates, containersReady ? { reason: 'ReadinessGatesNotReady' } : unready),
  ];
}

/** True where an init container has done what the next one waits for. */
export function isInitDone(runner: ContainerRunner): boolean {
  if (runner.container.restartPolicy === 'Always') return runner.started;
  return runner.state.kind === 'terminated' && runner.state.exitCode === 0;
}

const condition = (type: string, holds: boolean, otherwise: { readonly reason: string; readonly message?: string } = { reason: 'NotYet' }): PodCondition => (holds ? { type, status: 'True' } : { type, status: 'False', ...otherwise });

function mergeConditions(pod: Pod, ours: readonly PodCondition[], nowIso: string): readonly PodCondition[] {
  const before = pod.status?.conditions ?? [];
  const foreign = before.filter((candidate) => !ours.some((own) => own.type === candidate.type));
  const dated = ours.map((own) => {
    const previous = before.find((candidate) => candidate.type === own.type);
    return { ...own, lastTransitionTime: previous?.status === own.status && typeof previous.lastTransitionTime === 'string' ? previous.lastTransitionTime : nowIso };
  });
  return [...foreign, ...dated];
}

function containerStatus(runner: ContainerRunner, waitingFor: string | undefined): Record<string, unknown> {
  const { container, state } = runner;
  const shown = state.kind === 'waiting' && waitingFor !== undefined ? { ...state, message: waitingFor } : state;
  return {
    name: container.name,
    image: container.image,
    imageID: container.image,
    containerID: state.kind === 'waiting' ? '' : `testbed://${container.name}-${runner.restartCount}`,
    ready: runner.ready,
    started: runner.started,
    restartCount: runner.restartCount,
    state: renderState(shown),
    lastState: runner.lastState === undefined ? {} : renderState(runner.lastState),
  };
}

function renderState(state: ContainerState): Record<string, unknown> {
  switch (state.kind) {
    case 'waiting':
      return { waiting: { reason: state.reason, ...(state.message === undefined ? {} : { message: state.message }) } };
    case 'running':
      return { running: { startedAt: state.startedAt } };
    case 'terminated':
      return { terminated: { exitCode: state.exitCode, reason: state.exitCode === 0 ? 'Completed' : 'Error', startedAt: state.startedAt, finishedAt: state.finishedAt } };
    default:
      return state satisfies never;
  }
}
