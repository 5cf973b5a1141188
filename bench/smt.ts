/**
 * z3 on the obligations of the examples, as `check --smt` writes them: `npm run bench -- smt --seconds 5`. It needs z3,
 * such as from `pip install z3-solver`: on PATH, or as `--z3 PATH`. A solver that contradicts a proof or a refutation is
 * a failure; one that runs out of time leaves the script open. `--write` writes bench/results/smt.json.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { examples } from "../tests/support/examples.js";
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

const folder = mkdtempSync(join(tmpdir(), "tilescript-smt-"));
const file = join(folder, "obligation.smt2");

function answerTo(script: string): Promise<string> {
  writeFileSync(file, script);
  return new Promise((resolve, reject) => {
    execFile(flags.z3, [`-T:${flags.seconds}`, file], (error, stdout) => {
      if (error && "code" in error && error.code === "ENOENT") reject(new Error(`there is no ${flags.z3}; use --z3`));
      resolve(stdout.split("\n")[0] ?? "");
    });
  });
}

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
        const [, expected] = /:status (\w+)/.exec(script) ?? [];
        const answer = await answerTo(script);
        count.scripts++;
        if (answer !== "sat" && answer !== "unsat") {
          if (!/^(unknown|timeout)$/.test(answer)) throw new Error(`${part}: z3 says ${answer}`);
          count.open++;
        } else if (expected === "unknown") {
          count.undecided++;
          if (answer === "unsat") count.shown++;
        } else if (answer === expected) count.agreed++;
        else
          disagreements.push(`${part}: ${property} of ${subject}, line ${at?.line}: ${expected} but z3 says ${answer}`);
      }
    }
  }
  const [scripts, open] = [count.scripts - before.scripts, count.open - before.open];
  console.log(`${name}: ${scripts} scripts, ${open} open, ${disagreements.length} disagreements so far`);
}
rmSync(folder, { recursive: true });

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
