import type { Readable } from 'node:stream';

import { spokeApiError } from './spoke-api-errors.js';

/** All bytes of a request, as they came. Throws BODY_TOO_LARGE, REQUEST_TIMEOUT, or MALFORMED_REQUEST where the caller broke off. */
export async function readBody(request: Readable, limits: { readonly bytesMax: number; readonly timeoutMs: number }): Promise<Uint8Array> {
  const { bytesMax, timeoutMs } = limits;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      request.on('error', () => undefined);
      request.pause();
      settle();
    };
    const timer = setTimeout(() => end(() => reject(spokeApiError('REQUEST_TIMEOUT', `the body did not arrive within ${timeoutMs} ms; send it again`))), timeoutMs);
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > bytesMax) end(() => reject(spokeApiError('BODY_TOO_LARGE', `the body is over ${bytesMax} bytes; send less in one call`)));
      else chunks.push(chunk);
    };
    const onEnd = (): void => end(() => resolve(Buffer.concat(chunks)));
    const onBroken = (): void => end(() => reject(spokeApiError('MALFORMED_REQUEST', 'the call broke off before its body was complete')));
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}
