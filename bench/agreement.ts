/**
 * Random kernels and the examples, with inputs and the evaluator's outputs, for other executors: `npm run fuzz --
 * agreement --kernels 3600 --seed 1 --out cases.jsonl`, then `python bench/agreement.py --cases cases.jsonl --out
 * result.json` on a machine with a GPU, or with TRITON_INTERPRET=1.
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
    /** Writes a record of the drawn kernels, and of those without a case. */
    record: { type: "string" },
  },
});
const [count, seed] = [Number(flags.kernels), Number(flags.seed)];
mkdirSync(dirname(flags.out), { recursive: true });
writeFileSync(flags.out, "");
/** The number of kernels without a case, by reason. */
const skipReasons = new Map<string, number>();
let writtenCount = 0;
/** The ops of which the record counts the kernels. */
const OPS = ["dot", "dot_scaled", "make_tensor_descriptor", "atomic", "inline_asm_elementwise"] as const;
/** The number of kernels with each of these ops, and with a scalar of each dtype. */
const contents: Record<string, number> = {};
let i = 0;
let examples = 0;
for (const exampleCase of await exampleCases(Number(flags.examples), seed)) {
  appendFileSync(flags.out, `${JSON.stringify(exampleCase)}\n`);
  examples++;
}
for (; writtenCount < count; i++) {
  const randomCase = caseOf(seed + i);
  if ("left" in randomCase) {
    // Groups messages that differ only in numbers.
    const reason = `${randomCase.left}: ${randomCase.why.split(/[:;,(]/)[0]}`;
    skipReasons.set(reason, (skipReasons.get(reason) ?? 0) + 1);
  } else {
    appendFileSync(flags.out, `${JSON.stringify(randomCase)}\n`);
    writtenCount++;
    const ops = OPS.filter((op) => new RegExp(`tl\\.${op}(_\\w+)?\\(`).test(randomCase.module));
    const scalars = Object.keys(randomCase.arguments).flatMap((name) => /^s_(.*)_/.exec(name)?.[1] ?? []);
    for (const each of new Set([...ops, ...scalars])) contents[each] = (contents[each] ?? 0) + 1;
  }
}
const record = { seed, drawn: i, written: writtenCount, examples, contents, left: Object.fromEntries(skipReasons) };
console.log(JSON.stringify(record, undefined, 2));
if (flags.record) writeFileSync(flags.record, `${JSON.stringify(record, undefined, 2)}\n`);
