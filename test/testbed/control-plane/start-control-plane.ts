import { clusterAddresses } from '../machine-room/address-plan.js';
import { MachineRoom } from '../machine-room/machine-room.js';
import { ControlPlane, type ControllerName } from './control-plane.js';

/** Settings of a lone control plane; all have defaults. */
export interface LoneControlPlaneOptions {
  readonly name?: string;
  readonly serviceCidr?: string;
  /** Default: kube-controller-manager only (there are no nodes to schedule to). `[]` is enough where nothing but the API counts. */
  readonly controllers?: readonly ControllerName[];
}

/** A control plane in a room of its own. */
export interface LoneControlPlane {
  readonly plane: ControlPlane;
  /** The administrator's kubeconfig. */
  kubeconfig(): string;
  /** Ends it and leaves nothing behind. */
  stop(): Promise<void>;
}

/** Starts one real control plane without nodes: for tests that need an API server and nothing else. */
export async function startControlPlane(options: LoneControlPlaneOptions = {}): Promise<LoneControlPlane> {
  const room = await MachineRoom.open();
  try {
    const plane = await ControlPlane.start(room, {
      name: options.name ?? 'lone',
      address: clusterAddresses(room.slot, 0).controlPlane,
      serviceCidr: options.serviceCidr ?? '10.96.0.0/16',
      controllers: options.controllers ?? ['kube-controller-manager'],
    });
    return {
      plane,
      kubeconfig: () => plane.kubeconfig(),
      stop: async () => {
        plane.close();
        await room.close();
      },
    };
  } catch (error) {
    await room.close();
    throw error;
  }
}
