/**
 * The cost of type checking: `npm run bench -- types`. Instantiations are exact; times depend on the machine. Writes
 * bench/results/types.json.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/support/tsc.js";
import { families, program } from "../tests/types/calls.js";
import { work, type Work } from "../tests/types/cost.js";
import { roundToTenth, writeReport } from "./write-report.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

// ---- examples -------------------------------------------------------------------------------------------------------

function examples(base: Work): object[] {
  const folder = join(root, "examples");
  console.log("example                instantiations    types   tsc, s (the package's own sources included)");
  row("(import alone)", base.instantiations, base.types, base.totalTime);
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  return files.map((file) => {
    // The modules that an example imports from its folder are checked with it.
    const cost = work(readFileSync(join(folder, file), "utf8").replaceAll('from "./', `from "${folder}/`));
    const [instantiations, types] = [cost.instantiations - base.instantiations, cost.types - base.types];
    row(file, instantiations, types, cost.totalTime);
    return { file, instantiations, types, seconds: roundToTenth(cost.totalTime) };
  });
}

function row(name: string, ...numbers: readonly number[]): void {
  const cells = numbers.map((x) => (Number.isInteger(x) ? String(x) : x.toFixed(2)).padStart(10));
  console.log(name.padEnd(24), cells.join(" "));
}

// ---- calls ----------------------------------------------------------------------------------------------------------

function calls(): object[] {
  const [sets, declarationCount] = [16, work(program(() => [], 16)).instantiations];
  console.log("\nfamily of ops            instantiations a call, on tiles of new dimensions");
  return Object.entries(families).map(([name, programOf]) => {
    const cost = work(program(programOf, sets)).instantiations - declarationCount;
    const instantiations = Math.round(cost / sets / programOf("0").length);
    row(name, instantiations);
    return { family: name, instantiationsACall: instantiations };
  });
}

const base = work(importOnly);
writeReport("types", {
  importAlone: { instantiations: base.instantiations, types: base.types, seconds: roundToTenth(base.totalTime) },
  examples: examples(base),
  calls: calls(),
});
