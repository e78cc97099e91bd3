import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { FakeKube } from '#testing';

import { observeKubeProxyMode } from './observe-kube-proxy.js';

const withConfig = (text: string) => (kube: FakeKube) => kube.seed(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'kube-system', name: 'kube-proxy' }, data: { 'config.conf': text } });
const withArguments = (...args: string[]) => (kube: FakeKube) =>
  kube.seed(KUBE_KINDS.daemonSet, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { namespace: 'kube-system', name: 'kube-proxy', labels: { 'k8s-app': 'kube-proxy' } }, spec: { template: { spec: { containers: [{ command: args }] } } } });

describe('observeKubeProxyMode', () => {
  it.each([
    { name: 'kubeadm’s ConfigMap says it', seed: withConfig('kind: KubeProxyConfiguration\nmode: nftables\n'), want: 'nftables' },
    { name: 'an empty mode is iptables', seed: withConfig('kind: KubeProxyConfiguration\nmode: ""\n'), want: 'iptables' },
    { name: 'ipvs is told', seed: withConfig('mode: ipvs\n'), want: 'ipvs' },
    { name: 'a broken configuration is unknown', seed: withConfig('mode: [\n'), want: 'unknown' },
    { name: 'an argument in one word', seed: withArguments('kube-proxy', '--proxy-mode=nftables'), want: 'nftables' },
    { name: 'an argument in two words', seed: withArguments('kube-proxy', '--proxy-mode', 'ipvs'), want: 'ipvs' },
    { name: 'no argument is iptables', seed: withArguments('kube-proxy'), want: 'iptables' },
    { name: 'no kube-proxy at all', seed: () => undefined, want: 'absent' },
    { name: 'what may not be read is unknown', seed: (kube: FakeKube) => kube.forbid('get', '', 'configmaps'), want: 'unknown' },
  ])('$name', async ({ seed, want }) => {
    const kube = new FakeKube();
    seed(kube);
    expect(await observeKubeProxyMode(kube)).toBe(want);
  });
  it('a server that is away is no answer', async () => {
    const kube = new FakeKube();
    kube.goAway();
    await expect(observeKubeProxyMode(kube)).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE' });
  });
});
