import { condition, type MemberCondition } from './member-condition.js';

/** A right that the spoke's installation needs. */
export interface NeededRight {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  /** Undefined for the whole cluster. */
  readonly namespace?: string | undefined;
}

/** How a member's kube-proxy runs, as far as its ConfigMap or its pods tell. */
export type KubeProxyMode = 'iptables' | 'nftables' | 'ipvs' | 'absent' | 'unknown';

/** What a preflight saw in a member. */
export interface PreflightFacts {
  /** Such as `v1.37.2`. */
  readonly version: string;
  /** Whether TCPRoute is served as gateway.networking.k8s.io/v1. */
  readonly hasTcpRoute: boolean;
  /** CIDRs of all ServiceCIDR objects; `unknown` where they may not be read. */
  readonly serviceCidrs: readonly string[] | 'not-served' | 'unknown';
  readonly kubeProxyMode: KubeProxyMode;
  readonly missingRights: readonly NeededRight[];
  /** Milliseconds by which the member's clock is ahead of the hub's; undefined where the server sends no time. */
  readonly clockOffsetMs: number | undefined;
}

/** The oldest Kubernetes minor of major 1 that a spoke runs on: ServiceCIDR and IPAddress are stable from here. */
const MINOR_VERSION_MIN = 33;

/** A clock further off than this is reported; the spoke protocol itself corrects for any offset. */
const CLOCK_OFFSET_MAX_MS = 5_000;

/** Conditions without which nothing is installed, so that nothing is half-written. */
const BLOCKING_CONDITIONS: readonly string[] = ['VersionSupported', 'RightsSufficient', 'ServiceCidrPresent'];

/** What the facts mean: one condition for each, in a fixed order. */
export function preflightConditions(facts: PreflightFacts): readonly MemberCondition[] {
  return [
    versionCondition(facts.version),
    gatewayApiCondition(facts.hasTcpRoute),
    serviceCidrCondition(facts.serviceCidrs),
    kubeProxyCondition(facts.kubeProxyMode, facts.version),
    rightsCondition(facts.missingRights),
    clockCondition(facts.clockOffsetMs),
  ];
}

/** Conditions that stand in the way of installing. */
export const blockingConditions = (conditions: readonly MemberCondition[]): readonly MemberCondition[] =>
  conditions.filter((entry) => entry.status === 'False' && BLOCKING_CONDITIONS.includes(entry.type));

/** The minor version of a Kubernetes 1.x server, or undefined for any other text. */
function minorVersion(version: string): number | undefined {
  const match = /^v?1\.(\d+)/.exec(version);
  return match === null ? undefined : Number(match[1]);
}

function versionCondition(version: string): MemberCondition {
  const minor = minorVersion(version);
  if (minor === undefined) return condition('VersionSupported', 'Unknown', 'VersionUnreadable', `The server calls itself "${version}"; Spillway needs Kubernetes 1.${MINOR_VERSION_MIN} or later.`);
  if (minor < MINOR_VERSION_MIN) return condition('VersionSupported', 'False', 'TooOld', `Kubernetes is ${version}; upgrade it to 1.${MINOR_VERSION_MIN} or later.`);
  return condition('VersionSupported', 'True', 'Supported', `Kubernetes is ${version}.`);
}

function gatewayApiCondition(hasTcpRoute: boolean): MemberCondition {
  if (hasTcpRoute) return condition('GatewayApiPresent', 'True', 'Served', 'TCPRoute v1 is served.');
  return condition('GatewayApiPresent', 'False', 'TcpRouteMissing', 'TCPRoute v1 is not served; install the Gateway API CRDs, release 1.6 or later.');
}

function serviceCidrCondition(cidrs: PreflightFacts['serviceCidrs']): MemberCondition {
  if (cidrs === 'unknown') return condition('ServiceCidrPresent', 'Unknown', 'Unreadable', 'The ServiceCIDRs may not be read.');
  if (cidrs === 'not-served') return condition('ServiceCidrPresent', 'False', 'NotServed', 'The ServiceCIDR API is not served; enable networking.k8s.io/v1 (MultiCIDRServiceAllocator).');
  if (cidrs.length === 0) return condition('ServiceCidrPresent', 'False', 'None', 'There is no ServiceCIDR object, so no addresses to give; check the API server flag --service-cluster-ip-range.');
  return condition('ServiceCidrPresent', 'True', 'Present', `Service addresses come from ${cidrs.join(', ')}.`);
}

function kubeProxyCondition(mode: KubeProxyMode, version: string): MemberCondition {
  const type = 'KubeProxyCompatible';
  switch (mode) {
    case 'ipvs':
      return condition(type, 'False', 'ModeUnsupported', 'kube-proxy runs in ipvs mode, which binds Service addresses on the node; run it in nftables or iptables mode.');
    case 'unknown':
      return condition(type, 'Unknown', 'ModeUnknown', 'The mode of kube-proxy could not be found out; nftables and iptables are supported.');
    case 'absent':
      return condition(type, 'Unknown', 'NotFound', 'No kube-proxy was found; a data plane that replaces it in eBPF may answer Service addresses before Spillway does.');
    case 'iptables':
    case 'nftables': {
      // kube-proxy 1.33 rejects host-originated calls before any nat chain can act (docs/architecture.md).
      if (minorVersion(version) === 33) return condition(type, 'True', 'HostTrafficUnsupported', `kube-proxy runs in ${mode} mode; on 1.33 a node's own processes cannot call a taken-over Service without local endpoints.`);
      return condition(type, 'True', 'ModeSupported', `kube-proxy runs in ${mode} mode.`);
    }
  }
}

/** A right as people write it: `create deployments.apps in spillway-system`. */
export function describeRight(right: NeededRight): string {
  const resource = right.group === '' ? right.resource : `${right.resource}.${right.group}`;
  return `${right.verb} ${resource}${right.namespace === undefined ? '' : ` in ${right.namespace}`}`;
}

function rightsCondition(missing: readonly NeededRight[]): MemberCondition {
  if (missing.length === 0) return condition('RightsSufficient', 'True', 'Granted', 'The credential may do all that installing needs.');
  return condition('RightsSufficient', 'False', 'VerbsMissing', `The credential may not: ${missing.map(describeRight).join('; ')}. Grant these verbs.`);
}

function clockCondition(offsetMs: number | undefined): MemberCondition {
  if (offsetMs === undefined) return condition('ClockAccurate', 'Unknown', 'TimeUnknown', 'The API server does not send its time.');
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  if (Math.abs(offsetMs) > CLOCK_OFFSET_MAX_MS) {
    return condition('ClockAccurate', 'False', 'ClockSkewed', `The member's clock is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the hub's; synchronise it (NTP).`);
  }
  return condition('ClockAccurate', 'True', 'InSync', `The member's clock is within ${CLOCK_OFFSET_MAX_MS / 1_000} s of the hub's.`);
}
