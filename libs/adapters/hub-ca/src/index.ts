export { certificateFingerprint, createHubAuthority, issueServingCertificate, SERVING_LIFE_MS, type ServingCertificate } from './certificates.js';
export { loadHubAuthority } from './load-hub-authority.js';
