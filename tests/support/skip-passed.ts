/** Setup of every test file: `TILESCRIPT_TESTS=rest` skips the tests that the short run passed and that have no cases left. */
import { relative } from "node:path";
import { beforeEach, type RunnerTestCase } from "vitest";
import { runMode, testsIn } from "./sampled-tests.js";
import { type PassedTest, readSkipped, readPassed, remainderFile, root } from "./run-records.js";

if (runMode() === "rest") {
  const keyOf = ({ file, test }: PassedTest): string => `${file} ${test}`;
  const skippedCases = readSkipped(remainderFile).filter(({ rest, hasOwnTests = false }) => rest > 0 && !hasOwnTests);
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
