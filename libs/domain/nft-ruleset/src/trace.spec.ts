import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import type { RoutingPlan } from '#domain/routing-plan';
import { testdata } from '#testing';

import { buildNftRuleset } from './build-nft-ruleset.js';
import type { NftRuleset } from './nft-ruleset.js';
import { tracePacket, type TracedPacket } from './trace.js';

const plan = (name: string): RoutingPlan => JSON.parse(readFileSync(join(testdata(import.meta.dirname), `${name}.in.json`), 'utf8')) as RoutingPlan;
const canary = buildNftRuleset(plan('canary-with-reject'));
const nothing = buildNftRuleset(plan('nothing-answers'));

const fromPod: TracedPacket = { hook: 'prerouting', src: '10.1.0.20', dst: '172.30.0.5', protocol: 'tcp', dport: 80, random: 0 };
const fromHost: TracedPacket = { ...fromPod, hook: 'output', src: '192.168.7.2' };

describe('tracePacket', () => {
  it.each<{ name: string; ruleset: NftRuleset; packet: TracedPacket; want: unknown }>([
    { name: 'a pod reaches the first endpoint', ruleset: canary, packet: fromPod, want: { verdict: 'dnat', to: '10.1.0.5:8080', masquerade: false } },
    { name: 'the last unit of the first endpoint is still its own', ruleset: canary, packet: { ...fromPod, random: 0.299_999_999 }, want: { verdict: 'dnat', to: '10.1.0.5:8080', masquerade: false } },
    { name: 'the next unit is the next endpoint', ruleset: canary, packet: { ...fromPod, random: 0.3 }, want: { verdict: 'dnat', to: '10.1.0.6:8080', masquerade: false } },
    { name: 'another cluster gets its share', ruleset: canary, packet: { ...fromPod, random: 0.79 }, want: { verdict: 'dnat', to: '10.2.0.5:9090', masquerade: false } },
    { name: 'a terminating endpoint serves where no ready one is left', ruleset: canary, packet: { ...fromPod, random: 0.8 }, want: { verdict: 'dnat', to: '10.1.0.9:8080', masquerade: false } },
    { name: 'the share that leads nowhere is refused at once', ruleset: canary, packet: { ...fromPod, random: 0.9 }, want: { verdict: 'reject', with: 'tcp reset' } },
    { name: 'a pod that reaches itself is masqueraded', ruleset: canary, packet: { ...fromPod, src: '10.1.0.5' }, want: { verdict: 'dnat', to: '10.1.0.5:8080', masquerade: true } },
    { name: 'a process of the node is translated and masqueraded', ruleset: canary, packet: fromHost, want: { verdict: 'dnat', to: '10.1.0.5:8080', masquerade: true } },
    { name: 'a process of the node is refused its share as well', ruleset: canary, packet: { ...fromHost, random: 0.95 }, want: { verdict: 'reject', with: 'tcp reset' } },
    { name: 'a port that no listener has is refused at once', ruleset: canary, packet: { ...fromPod, dport: 81 }, want: { verdict: 'reject', with: 'tcp reset' } },
    { name: 'a port that no listener has is refused to the node too', ruleset: canary, packet: { ...fromHost, dport: 81 }, want: { verdict: 'reject', with: 'tcp reset' } },
    { name: 'another protocol on a virtual address is refused at once', ruleset: canary, packet: { ...fromPod, protocol: 'udp' }, want: { verdict: 'reject', with: 'port unreachable' } },
    { name: 'an address that is not ours is left alone', ruleset: canary, packet: { ...fromPod, dst: '172.30.0.99' }, want: { verdict: 'untouched' } },
    { name: 'an endpoint called by its own address is left alone', ruleset: canary, packet: { ...fromPod, dst: '10.1.0.5', dport: 8080 }, want: { verdict: 'untouched' } },
    { name: 'a frontend without endpoints refuses at once', ruleset: nothing, packet: { ...fromPod, dst: '172.30.0.7' }, want: { verdict: 'reject', with: 'tcp reset' } },
    { name: 'a UDP listener is not carried, so it refuses at once', ruleset: nothing, packet: { ...fromPod, dst: '172.30.0.7', protocol: 'udp', dport: 53 }, want: { verdict: 'reject', with: 'port unreachable' } },
  ])('$name', ({ ruleset, packet, want }) => {
    expect(tracePacket(ruleset, packet)).toEqual(want);
  });
});
