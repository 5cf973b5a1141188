/** The table of `docs/performance.md`: what calls cost the host, from what `npm run bench:launch` wrote. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

interface Row {
  readonly kernel: string;
  /** Whether the call is given `out`. */
  readonly form: "out" | "no out";
  readonly provider: string;
  /** Microseconds of the host for a call: the median over rounds. */
  readonly us: number;
}

const WAYS = { fast: "repeated", plain: "`--launch plain`", torch: "PyTorch", "bare launch": "bare `kernel[grid]`" };

/** One row a call: its ways in microseconds, and the repeated call as a part of PyTorch's. */
export function launchTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/launch-h200.json");
  const { device, torch, triton, rounds, rows } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly device: string;
    readonly torch: string;
    readonly triton: string;
    readonly rounds: number;
    readonly rows: readonly Row[];
  };
  const calls = new Map<string, Map<string, number>>();
  for (const { kernel, form, provider, us } of rows) {
    const name = form === "out" ? `${kernel}, with \`out\`` : kernel;
    const ways = calls.get(name) ?? new Map<string, number>();
    calls.set(name, ways.set(provider, us));
  }
  const head = ["call", ...Object.values(WAYS), "repeated / PyTorch"];
  const lines = Array.from(calls, ([name, ways]) => {
    const times = Object.keys(WAYS).map((way) => ways.get(way)?.toFixed(1) ?? "");
    return [name, ...times, (ways.get("fast")! / ways.get("torch")!).toFixed(2)];
  });
  const table = [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...lines];
  const text = table.map((cells) => `| ${cells.join(" | ")} |`);
  const made = `${device}, torch ${torch}, Triton ${triton}: microseconds of the host for a call, medians of ${rounds} rounds in turn.`;
  return ["", made, "", ...text, ""].join("\n");
}
