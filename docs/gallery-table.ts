/** The table of `docs/performance.md`: how long examples take beside PyTorch, from what `npm run bench:gallery` wrote. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

interface Row {
  readonly kernel: string;
  readonly dtype: string;
  readonly sizes: Readonly<Record<string, number | boolean>>;
  readonly provider: string;
  /** Milliseconds: the median over rounds. */
  readonly ms: number;
}

const RIVALS = ["eager", "compiled", "max-autotune", "flex"];

/** One row a case: its time, and how many times as long PyTorch and a copy of as many bytes take. */
export function galleryTable(): string {
  const file = resolve(import.meta.dirname, "../bench/results/gallery-h200.json");
  const { device, torch, triton, rows } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly device: string;
    readonly torch: string;
    readonly triton: string;
    readonly rows: readonly Row[];
  };
  const cases = new Map<string, Row[]>();
  for (const row of rows) {
    const name = `${row.kernel} ${JSON.stringify(row.sizes)}`;
    cases.set(name, [...(cases.get(name) ?? []), row]);
  }
  const head = ["kernel", "sizes", "ms", ...RIVALS.map((name) => `${name} ×`), "copy ×"];
  const lines = [...cases.values()].map((ways) => {
    const ms = new Map(ways.map((way) => [way.provider, way.ms]));
    const ours = ms.get("tilescript")!;
    const { kernel, dtype, sizes } = ways[0]!;
    const times = [...RIVALS, "copy"].map((name) => (ms.has(name) ? (ms.get(name)! / ours).toFixed(2) : ""));
    const given = Object.entries(sizes).map(([name, size]) => `${name}=${size}`);
    return [`${kernel} ${dtype}`, given.join(" "), ours.toPrecision(3), ...times];
  });
  const table = [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
  return ["", `${device}, torch ${torch}, Triton ${triton}.`, "", ...table, ""].join("\n");
}
