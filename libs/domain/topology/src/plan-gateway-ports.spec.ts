import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { backendName, type BackendName, type BackendPort } from '#domain/fleet';

import { planGatewayPorts, type GatewayPortInput, type GatewayPortRow } from './index.js';

const MODEL = backendName('ai', 'model');
const OTHER = backendName('ai', 'other');
const THIRD = backendName('ai', 'third');
const HTTP: BackendPort = { port: 80, protocol: 'TCP' };
const DNS: BackendPort = { port: 53, protocol: 'UDP' };
const RANGE = { first: 20_000, last: 20_003, quarantineMs: 1_000 };

const row = (backend: BackendName, gatewayPort: number, releasedAtMs?: number, port = HTTP): GatewayPortRow => ({ backend, port, gatewayPort, releasedAtMs });
const input = (over: Partial<GatewayPortInput> = {}): GatewayPortInput => ({ rows: [], told: new Map([[MODEL, [HTTP]]]), removed: [], isWhole: true, mayAssign: true, held: [], range: RANGE, nowMs: 10_000, ...over });

describe('planGatewayPorts', () => {
  it('gives every port of every backend a number of its own', () => {
    const plan = planGatewayPorts(input({ told: new Map([[OTHER, [HTTP]], [MODEL, [HTTP, DNS]]]) }));
    expect(plan.write).toEqual([row(MODEL, 20_000, undefined, DNS), row(MODEL, 20_001), row(OTHER, 20_002)]);
    expect(plan.touched).toEqual([MODEL, OTHER]);
  });

  it('keeps a number, and says nothing of what stays', () => {
    expect(planGatewayPorts(input({ rows: [row(MODEL, 20_002)] }))).toEqual({ write: [], touched: [], leftOut: [] });
  });

  it('gives no number without gateways, and keeps what was given', () => {
    expect(planGatewayPorts(input({ mayAssign: false })).write).toEqual([]);
    expect(planGatewayPorts(input({ mayAssign: false, rows: [row(MODEL, 20_000)] })).write).toEqual([]);
    expect(planGatewayPorts(input({ mayAssign: false, told: new Map(), rows: [row(MODEL, 20_000)] })).write).toEqual([row(MODEL, 20_000, 10_000)]);
  });

  it.each([
    { name: 'a whole report that names it no more', over: { told: new Map() } },
    { name: 'a report that removes it', over: { told: new Map(), removed: [MODEL], isWhole: false } },
    { name: 'a report in which it lost the port', over: { told: new Map([[MODEL, [DNS]]]), isWhole: false, mayAssign: false } },
  ])('frees a number after $name', ({ over }) => {
    expect(planGatewayPorts(input({ ...over, rows: [row(MODEL, 20_000)] })).write).toEqual([row(MODEL, 20_000, 10_000)]);
  });

  it('keeps the numbers of backends that a partial report does not speak of', () => {
    expect(planGatewayPorts(input({ isWhole: false, rows: [row(MODEL, 20_000), row(OTHER, 20_001)] })).write).toEqual([]);
  });

  it('gives a freed number back to its own backend', () => {
    expect(planGatewayPorts(input({ rows: [row(MODEL, 20_003, 9_999)] })).write).toEqual([row(MODEL, 20_003)]);
    expect(planGatewayPorts(input({ rows: [row(MODEL, 20_003, 1)] })).write).toEqual([row(MODEL, 20_003)]);
  });

  it('gives a freed number to nobody else within the quarantine, and then the one that was free for longest', () => {
    const rows = [row(OTHER, 20_000, 9_001), row(OTHER, 20_001, 8_000, DNS), row(THIRD, 20_002, 7_000), row(THIRD, 20_003, 9_999, DNS)];
    expect(planGatewayPorts(input({ rows })).write).toEqual([row(MODEL, 20_002)]);
    const hot = rows.map((one) => ({ ...one, releasedAtMs: 9_500 }));
    expect(planGatewayPorts(input({ rows: hot }))).toEqual({ write: [], touched: [], leftOut: [{ backend: MODEL, port: HTTP }] });
  });

  it('does not give away what its own backend asks back in the same report', () => {
    const range = { ...RANGE, last: 20_000 };
    const plan = planGatewayPorts(input({ range, told: new Map([[MODEL, [HTTP]], [OTHER, [HTTP]]]), rows: [row(OTHER, 20_000, 1)] }));
    expect(plan.write).toEqual([row(OTHER, 20_000)]);
    expect(plan.leftOut).toEqual([{ backend: MODEL, port: HTTP }]);
  });

  it('takes over what the cluster serves already, and gives that number to no other backend', () => {
    const held = [{ backend: OTHER, port: HTTP, gatewayPort: 20_000 }];
    expect(planGatewayPorts(input({ told: new Map([[MODEL, [HTTP]], [OTHER, [HTTP]]]), held })).write).toEqual([row(MODEL, 20_001), row(OTHER, 20_000)]);
    expect(planGatewayPorts(input({ held: [{ backend: MODEL, port: HTTP, gatewayPort: 30_001 }] })).write).toEqual([row(MODEL, 20_000)]);
  });

  it('never has two backend ports on one number, and never moves one, whatever comes and goes', () => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => backendName('ns', name));
    const step = fc.record({ isWhole: fc.boolean(), told: fc.dictionary(fc.constantFrom(...names), fc.subarray([HTTP, DNS]), { noNullPrototype: true }), removed: fc.subarray(names), stepMs: fc.integer({ min: 0, max: 2_000 }), mayAssign: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let rows: readonly GatewayPortRow[] = [];
        let nowMs = 0;
        for (const { stepMs, told, ...rest } of steps) {
          nowMs += stepMs;
          const { write } = planGatewayPorts(input({ ...rest, told: new Map(Object.entries(told) as [BackendName, BackendPort[]][]), rows, nowMs }));
          const before = rows;
          const written = new Set(write.map(({ gatewayPort }) => gatewayPort));
          rows = [...rows.filter(({ gatewayPort }) => !written.has(gatewayPort)), ...write];
          expect(new Set(rows.map(({ backend, port }) => `${backend} ${port.port}`)).size).toBe(rows.length);
          for (const old of before) {
            const now = rows.find(({ gatewayPort }) => gatewayPort === old.gatewayPort);
            const isSame = now?.backend === old.backend && now.port === old.port;
            expect(isSame || (old.releasedAtMs !== undefined && nowMs - old.releasedAtMs >= RANGE.quarantineMs)).toBe(true);
          }
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
