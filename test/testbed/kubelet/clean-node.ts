import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isAlive, type ProcessIdentity } from '../machine-room/process-identity.js';
import { becomesTrue, signalGroup } from '../machine-room/room-process.js';
import type { KubeletConfig } from './kubelet-config.js';
import { removeSandbox } from './pod-sandbox.js';

/** Ends what an earlier kubelet of this node left running: its pods start anew, as after a node's reboot. */
export async function cleanNode(config: KubeletConfig): Promise<void> {
  const left = containerProcesses(join(config.directory, 'pods')).filter(isAlive);
  for (const identity of left) signalGroup(identity.pid, 'SIGKILL');
  await becomesTrue(() => !left.some(isAlive), 10_000);
  const namespaces = readdirSync('/run/netns').filter((name) => name.startsWith(config.podNamespacePrefix));
  for (const namespace of namespaces) await removeSandbox({ namespace, podIp: '' });
}

function containerProcesses(podsDirectory: string): ProcessIdentity[] {
  if (!existsSync(podsDirectory)) return [];
  return readdirSync(podsDirectory).flatMap((pod) =>
    readdirSync(join(podsDirectory, pod))
      .filter((name) => name.endsWith('.pid'))
      .map((name) => JSON.parse(readFileSync(join(podsDirectory, pod, name), 'utf8')) as ProcessIdentity),
  );
}
