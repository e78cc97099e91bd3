import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

import type { Problem } from '#domain/fleet';
import type { MemberConnection } from '#domain/membership';

/** What is wrong inside the PEM texts of a connection, so that it is told at registration and not by a TLS library at the first call. */
export function pemProblems({ caPem, credential }: MemberConnection): readonly Problem[] {
  const ca = caPem === undefined || readCertificate(caPem) !== undefined ? [] : [problem('KUBECONFIG_CA_INVALID', 'certificate-authority-data holds no certificate that can be read.')];
  if (credential.kind === 'token') return ca;
  const certificate = readCertificate(credential.certificatePem);
  const key = readKey(credential.keyPem);
  return [
    ...ca,
    ...(certificate === undefined ? [problem('KUBECONFIG_CLIENT_CERT_INVALID', 'client-certificate-data holds no certificate that can be read.')] : []),
    ...(key === undefined ? [problem('KUBECONFIG_CLIENT_KEY_INVALID', 'client-key-data holds no private key that can be read without a password.')] : []),
    ...(certificate !== undefined && key !== undefined && !certificate.checkPrivateKey(key) ? [problem('KUBECONFIG_CREDENTIAL_MISMATCH', 'client-key-data is not the key of client-certificate-data; give the two that belong together.')] : []),
  ];
}

const problem = (code: string, message: string): Problem => ({ path: '', code, message });

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
