// Writes how many tests passed, failed and were skipped, for the one closing line of `npm test`.
import { writeFileSync } from 'node:fs';

/** Jest reporter: counts to the file that SPILLWAY_COUNT_FILE names. */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.SPILLWAY_COUNT_FILE;
    if (file === undefined) return;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    writeFileSync(file, JSON.stringify({ passed: results.numPassedTests, failed, skipped: results.numPendingTests + results.numTodoTests }));
  }
}
