export { certificateFingerprint, createAuthority, isKeyOf, isSignedBy, issueServing, readCertificate, type KeyedCertificate } from './certificates.js';
export { issueHubServing, loadHubAuthority, SERVING_LIFE_MS } from './hub-authority.js';
