/** Encrypts what must not be readable in the database. The key is never in the database. */
export abstract class SecretBox {
  /** Seals a text for one context, such as `kubeconfig/east-1`; only the same context opens it. */
  abstract seal(plainText: string, context: string): Uint8Array;
  /** Throws FleetError SECRET_KEY_UNKNOWN (`user`: sealed with a key that is not configured) or SECRET_BROKEN (`user`: altered, or of another context). */
  abstract open(sealed: Uint8Array, context: string): string;
}
