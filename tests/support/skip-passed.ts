/**
 * Setup of every test file: `TILESCRIPT_TESTS=rest` skips the tests that the short run passed without skipping cases.
 */
import { relative } from "node:path";
import { beforeEach, type RunnerTestCase } from "vitest";
import { isRemainderRun, testsIn } from "./sampled-tests.js";
import { type PassedTest, readSkipped, readPassed, remainderFile, root } from "./run-records.js";

if (isRemainderRun()) {
  const keyOf = ({ file, test }: PassedTest): string => `${file} ${test}`;
  const skippedCases = readSkipped(remainderFile).filter(
    ({ tested, total, hasOwnTests = false }) => tested < total && !hasOwnTests,
  );
  // If a file sampled a list outside its tests, any of them may use it.
  const incomplete = new Set(skippedCases.map(({ file, test }) => (test === undefined ? file : keyOf({ file, test }))));
  const passed = new Set(readPassed().map(keyOf));

  beforeEach(({ task, skip }) => {
    const file = relative(root, task.file.filepath);
    const key = keyOf({ file, test: task.fullTestName });
    const isComplete = passed.has(key) && !incomplete.has(key) && !incomplete.has(file);
    skip(isComplete && hasOwnName(task), "the short run tested it");
  });
}

/** False if another test has the same name, or if vitest shortened the name. */
function hasOwnName(task: RunnerTestCase): boolean {
  const sameName = testsIn(task.file.tasks).filter(({ fullTestName }) => fullTestName === task.fullTestName);
  return sameName.length === 1 && !task.fullTestName.includes("…");
}
