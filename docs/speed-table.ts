/**
 * The README's table: emitted kernels compared with Triton by hand and PyTorch, from the results of `npm run
 * bench -- gpu`.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

interface Row {
  readonly kernel: string;
  readonly dtype?: string;
  readonly sizes?: readonly number[];
  readonly provider: string;
  /** Milliseconds: the median. */
  readonly ms?: number;
}

interface Ratio {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: readonly number[];
  readonly of: string;
  readonly to: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

const keyOf = ({ kernel, dtype, sizes }: Pick<Row, "kernel" | "dtype" | "sizes">): string =>
  `${kernel} ${dtype?.replace("torch.", "")} ${sizes?.join(" × ")}`;

/** One row per timed case; ratios are from alternating rounds. */
export function speedTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/nvidia-h200.json");
  const { device, torch, triton, date, rows, ratios } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly device: string;
    readonly torch: string;
    readonly triton: string;
    readonly date: string;
    readonly rows: readonly Row[];
    readonly ratios: readonly Ratio[];
  };
  const cases = new Map<string, Map<string, number>>();
  for (const row of rows)
    if (row.ms !== undefined) {
      const timesByProvider = cases.get(keyOf(row)) ?? new Map<string, number>();
      cases.set(keyOf(row), timesByProvider.set(row.provider.startsWith("torch") ? "torch" : row.provider, row.ms));
    }
  const byHand = new Map(
    ratios
      .filter(({ of: numerator, to: denominator }) => numerator === "emitted" && denominator === "hand-written")
      .map((each) => [keyOf(each), each] as const),
  );
  const head = ["kernel", "emitted", "Triton by hand", "emitted / by hand", "PyTorch"];
  const lines = Array.from(cases, ([name, timesByProvider]) => {
    const ratio = byHand.get(name);
    const ratioText = ratio && `${fixed(ratio.ratio)} (${fixed(ratio.low)} to ${fixed(ratio.high)})`;
    return [
      name,
      ...["emitted", "hand-written"].map((provider) => time(timesByProvider.get(provider))),
      ratioText ?? "",
      time(timesByProvider.get("torch")),
    ];
  });
  const rounds = [...byHand.values()][0]?.rounds;
  const caption = `Measured on an ${device} with torch ${torch} and Triton ${triton} on ${date}. Times are medians in milliseconds. Each ratio is the median of ${rounds} rounds that alternate between the two kernels. The 20th and 80th percentiles are in parentheses.`;
  return captioned(caption, tableLines(head, lines, afterFirst));
}

const time = (ms: number | undefined): string => ms?.toPrecision(3) ?? "";
const fixed = (ratio: number): string => ratio.toFixed(3);
