/**
 * Random mixtures of JavaScript and traced values: `npm run fuzz -- coercions --snippets 2000 --seed 1`. Each is run as
 * plain JavaScript on numbers and as a kernel. A snippet fails if it builds without an error or a warning but computes
 * a different result. `--no-source` skips the source analysis, to test tracing alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { outcomeOf } from "../tests/kernels/coercions/outcome.js";
import { snippetOf } from "../tests/kernels/coercions/snippets.js";

const { values: flags } = parseArgs({
  options: {
    snippets: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    "no-source": { type: "boolean", default: false },
    /** The number of failures that are printed in full. */
    print: { type: "string", default: "5" },
  },
});
const [count, seed] = [Number(flags.snippets), Number(flags.seed)];
console.log(`${count} snippets from seed ${seed}${flags["no-source"] ? ", without the source pass" : ""}`);

const folder = mkdtempSync(join(tmpdir(), "tilescript-coercions-"));
const kinds = new Map<string, number>();
const codes = new Map<string, number>();
const changedSeeds: number[] = [];
const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
const start = performance.now();
for (let i = 0; i < count; i++) {
  const snippet = snippetOf(seed + i);
  const outcome = outcomeOf(snippet, join(folder, String(i)), !flags["no-source"]);
  add(kinds, outcome.kind);
  if (outcome.kind === "refused") add(codes, outcome.code);
  if (outcome.kind !== "changed") continue;
  changedSeeds.push(snippet.seed);
  if (changedSeeds.length > Number(flags.print)) continue;
  const files = Object.entries(snippet.files).map(([name, text]) => `// ${name}\n${text}`);
  console.log(`seed ${snippet.seed}: ${JSON.stringify(outcome)}\n${files.join("")}`);
}
rmSync(folder, { recursive: true });

const seconds = (performance.now() - start) / 1000;
console.log({ ...Object.fromEntries(kinds), seconds: Number(seconds.toFixed(1)) });
console.log("refused with", Object.fromEntries([...codes].sort(([, a], [, b]) => b - a)));
if (changedSeeds.length > 0) console.log(`changed meaning: seeds ${changedSeeds.slice(0, 100).join(", ")}`);
process.exitCode = changedSeeds.length > 0 ? 1 : 0;
