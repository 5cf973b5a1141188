/**
 * The time from an edit to its diagnostics, for each example: the file is open with a syntax error, which the edit mends.
 * Nothing is cached, and the pause in typing counts. `npm run bench -- lsp [FILE…]`; the package is compiled first.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { kernelFiles } from "../src/runtime/invocation/kernels.js";
import { makeProject, project } from "../tests/support/installed.js";
import { LspClient } from "../tests/support/lsp-client.js";

/** The time that an author types or reads before the next edit, in which the server starts its next process. */
const PAUSE_MS = 2_000;
const LIMIT_MS = 1_000;

makeProject();
const names = process.argv.slice(2);
const files = await kernelFiles(names.length > 0 ? names : [join(project, "examples/*.ts")]);
const client = new LspClient(project);
await client.initialize();
const results: { readonly file: string; readonly ms: number }[] = [];
for (const file of files) {
  const text = await readFile(file, "utf8");
  await client.diagnostics(client.open(file, `${text}(`));
  await setTimeout(PAUSE_MS);
  const start = performance.now();
  const diagnostics = await client.diagnostics(client.change(file, text));
  const ms = performance.now() - start;
  client.close(file);
  results.push({ file, ms });
  console.log(`${Math.round(ms)} ms  ${file}${diagnostics.length > 0 ? `  ${diagnostics.length} diagnostics` : ""}`);
}
await client.end();
const times = results.map(({ ms }) => ms).toSorted((a, b) => a - b);
const percentile = (share: number): number => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
const inTime = times.filter((ms) => ms <= LIMIT_MS).length;
console.log(
  `median ${percentile(0.5)} ms, 90 % within ${percentile(0.9)} ms; ${inTime} of ${times.length} within ${LIMIT_MS / 1000} s`,
);
