import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';

/** How long a hub may take to say that it is ready. */
const DEADLINE_MS = 1_000;

/** Asks a hub's readiness address whether somebody is there to take reports. Without an address one is taken to be there. */
export async function isHubListening(readyUrl: string | undefined): Promise<boolean> {
  if (readyUrl === undefined) return true;
  const get = readyUrl.startsWith('https:') ? httpsGet : httpGet;
  return new Promise((resolve) => {
    const request = get(readyUrl, { timeout: DEADLINE_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', () => resolve(false));
  });
}
