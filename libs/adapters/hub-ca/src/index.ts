export { certificateFingerprint, issueServingCertificate, SERVING_LIFE_MS } from './certificates.js';
export { loadHubAuthority } from './load-hub-authority.js';
