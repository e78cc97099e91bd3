import { TESTBED_BINARIES } from './binary-catalog.js';
import { gatewayApiCrds } from './gateway-api-crds.js';
import { resolveBinaries } from './resolve-binary.js';

/** Gets every program and definition that a testbed needs, so that nothing has to wait for a download or a build later. */
export async function fetchTestbedPrograms(): Promise<{ readonly paths: Readonly<Record<string, string>>; readonly definitions: number }> {
  const paths = await resolveBinaries(TESTBED_BINARIES);
  return { paths, definitions: (await gatewayApiCrds()).length };
}
