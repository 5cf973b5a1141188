/** The table of `docs/warp-specialization.md` about Triton's sanitizer, from `npm run bench -- sanitizer`. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { GpuReport } from "./gpu-report.js";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

interface Row {
  readonly form: string;
  readonly module: string;
  readonly outcome: "clean" | "reported" | "wrong" | "not run";
  readonly findings?: readonly string[];
  readonly reason?: string;
}

interface Report extends GpuReport {
  readonly rows: readonly Row[];
}

const outcomes = ["clean", "reported", "wrong", "not run"] as const;

/** For each form, how many configs had each outcome, then the reasons of those that did not run or were wrong. */
export function sanitizerTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/sanitizer-h200.json");
  if (!existsSync(file)) return "\nNot run yet.\n";
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const { rows } = report;
  const forms = [...new Set(rows.map(({ form }) => form))];
  const counts = forms.map((form) => [
    form,
    ...outcomes.map((outcome) => `${rows.filter((row) => row.form === form && row.outcome === outcome).length}`),
  ]);
  const unfinished = rows
    .filter(({ outcome }) => outcome === "wrong" || outcome === "not run")
    .map(({ module: name, outcome, reason = "" }) => ({
      name: `\`${name}\``,
      why: `${outcome}: ${/out of time|no answer/.test(reason) ? "not compiled in time" : reason}`,
    }));
  const others = [...new Set(unfinished.map(({ why }) => why))].map((why) => {
    const names = unfinished.filter((each) => each.why === why).map(({ name }) => name);
    return `- ${why}: ${[...new Set(names)].join(", ")}`;
  });
  return captioned(
    `${report.gpu}, torch ${report.torch}, Triton ${report.triton}, ${report.date}: launches by outcome.`,
    [...tableLines(["form", ...outcomes], counts, afterFirst), ...(others.length > 0 ? ["", ...others] : [])],
  );
}
