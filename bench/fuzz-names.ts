/**
 * Hostile names, strings and comments: `npx tsx bench/fuzz-names.ts --kernels 3000 --seed 1`. Each kernel is refused
 * with a sentence, or its module loads, gives the right result and runs nothing that its author did not write.
 */
import { parseArgs } from "node:util";
import { tryNames } from "../tests/kernels/host/names/try-names.js";

const { values } = parseArgs({
  options: {
    kernels: { type: "string", default: "3000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    refusals: { type: "boolean", default: false },
    /** Prints the module of this one. */
    show: { type: "string" },
  },
});
console.log(`seed ${values.seed}`);
const { built, refusals, failures, modules } = await tryNames(Number(values.seed), Number(values.kernels));
if (values.show) console.log(modules.get(Number(values.show)));
console.log(`${built} built, ${refusals.length} refused, ${failures.length} failed`);
if (values.refusals) for (const refusal of refusals) console.log(refusal);
for (const failure of failures) console.log(failure);
process.exitCode = failures.length > 0 ? 1 : 0;
