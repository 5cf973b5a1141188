/** The cost of type checking: `npm run bench:types`. Instantiations are exact; times depend on the machine. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/support/tsc.js";
import { families, program } from "../tests/types/calls.js";
import { work, type Work } from "../tests/types/cost.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

// ---- examples -------------------------------------------------------------------------------------------------------

function examples(base: Work): void {
  const folder = join(root, "examples");
  console.log("example                instantiations    types   tsc, s (the package's own sources included)");
  row("(import alone)", base.instantiations, base.types, base.totalTime);
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
    const cost = work(readFileSync(join(folder, file), "utf8"));
    row(file, cost.instantiations - base.instantiations, cost.types - base.types, cost.totalTime);
  }
}

function row(name: string, ...numbers: readonly number[]): void {
  const cells = numbers.map((x) => (Number.isInteger(x) ? String(x) : x.toFixed(2)).padStart(10));
  console.log(name.padEnd(24), cells.join(" "));
}

// ---- calls ----------------------------------------------------------------------------------------------------------

function calls(): void {
  const [sets, declared] = [16, work(program(() => [], 16)).instantiations];
  console.log("\nfamily of ops            instantiations a call, on tiles of new dimensions");
  for (const [name, of] of Object.entries(families)) {
    const cost = work(program(of, sets)).instantiations - declared;
    row(name, Math.round(cost / sets / of("0").length));
  }
}

examples(work(importOnly));
calls();
