import { createHash, X509Certificate } from 'node:crypto';
import { connect, type DetailedPeerCertificate } from 'node:tls';

import { FleetError } from '#domain/fleet';

const HANDSHAKE_MS_MAX = 10_000;
const CHAIN_LENGTH_MAX = 8;

/**
 * The hub CA whose fingerprint a join token carries, as PEM. The hub sends its whole chain; nothing of it is trusted but the
 * one certificate that has the pinned SHA-256. Throws HUB_TLS (`transient`: another server may answer at this address for
 * now) where no certificate of the chain has it, and HUB_UNREACHABLE, HUB_TIMEOUT.
 */
export function fetchPinnedAuthority(hubUrl: string, caFingerprint: string): Promise<string> {
  const { hostname, port } = new URL(hubUrl);
  return new Promise((resolve, reject) => {
    // Verified by the pin below, before anything is sent.
    const socket = connect({ host: hostname, port: Number(port || '443'), servername: isIp(hostname) ? '' : hostname, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.setTimeout(HANDSHAKE_MS_MAX, () => socket.destroy(new FleetError('HUB_TIMEOUT', 'transient', `${hubUrl} did not finish its TLS handshake in ${HANDSHAKE_MS_MAX / 1000} s`)));
    socket.once('error', (error: Error) => reject(error instanceof FleetError ? error : new FleetError('HUB_UNREACHABLE', 'transient', `cannot reach the hub at ${hubUrl}: ${error.message}`, { cause: error })));
    socket.once('secureConnect', () => {
      const pinned = chainOf(socket.getPeerCertificate(true)).find((raw) => fingerprint(raw) === caFingerprint);
      socket.destroy();
      if (pinned === undefined) reject(new FleetError('HUB_TLS', 'transient', `${hubUrl} does not show the certificate authority that the join token names; check the address, or make a new join token if the hub was set up anew`));
      else resolve(new X509Certificate(pinned).toString());
    });
  });
}

const fingerprint = (raw: Buffer): string => createHash('sha256').update(raw).digest('hex');
const isIp = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(':');

function chainOf(leaf: DetailedPeerCertificate): Buffer[] {
  const chain: Buffer[] = [];
  let current: DetailedPeerCertificate | undefined = leaf;
  while (current?.raw !== undefined && chain.length < CHAIN_LENGTH_MAX) {
    chain.push(current.raw);
    // A root names itself as its issuer.
    current = current.issuerCertificate === current ? undefined : current.issuerCertificate;
  }
  return chain;
}
