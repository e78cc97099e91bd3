import { describe, expect, it } from '@jest/globals';

import { apiReachableCondition, blockingConditions, preflightConditions, spokeReportingCondition, stampConditions, type PreflightFacts } from './index.js';

const FIT: PreflightFacts = { version: 'v1.37.2', hasTcpRoute: true, serviceCidrs: ['172.30.0.0/16'], kubeProxyMode: 'nftables', missingRights: [], clockOffsetMs: 20 };
const judge = (change: Partial<PreflightFacts>): string[] =>
  preflightConditions({ ...FIT, ...change })
    .filter((entry) => entry.status !== 'True' || entry.reason === 'HostTrafficUnsupported')
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`);

describe('preflightConditions', () => {
  it.each<{ name: string; change: Partial<PreflightFacts>; want: string[] }>([
    { name: 'a fit member has nothing against it', change: {}, want: [] },
    { name: '1.33 is the oldest, with its limit on host traffic said', change: { version: 'v1.33.0' }, want: ['KubeProxyCompatible=True HostTrafficUnsupported'] },
    { name: '1.32 is too old', change: { version: 'v1.32.9+k3s1' }, want: ['VersionSupported=False TooOld'] },
    { name: 'a version that is none is unknown, not old', change: { version: 'dev' }, want: ['VersionSupported=Unknown VersionUnreadable'] },
    { name: 'a missing TCPRoute is named', change: { hasTcpRoute: false }, want: ['GatewayApiPresent=False TcpRouteMissing'] },
    { name: 'no ServiceCIDR API', change: { serviceCidrs: 'not-served' }, want: ['ServiceCidrPresent=False NotServed'] },
    { name: 'ServiceCIDRs that may not be read are unknown, not absent', change: { serviceCidrs: 'unknown' }, want: ['ServiceCidrPresent=Unknown Unreadable'] },
    { name: 'no ServiceCIDR object', change: { serviceCidrs: [] }, want: ['ServiceCidrPresent=False None'] },
    { name: 'kube-proxy in ipvs mode', change: { kubeProxyMode: 'ipvs' }, want: ['KubeProxyCompatible=False ModeUnsupported'] },
    { name: 'no kube-proxy is unknown, not wrong', change: { kubeProxyMode: 'absent' }, want: ['KubeProxyCompatible=Unknown NotFound'] },
    { name: 'a clock two hours ahead', change: { clockOffsetMs: 7_200_000 }, want: ['ClockAccurate=False ClockSkewed'] },
    { name: 'a server that sends no time', change: { clockOffsetMs: undefined }, want: ['ClockAccurate=Unknown TimeUnknown'] },
    { name: 'missing rights', change: { missingRights: [{ verb: 'create', group: 'apps', resource: 'deployments', namespace: 'spillway-system' }] }, want: ['RightsSufficient=False VerbsMissing'] },
  ])('$name', ({ change, want }) => {
    expect(judge(change)).toEqual(want);
  });
  it('names every missing verb in words that a person can grant', () => {
    const conditions = preflightConditions({ ...FIT, missingRights: [{ verb: 'create', group: 'apps', resource: 'daemonsets', namespace: 'spillway-system' }, { verb: 'list', group: '', resource: 'nodes' }] });
    expect(conditions.find((entry) => entry.type === 'RightsSufficient')?.message).toBe('The credential may not: create daemonsets.apps in spillway-system; list nodes. Grant these verbs.');
  });
  it('only what makes an installation senseless blocks it', () => {
    const all = preflightConditions({ version: 'v1.30.0', hasTcpRoute: false, serviceCidrs: 'not-served', kubeProxyMode: 'ipvs', missingRights: [{ verb: 'list', group: '', resource: 'nodes' }], clockOffsetMs: 1e7 });
    expect(blockingConditions(all).map((entry) => entry.type)).toEqual(['VersionSupported', 'ServiceCidrPresent', 'RightsSufficient']);
  });
});

describe('two signals', () => {
  it.each([
    { error: undefined, want: 'True Answered' },
    { error: { code: 'KUBE_FORBIDDEN', message: 'm' }, want: 'True Answered' },
    { error: { code: 'KUBE_UNREACHABLE', message: 'm' }, want: 'False Unreachable' },
    { error: { code: 'KUBE_TLS_UNTRUSTED', message: 'm' }, want: 'False CaMismatch' },
    { error: { code: 'KUBE_CLIENT_CERT_EXPIRED', message: 'm' }, want: 'False ClientCertificateExpired' },
    { error: { code: 'KUBE_UNAUTHORIZED', message: 'm' }, want: 'False Unauthorized' },
  ])('an API that says $error is $want', ({ error, want }) => {
    const got = apiReachableCondition(error);
    expect(`${got.status} ${got.reason}`).toBe(want);
  });
  it('a spoke is judged by its reports alone', () => {
    const of = (lastReportAtMs: number | undefined): string => spokeReportingCondition(lastReportAtMs === undefined ? undefined : { lastReportAtMs }, 100_000, 10_000).reason;
    expect([of(undefined), of(95_000), of(50_000)]).toEqual(['NeverReported', 'Reporting', 'Silent']);
  });
});

describe('stampConditions', () => {
  it('keeps the time of the transition while the status stays, and moves it when it changes', () => {
    const first = stampConditions([apiReachableCondition(undefined)], [], 1_000);
    const second = stampConditions([apiReachableCondition(undefined)], first, 2_000);
    const third = stampConditions([apiReachableCondition({ code: 'KUBE_DNS', message: 'm' })], second, 3_000);
    expect([first, second, third].map(([entry]) => [entry?.lastTransitionAtMs, entry?.observedAtMs])).toEqual([[1_000, 1_000], [1_000, 2_000], [3_000, 3_000]]);
  });
});
