/**
 * Random kernels and the examples with inputs and the evaluator's outputs, for whatever runs them: `npm run agreement --
 * --kernels 3600 --seed 1 --out cases.jsonl`, then `python bench/agreement.py --cases cases.jsonl --out result.json` where
 * there is a GPU, or with TRITON_INTERPRET=1.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { caseOf } from "../tests/kernels/random/cases.js";
import { exampleCases } from "../tests/kernels/random/example-cases.js";

const { values: flags } = parseArgs({
  options: {
    kernels: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    /** Cases of each example. */
    examples: { type: "string", default: "8" },
    out: { type: "string", default: "cases.jsonl" },
    /** Prints what was drawn, and the kernels without a case. */
    record: { type: "string" },
  },
});
const [count, seed] = [Number(flags.kernels), Number(flags.seed)];
mkdirSync(dirname(flags.out), { recursive: true });
writeFileSync(flags.out, "");
/** The number of kernels without a case, by reason. */
const left = new Map<string, number>();
let written = 0;
let i = 0;
let examples = 0;
for (const of of await exampleCases(Number(flags.examples), seed)) {
  appendFileSync(flags.out, `${JSON.stringify(of)}\n`);
  examples++;
}
for (; written < count; i++) {
  const found = caseOf(seed + i);
  if ("left" in found) {
    // Groups messages that differ only in numbers.
    const why = `${found.left}: ${found.why.split(/[:;,(]/)[0]}`;
    left.set(why, (left.get(why) ?? 0) + 1);
  } else {
    appendFileSync(flags.out, `${JSON.stringify(found)}\n`);
    written++;
  }
}
const record = { seed, drawn: i, written, examples, left: Object.fromEntries(left) };
console.log(JSON.stringify(record, undefined, 2));
if (flags.record) writeFileSync(flags.record, `${JSON.stringify(record, undefined, 2)}\n`);
