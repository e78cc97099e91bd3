/** A resource kind of a Kubernetes API: where its objects live. */
export interface KubeKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Metadata that we read or write. */
export interface KubeMeta {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?: readonly unknown[] | undefined;
}

/** An object as the API server sends it: plain JSON, parsed into domain types by libs/contracts. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeMeta;
  readonly [field: string]: unknown;
}

/** Names one object. */
export interface KubeRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Narrows a list or a watch. */
export interface KubeSelection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Cuts each listed object down to what the caller reads, page by page, so that a long list need not be in memory whole. Lists only. */
  readonly trim?: ((object: KubeObject) => KubeObject) | undefined;
}

/** Receives the level of a watched kind: always the whole current object, never an event to interpret. */
export interface KubeWatchHandler {
  /** The object is now this. Called for every object of the first list before `synced`. */
  upsert(object: KubeObject): void;
  /** The object is gone. After a reconnect only its namespace, name, uid and last version are known. */
  remove(object: KubeObject): void;
  /** The first list is complete. Nothing may be deleted anywhere on the word of a watch that has not synced (C74). */
  synced(): void;
  /** The watch is away from its server since `sinceMs` (epoch ms), or back (undefined). It goes on trying for ever. */
  connection?(lostSinceMs: number | undefined): void;
  /** An attempt to list or follow failed, for logs and conditions. The watch goes on. */
  failed?(error: Error): void;
}

/** A running watch. */
export interface KubeWatch {
  stop(): void;
}

/** Preconditions of a write; a mismatch throws KUBE_CONFLICT. */
export interface KubePreconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/**
 * One Kubernetes API server. Methods throw FleetError with the codes KUBE_NOT_FOUND (writes only), KUBE_ALREADY_EXISTS,
 * KUBE_CONFLICT, KUBE_INVALID, KUBE_FORBIDDEN, KUBE_UNAUTHORIZED (kind `user`), and KUBE_UNREACHABLE, KUBE_TLS,
 * KUBE_TIMEOUT, KUBE_THROTTLED, KUBE_SERVER_ERROR, KUBE_DNS (kind `transient`). What only a person can mend at the connection
 * is of kind `user`: KUBE_TLS_UNTRUSTED, KUBE_TLS_EXPIRED, KUBE_TLS_NAME, KUBE_CLIENT_CERT_EXPIRED, KUBE_ADDRESS_REFUSED.
 */
export abstract class Kube {
  /** The object, or undefined where there is none (also where the kind is not served). */
  abstract find(kind: KubeKind, ref: KubeRef): Promise<KubeObject | undefined>;
  /** All objects, paged inside. Throws KUBE_NOT_FOUND where the kind is not served. */
  abstract list(kind: KubeKind, selection?: KubeSelection): Promise<readonly KubeObject[]>;
  /** Creates, or throws KUBE_ALREADY_EXISTS: the atomic claim of a name. */
  abstract create(kind: KubeKind, object: KubeObject): Promise<KubeObject>;
  /** Server-side apply of exactly these fields, forced, under our field manager. */
  abstract apply(kind: KubeKind, object: KubeObject, fieldManager: string): Promise<KubeObject>;
  /** Replaces the status of the very version that was read; throws KUBE_CONFLICT when it changed since. */
  abstract replaceStatus(kind: KubeKind, object: KubeObject): Promise<KubeObject>;
  /** Replaces the object of the very version that was read; throws KUBE_CONFLICT when it changed since. */
  abstract replace(kind: KubeKind, object: KubeObject): Promise<KubeObject>;
  /** Deletes; an object that is already gone is no error. */
  abstract remove(kind: KubeKind, ref: KubeRef, preconditions?: KubePreconditions): Promise<void>;
  /** Lists, then follows. Reconnects and relists for ever with capped backoff; `signal` or stop() ends it. */
  abstract watch(kind: KubeKind, selection: KubeSelection, handler: KubeWatchHandler): KubeWatch;
  /** The server's version, such as `v1.37.2`, and its clock as epoch ms from the Date header where it sends one. */
  abstract serverInfo(): Promise<{ readonly version: string; readonly timeMs: number | undefined }>;
  /** GET of a raw API path, such as `/apis`, as JSON. */
  abstract raw(path: string): Promise<unknown>;
}
