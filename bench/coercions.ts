/**
 * Random mixtures of JavaScript and traced values: `npm run fuzz:coercions -- --snippets 2000 --seed 1`. Each is run as
 * plain JavaScript on numbers and as a kernel. One that is built without an error or a warning, and means something else,
 * fails. `--no-source` leaves the source pass out, to see what tracing finds by itself.
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
    /** How many failures are printed in full. */
    print: { type: "string", default: "5" },
  },
});
const [count, seed] = [Number(flags.snippets), Number(flags.seed)];
console.log(`${count} snippets from seed ${seed}${flags["no-source"] ? ", without the source pass" : ""}`);

const folder = mkdtempSync(join(tmpdir(), "tilescript-coercions-"));
const kinds = new Map<string, number>();
const codes = new Map<string, number>();
const changed: number[] = [];
const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
const start = performance.now();
for (let i = 0; i < count; i++) {
  const snippet = snippetOf(seed + i);
  const outcome = outcomeOf(snippet, join(folder, String(i)), !flags["no-source"]);
  add(kinds, outcome.kind);
  if (outcome.kind === "refused") add(codes, outcome.code);
  if (outcome.kind !== "changed") continue;
  changed.push(snippet.seed);
  if (changed.length > Number(flags.print)) continue;
  const files = Object.entries(snippet.files).map(([name, text]) => `// ${name}\n${text}`);
  console.log(`seed ${snippet.seed}: ${JSON.stringify(outcome)}\n${files.join("")}`);
}
rmSync(folder, { recursive: true });

const seconds = (performance.now() - start) / 1000;
console.log({ ...Object.fromEntries(kinds), seconds: Number(seconds.toFixed(1)) });
console.log("refused with", Object.fromEntries([...codes].sort(([, a], [, b]) => b - a)));
if (changed.length > 0) console.log(`changed meaning: seeds ${changed.slice(0, 100).join(", ")}`);
process.exitCode = changed.length > 0 ? 1 : 0;
