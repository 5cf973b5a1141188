/**
 * The table of `docs/performance.md`: the configs that tuning finds without a declared space, from the results of `npm
 * run bench -- tuning`.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { captioned, tableLines } from "./markdown-table.js";

interface Run {
  readonly tried: number;
  readonly seconds: number;
  /** The fastest config's median, in milliseconds. */
  readonly ms: number;
}

interface Row {
  readonly kernel: string;
  readonly shape: string;
  readonly dtype: string;
  readonly derived: Run;
  readonly exhaustive: Run;
}

/** One row per kernel: the search of the derived space, compared with a whole declared one. */
export function tuningTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/tuning-h200.json");
  const { device, python, date, cases } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly device: string;
    readonly python: string;
    readonly date: string;
    readonly cases: readonly Row[];
  };
  const head = [
    "kernel",
    "case",
    "measured configs",
    "seconds",
    "fastest, ms",
    "declared configs",
    "fastest declared, ms",
    "ratio",
  ];
  const lines = cases.map(({ kernel, shape, dtype, derived, exhaustive }) => [
    kernel,
    [shape.replaceAll(",", " "), dtype].join(" ").trim(),
    String(derived.tried),
    derived.seconds.toFixed(0),
    derived.ms.toPrecision(3),
    String(exhaustive.tried),
    exhaustive.ms.toPrecision(3),
    (derived.ms / exhaustive.ms).toFixed(3),
  ]);
  const caption = `${device}, ${python}, ${date}. The search of the derived space starts with empty caches. \`npm run bench -- tuning\` measures both searches.`;
  return captioned(
    caption,
    tableLines(head, lines, (column) => column > 1),
  );
}
