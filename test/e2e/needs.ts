import { describe } from '@jest/globals';

import { testbedProblems } from '#testbed';

const problems = testbedProblems();

/** Describes tests that need the testbed; where it cannot run they are skipped, and what is missing is said. */
export const describeOnTestbed: typeof describe = problems.length === 0 ? describe : (describe.skip as typeof describe);

if (problems.length > 0) process.stderr.write(`skipping what needs the testbed:\n${problems.map((problem) => `  - ${problem}`).join('\n')}\n`);
