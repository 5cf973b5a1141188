/**
 * Hostile names, strings and comments: `npx tsx bench/fuzz-names.ts --kernels 3000 --seed 1`. Each kernel is either
 * rejected with a message, or its module loads, computes the correct result and runs no code that its author did not
 * write.
 */
import { parseArgs } from "node:util";
import { tryNames } from "../tests/kernels/host/names/try-names.js";
import { tryPlaces } from "../tests/kernels/host/names/try-places.js";

const { values } = parseArgs({
  options: {
    kernels: { type: "string", default: "3000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    /** Packages, PyTorch namespaces and author files with hostile names. */
    places: { type: "string", default: "300" },
    refusals: { type: "boolean", default: false },
    /** Prints the module of this one. */
    show: { type: "string" },
  },
});
console.log(`seed ${values.seed}`);
const batches = {
  kernels: await tryNames(Number(values.seed), Number(values.kernels)),
  places: await tryPlaces(Number(values.seed), Number(values.places)),
};
if (values.show) console.log(batches.kernels.modules.get(Number(values.show)));
for (const [label, { built, refusals, failures }] of Object.entries(batches)) {
  console.log(`${label}: ${built} built, ${refusals.length} refused, ${failures.length} failed`);
  if (values.refusals) for (const refusal of refusals) console.log(refusal);
  for (const failure of failures) console.log(failure);
  if (failures.length > 0) process.exitCode = 1;
}
