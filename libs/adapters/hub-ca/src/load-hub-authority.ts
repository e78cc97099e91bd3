import type { Clock, HubAuthority, HubStateStore } from '#ports';

import { createHubAuthority } from './certificates.js';

/** The authority that all replicas of a hub share; made by the first one that starts. */
export async function loadHubAuthority(hubState: HubStateStore, clock: Clock): Promise<HubAuthority> {
  return (await hubState.openAuthority()) ?? hubState.saveAuthority(await createHubAuthority(clock.nowMs()));
}
