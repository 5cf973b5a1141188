/** The table of `docs/performance.md` with the host cost of calls, from the results of `npm run bench -- launch`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

interface Row {
  readonly kernel: string;
  /** `out` if the call passes the output tensor. */
  readonly form: "out" | "no out";
  readonly provider: string;
  /** Microseconds of the host for a call: the median over rounds. */
  readonly us: number;
}

const PROVIDERS = {
  plain: "plain",
  "by hand": "a wrapper by hand",
  fast: "`--launch fast`",
  torch: "PyTorch",
  "bare launch": "bare `kernel[grid]`",
};

/** One row per call: its time by provider in microseconds, and the ratio of the fast form to PyTorch's. */
export function launchTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/launch-h200.json");
  const { device, torch, triton, date, rounds, rows } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly device: string;
    readonly torch: string;
    readonly triton: string;
    readonly date: string;
    readonly rounds: number;
    readonly rows: readonly Row[];
  };
  const calls = new Map<string, Map<string, number>>();
  for (const { kernel, form, provider, us } of rows) {
    const name = form === "out" ? `${kernel}, with \`out\`` : kernel;
    const timesByProvider = calls.get(name) ?? new Map<string, number>();
    calls.set(name, timesByProvider.set(provider, us));
  }
  const head = ["call", ...Object.values(PROVIDERS), "fast / PyTorch"];
  const lines = Array.from(calls, ([name, timesByProvider]) => {
    const times = Object.keys(PROVIDERS).map((provider) => timesByProvider.get(provider)?.toFixed(1) ?? "");
    return [name, ...times, (timesByProvider.get("fast")! / timesByProvider.get("torch")!).toFixed(2)];
  });
  const caption = `${device}, torch ${torch}, Triton ${triton}, ${date}: host time of a call in microseconds, medians of ${rounds} alternating rounds.`;
  return captioned(caption, tableLines(head, lines, afterFirst));
}
