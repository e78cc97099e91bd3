import 'reflect-metadata';

import { createHash, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

import * as x509 from '@peculiar/x509';

import type { HubAuthority } from '#ports';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

// A member's clock may be hours behind, and must still find a new certificate valid (design: two hours off keeps working).
const BACKDATE_MS = 24 * 60 * 60 * 1_000;
const AUTHORITY_LIFE_MS = 10 * 365 * 24 * 60 * 60 * 1_000;

/** Life of a serving certificate. */
export const SERVING_LIFE_MS = 90 * 24 * 60 * 60 * 1_000;

/** A serving certificate with its key; the chain ends in the authority itself, so that a first caller can check its pin. */
export interface ServingCertificate {
  readonly chainPem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
}

/** A new certificate authority for a hub. */
export async function createHubAuthority(nowMs: number): Promise<HubAuthority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // The random part keeps two hubs' authorities apart in a bundle.
    name: [{ O: ['Spillway'], CN: [`spillway hub ${randomBytes(4).toString('hex')}`] }],
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + AUTHORITY_LIFE_MS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificatePem: certificate.toString('pem'), privateKeyPem: await exportKey(keys.privateKey) };
}

/** A new serving certificate for DNS names and IP addresses. */
export async function issueServingCertificate(authority: HubAuthority, hosts: readonly string[], nowMs: number): Promise<ServingCertificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const issuer = new x509.X509Certificate(authority.certificatePem);
  const notAfterMs = Math.min(nowMs + SERVING_LIFE_MS, issuer.notAfter.getTime());
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [hosts[0] ?? 'spillway-hub'] }],
    issuer: issuer.subject,
    notBefore: new Date(Math.max(nowMs - BACKDATE_MS, issuer.notBefore.getTime())),
    notAfter: new Date(notAfterMs),
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.privateKeyPem),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  const chainPem = `${certificate.toString('pem').trim()}\n${authority.certificatePem.trim()}\n`;
  return { chainPem, privateKeyPem: await exportKey(keys.privateKey), notAfterMs };
}

/** SHA-256 of a certificate's DER, hex: what a join token pins. */
export const certificateFingerprint = (certificatePem: string): string => createHash('sha256').update(new X509Certificate(certificatePem).raw).digest('hex');

// RFC 5280 §4.1.2.2: positive, at most 20 octets.
const serialNumber = (): string => `01${randomBytes(15).toString('hex')}`;

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);
}
