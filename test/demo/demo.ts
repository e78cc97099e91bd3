/**
 * `npm run demo`: a real fleet on this machine, and the main job shown on it. `--check` does the same, asserts every step, and
 * exits. Without root or off Linux the same story runs with simulated members.
 */
import { parseArgs } from 'node:util';

import { fetchTestbedPrograms, testbedProblems } from '#testbed';

import { runRealDemo } from './real-demo.js';
import { runSimulatedDemo } from './simulated-demo.js';

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false }, simulated: { type: 'boolean', default: false } } });
const problems = values.simulated ? ['--simulated was given'] : await realFleetProblems();

process.exitCode = problems.length === 0 ? await runRealDemo({ check: values.check }) : await runSimulatedDemo({ check: values.check, because: problems });

/** Why real clusters cannot run here, after getting the programs that they need. */
async function realFleetProblems(): Promise<readonly string[]> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return testbedProblems();
  try {
    await fetchTestbedPrograms();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  return testbedProblems();
}
