import 'reflect-metadata';

import { webcrypto } from 'node:crypto';

import * as x509 from '@peculiar/x509';

type Keys = webcrypto.CryptoKeyPair;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Whom a certificate is for. */
export interface CertificateSubject {
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly addresses?: readonly string[];
}

/** A certificate authority of one cluster. */
export interface Authority {
  readonly certPem: string;
  /** Issues a certificate that serves and calls alike. */
  issue(subject: CertificateSubject): Promise<KeyPair>;
}

/** Makes a certificate authority that lives for a month. */
export async function createAuthority(commonName: string): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    ...validity(),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true), new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true), await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)],
  });
  return { certPem: certificate.toString('pem'), issue: (subject) => issueCertificate(certificate, keys, subject) };
}

/** A key pair for signing tokens: private and public PEM. */
export async function createSigningKey(): Promise<{ readonly privatePem: string; readonly publicPem: string }> {
  const keys = await generateKeys();
  const spki = new Uint8Array(await webcrypto.subtle.exportKey('spki', keys.publicKey));
  return { privatePem: await privatePem(keys), publicPem: x509.PemConverter.encode(spki, 'PUBLIC KEY') };
}

async function issueCertificate(issuer: x509.X509Certificate, issuerKeys: Keys, subject: CertificateSubject): Promise<KeyPair> {
  const keys = await generateKeys();
  const names = [...(subject.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })), ...(subject.addresses ?? []).map((value) => ({ type: 'ip' as const, value }))];
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...(subject.organizations ?? []).map((organization) => ({ O: [organization] })), { CN: [subject.commonName] }],
    issuer: issuer.subject,
    ...validity(),
    publicKey: keys.publicKey,
    signingKey: issuerKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certPem: certificate.toString('pem'), keyPem: await privatePem(keys) };
}

const generateKeys = (): Promise<Keys> => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

async function privatePem(keys: Keys): Promise<string> {
  return x509.PemConverter.encode(new Uint8Array(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)), 'PRIVATE KEY');
}

// An hour back, for machines whose clocks are not quite the same.
const validity = (): { notBefore: Date; notAfter: Date } => ({ notBefore: new Date(Date.now() - DAY_MS / 24), notAfter: new Date(Date.now() + 30 * DAY_MS) });
