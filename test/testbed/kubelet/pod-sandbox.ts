import { runCommand, runIp } from '../machine-room/run-command.js';
import { processesInNamespaces } from '../machine-room/process-identity.js';
import { becomesTrue } from '../machine-room/room-process.js';

/** The gateway that every pod has: no machine owns it, the node answers for it (proxy ARP). */
const POD_GATEWAY = '169.254.1.1';

// The node's end of every pod's link. Pods know it beforehand, since proxy ARP answers after a pause of up to 0.8 s.
const GATEWAY_MAC = 'ee:ee:ee:ee:ee:ee';

/** A pod's network namespace, with its address routed to it from the node. */
export interface PodSandbox {
  readonly namespace: string;
  readonly podIp: string;
}

/**
 * Makes a pod's network: one link, one /32 address, and a route on the node. Routed, not bridged: on a bridge, replies within
 * a node bypass connection tracking, and addresses that were translated on the way there are not translated back.
 */
export async function createSandbox(namespace: string, linkName: string, podIp: string): Promise<PodSandbox> {
  await runIp([`netns add ${namespace}`, `link add ${linkName} address ${GATEWAY_MAC} type veth peer name eth0 netns ${namespace}`, `link set ${linkName} up`, `route replace ${podIp}/32 dev ${linkName}`]);
  await runIp(['link set lo up', `addr add ${podIp}/32 dev eth0`, 'link set eth0 up', `route add ${POD_GATEWAY} dev eth0 scope link`, `neigh add ${POD_GATEWAY} lladdr ${GATEWAY_MAC} dev eth0 nud permanent`, `route add default via ${POD_GATEWAY}`], namespace);
  return { namespace, podIp };
}

/** Removes a pod's network and whatever still runs in it. */
export async function removeSandbox(sandbox: PodSandbox): Promise<void> {
  await becomesTrue(() => {
    const pids = processesInNamespaces([`/run/netns/${sandbox.namespace}`]);
    for (const pid of pids) killHard(pid);
    return pids.length === 0;
  }, 10_000);
  await runCommand('ip', ['netns', 'delete', sandbox.namespace]).catch(() => undefined);
}

/** Hands out the addresses of a node's pods, the one that was free the longest first. */
export class PodAddresses {
  readonly #free: string[];

  constructor(podCidr: string) {
    const [base = '', length = '24'] = podCidr.split('/');
    const parts = base.split('.');
    const count = Math.min(2 ** (32 - Number(length)), 256);
    // .0 and .1 stay unused, as people expect of a network.
    this.#free = Array.from({ length: count - 3 }, (_, index) => [...parts.slice(0, 3), index + 2].join('.'));
  }

  take(): string | undefined {
    return this.#free.shift();
  }

  giveBack(address: string): void {
    this.#free.push(address);
  }
}

function killHard(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone in between.
  }
}
