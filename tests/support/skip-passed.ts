/** Set-up of every test file: the rest of a short run does not repeat a test that it passed and left nothing out of. */
import { relative } from "node:path";
import { beforeEach, type RunnerTestCase } from "vitest";
import { isRest, testsIn } from "./sampled-tests.js";
import { type Passed, readLeftOut, readPassed, restFile, root } from "./run-records.js";

if (isRest()) {
  const keyOf = ({ file, test }: Passed): string => `${file} ${test}`;
  const left = readLeftOut(restFile).filter(({ tested, of, isOfTests = false }) => tested < of && !isOfTests);
  // What a file drew before its tests, any of them may use.
  const isLeft = new Set(left.map(({ file, test }) => (test === undefined ? file : keyOf({ file, test }))));
  const passed = new Set(readPassed().map(keyOf));

  beforeEach(({ task, skip }) => {
    const file = relative(root, task.file.filepath);
    const key = keyOf({ file, test: task.fullTestName });
    const isWhole = passed.has(key) && !isLeft.has(key) && !isLeft.has(file);
    skip(isWhole && hasOwnName(task), "the short run tested it");
  });
}

/** A name that vitest shortened may be that of another test, too. */
function hasOwnName(task: RunnerTestCase): boolean {
  const same = testsIn(task.file.tasks).filter(({ fullTestName }) => fullTestName === task.fullTestName);
  return same.length === 1 && !task.fullTestName.includes("…");
}
