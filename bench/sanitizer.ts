/**
 * Runs warp-specialized kernels under Triton's concurrency sanitizer on this machine's Hopper GPU:
 * `npm run bench -- sanitizer --out sanitizer-h200.json`, a file in bench/results. For a machine without Node,
 * `--prepare FOLDER` only writes the modules, which `python tests/gpu/sanitizer/sanitizer.py FOLDER --out FILE` runs there.
 */
import { parseArgs } from "node:util";
import { emitSanitized } from "../tests/gpu/sanitizer/cases.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "sanitizer.json" }, prepare: { type: "string" } },
});

await runOrPrepare(flags.prepare, "../tests/gpu/sanitizer/sanitizer.py", emitSanitized, [
  "--out",
  resultFile(flags.out),
]);
