import 'reflect-metadata';

import { createHash, createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

import * as x509 from '@peculiar/x509';

/** A certificate and its key, PEM. */
export interface KeyedCertificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** When a certificate holds: from a while before now, for clocks that are behind ours, to the end of its life. */
export interface Validity {
  readonly nowMs: number;
  readonly backdateMs: number;
  readonly lifeMs: number;
}

/** What a certificate says of itself. */
export interface CertificateFacts {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** DNS names and IP addresses, sorted. */
  readonly names: readonly string[];
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A new certificate authority. */
export async function createAuthority(commonName: string, { nowMs, backdateMs, lifeMs }: Validity): Promise<KeyedCertificate> {
  const keys = await createKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ O: ['Spillway'], CN: [commonName] }],
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(nowMs + lifeMs),
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

/** A new server certificate for DNS names and IP addresses, signed by an authority and never outside its validity. */
export async function issueServing(authority: KeyedCertificate, names: readonly string[], { nowMs, backdateMs, lifeMs }: Validity): Promise<KeyedCertificate> {
  const keys = await createKeys();
  const issuer = new x509.X509Certificate(authority.certificatePem);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [names[0] ?? 'spillway'] }],
    issuer: issuer.subject,
    notBefore: new Date(Math.max(nowMs - backdateMs, issuer.notBefore.getTime())),
    notAfter: new Date(Math.min(nowMs + lifeMs, issuer.notAfter.getTime())),
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.privateKeyPem),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certificatePem: certificate.toString('pem'), privateKeyPem: await exportKey(keys.privateKey) };
}

/** Reads a certificate; undefined where the text is none. */
export function readCertificate(pem: string): CertificateFacts | undefined {
  try {
    const certificate = new x509.X509Certificate(pem);
    const names = certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items.map((item) => item.value) ?? [];
    return { notBeforeMs: certificate.notBefore.getTime(), notAfterMs: certificate.notAfter.getTime(), names: names.sort() };
  } catch {
    return undefined;
  }
}

/** Whether an authority signed a certificate; false where either does not read. */
export function isSignedBy(certificatePem: string, authorityPem: string): boolean {
  try {
    return new X509Certificate(certificatePem).verify(new X509Certificate(authorityPem).publicKey);
  } catch {
    return false;
  }
}

/** Whether a private key is a certificate's own; false where either does not read. */
export function isKeyOf(privateKeyPem: string, certificatePem: string): boolean {
  try {
    return new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(privateKeyPem));
  } catch {
    return false;
  }
}

/** SHA-256 of a certificate's DER, hex: what a join token pins. */
export const certificateFingerprint = (certificatePem: string): string => createHash('sha256').update(new X509Certificate(certificatePem).raw).digest('hex');

const createKeys = (): Promise<webcrypto.CryptoKeyPair> => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

// RFC 5280 §4.1.2.2: positive, at most 20 octets.
const serialNumber = (): string => `01${randomBytes(15).toString('hex')}`;

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);
}
