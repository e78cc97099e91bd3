import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { PeerDoor, peerKeyOf, type PeerDoorLimits } from './peer-door.js';

const LIMITS: PeerDoorLimits = { connectionsMax: 6, connectionsPerSourceMax: 4, strangersPerSourceMax: 2, strangerMs: 60_000 };

/** As much of a socket as a door sees. */
class Line extends EventEmitter {
  destroyed = false;
  constructor(
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {
    super();
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function doorOf(limits: Partial<PeerDoorLimits> = {}) {
  const door = new PeerDoor({ ...LIMITS, ...limits });
  let port = 0;
  const come = (source: string): Line => {
    port += 1;
    const line = new Line(source, port);
    door.letIn(line as unknown as Socket);
    return line;
  };
  const admitted = (source: string): Line => {
    const line = come(source);
    door.admit(peerKeyOf(line));
    return line;
  };
  return { door, come, admitted };
}

const open = (lines: readonly Line[]): boolean[] => lines.map((line) => !line.destroyed);

describe('a door', () => {
  it('the oldest stranger of a source gives way to a newer one, and no other source is touched', () => {
    const { come } = doorOf();
    const lines = [come('b'), come('a'), come('a'), come('a')];
    expect(open(lines)).toEqual([true, false, true, true]);
  });

  it('who has proved who it is gives way to nobody, and its source has a bound all the same', () => {
    const { come, admitted } = doorOf();
    const members = [admitted('a'), admitted('a'), admitted('a'), admitted('a')];
    expect(open([...members, come('a'), come('b')])).toEqual([true, true, true, true, false, true]);
  });

  it('with no room left, the oldest stranger of all gives way; where all have proved who they are, the new one does', () => {
    const { come, admitted } = doorOf();
    const members = [admitted('a'), admitted('a'), admitted('b'), admitted('b'), admitted('c')];
    const [first, second] = [come('d'), come('e')];
    expect(open([...members, first, second])).toEqual([true, true, true, true, true, false, true]);
    second.destroy();
    expect(open([admitted('f'), come('g')])).toEqual([true, false]);
  });

  it('what ends makes room', () => {
    const { door, admitted } = doorOf({ connectionsPerSourceMax: 1 });
    admitted('a').destroy();
    expect(door.connectionCount).toBe(0);
    expect(admitted('a').destroyed).toBe(false);
  });

  it('says how many connections there are, and why others ended', async () => {
    const registry = new Registry();
    const { door, come, admitted } = doorOf({ strangerMs: 1 });
    door.register(registry, 'spillway_test');
    admitted('a');
    const line = come('a');
    await new Promise((resolve) => line.once('close', resolve));
    const [, , third] = [come('a'), come('a'), come('a')];
    const metrics = await registry.metrics();
    expect(metrics).toContain('spillway_test_connections 3');
    expect(metrics).toContain('spillway_test_stranger_connections 2');
    expect(metrics).toContain('reason="proved-nothing"} 1');
    expect(metrics).toContain('reason="gave-way"} 1');
    third?.destroy();
  });
});
