export { buildGatewayClass, buildMemberManifests, GATEWAY_CLASS } from './build-member-manifests.js';
export { CONTROLLER_NAME, DNS_NAME, manifest, NODE_NAME, ownLabels, SPOKE_NAMESPACE, type Manifest } from './manifest.js';
export { neededRights } from './needed-rights.js';
export { readCrds } from './read-crds.js';
export type { SpokeSettings } from './spoke-settings.js';
