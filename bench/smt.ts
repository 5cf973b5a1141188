/**
 * z3 on the obligations of the examples, as `check --smt` writes them: `npm run bench -- smt --seconds 5`. It needs z3,
 * such as from `pip install z3-solver`: on PATH, or as `--z3 PATH`. A solver that contradicts a proof or a refutation is
 * a failure; one that runs out of time leaves the script open. `--write` writes bench/results/smt.json.
 */
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { examples } from "../tests/support/examples.js";
import { agreementOf } from "../tests/support/z3.js";
import { writeReport } from "./write-report.js";

/** bench/results/smt.json */
export interface SmtRecord {
  readonly date: string;
  readonly seconds: number;
  readonly kernels: number;
  readonly scripts: number;
  readonly agreed: number;
  readonly open: number;
  /** Scripts of what the proof leaves open, of which z3 shows some. */
  readonly undecided: number;
  readonly shown: number;
  readonly notExported: Readonly<Record<string, number>>;
  readonly disagreements: readonly string[];
}

const { values: flags } = parseArgs({
  options: {
    z3: { type: "string", default: "z3" },
    seconds: { type: "string", default: "5" },
    only: { type: "string", multiple: true },
    write: { type: "boolean" },
  },
});

const count = { scripts: 0, agreed: 0, open: 0, undecided: 0, shown: 0 };
const notExported: Record<string, number> = {};
const disagreements: string[] = [];
let kernels = 0;

for (const { name, kernel } of examples) {
  if (flags.only && !flags.only.includes(name)) continue;
  const before = { ...count };
  for (const { kernel: part, obligations } of (await build(kernel)).smt()) {
    kernels++;
    for (const { property, of: subject, at, config, scripts = [], reason } of obligations) {
      // Other configs have the same obligations.
      if (config !== 0) continue;
      if (reason !== undefined) notExported[reason] = (notExported[reason] ?? 0) + 1;
      for (const script of scripts) {
        const agreement = await agreementOf(flags.z3, script, Number(flags.seconds));
        count.scripts++;
        if (agreement === "disagreed")
          disagreements.push(`${part}: ${property} of ${subject}, line ${at?.line}: z3 does not agree`);
        else if (agreement === "agreed" || agreement === "open") count[agreement]++;
        else {
          count.undecided++;
          if (agreement === "shown") count.shown++;
        }
      }
    }
  }
  const [scripts, open] = [count.scripts - before.scripts, count.open - before.open];
  console.log(`${name}: ${scripts} scripts, ${open} open, ${disagreements.length} disagreements so far`);
}
const report: Omit<SmtRecord, "date"> = {
  seconds: Number(flags.seconds),
  kernels,
  ...count,
  notExported,
  disagreements,
};
console.log(JSON.stringify(report, undefined, 2));
if (flags.write) writeReport("smt", report);
if (disagreements.length > 0) process.exitCode = 1;
