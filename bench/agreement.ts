/**
 * Random kernels with inputs and the evaluator's outputs, for a machine that can run them: `npm run fuzz:values --
 * --kernels 2000 --seed 1 --out kernels.jsonl`, then there `python random_kernels.py --cases kernels.jsonl --out
 * result.json --processes 16`.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { caseOf } from "../tests/random/cases.js";
import { unlikeInterpreter } from "../tests/random/interpreter.js";

const { values: flags } = parseArgs({
  options: {
    kernels: { type: "string", default: "2000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    out: { type: "string", default: "kernels.jsonl" },
    /** Leaves out what Triton's interpreter is known to get wrong. */
    interpreter: { type: "boolean", default: false },
  },
});
const [count, seed] = [Number(flags.kernels), Number(flags.seed)];
mkdirSync(dirname(flags.out), { recursive: true });
writeFileSync(flags.out, "");
const left = new Map<string, number>();
const leave = (why: string): void => void left.set(why, (left.get(why) ?? 0) + 1);
let written = 0;
let i = 0;
for (; written < count; i++) {
  const made = caseOf(seed + i);
  if ("left" in made) leave(`${made.left}: ${made.why}`);
  else if ("left" in made.found) leave(`${made.found.left}: ${made.found.why}`);
  else {
    const why = flags.interpreter ? unlikeInterpreter(made.made.ir) : undefined;
    if (why) leave(`interpreter: ${why}`);
    else {
      appendFileSync(flags.out, `${JSON.stringify(made.found)}\n`);
      written++;
    }
  }
}
console.log(JSON.stringify({ seed, drawn: i, written, left: Object.fromEntries(left) }, null, 2));
