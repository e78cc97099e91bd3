import { ApiError, corePath, type KubeApi } from '../kube-api/kube-api.js';
import type { Pod } from './pod-types.js';

const RETRY_MS = 300;

/** Reports one pod's status: at once, one request at a time, always the newest, and never the same twice. */
export class StatusReporter {
  readonly #api: KubeApi;
  readonly #path: string;
  readonly #uid: string | undefined;
  #wanted: string | undefined;
  #sent: string | undefined;
  #sending: Promise<void> | undefined;

  constructor(api: KubeApi, pod: Pod) {
    this.#api = api;
    this.#path = `${corePath(pod.metadata.namespace ?? '', 'pods', pod.metadata.name)}/status`;
    this.#uid = pod.metadata.uid;
  }

  report(status: Record<string, unknown>): void {
    this.#wanted = JSON.stringify(status);
    if (this.#wanted !== this.#sent) this.#sending ??= this.#send();
  }

  /** Settles once what was reported last has arrived, or the pod is gone. */
  async flush(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#wanted !== this.#sent) {
      const next = this.#wanted;
      const outcome = await this.#sendOnce(next ?? '{}');
      if (outcome === 'gone') break;
      if (outcome === 'sent') this.#sent = next;
      else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.#sending = undefined;
  }

  async #sendOnce(status: string): Promise<'sent' | 'gone' | 'retry'> {
    try {
      // The uid guards a new pod of the same name from the status of its predecessor.
      await this.#api.patch(this.#path, `{"metadata":{"uid":${JSON.stringify(this.#uid)}},"status":${status}}`, 'merge');
      return 'sent';
    } catch (error) {
      return error instanceof ApiError && (error.status === 404 || error.status === 409) ? 'gone' : 'retry';
    }
  }
}
