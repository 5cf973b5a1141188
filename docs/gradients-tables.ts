/** The tables of `docs/performance.md` about operators with gradients, from the results of `npm run bench -- gradients`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type GpuReport, timedCaption } from "./gpu-report.js";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

interface Attention {
  readonly rows: number;
  readonly size: number;
  readonly causal: boolean;
  /** Milliseconds by way and pass. */
  readonly ms: Readonly<Record<string, number>>;
}

interface Loss {
  readonly tokens: number;
  readonly words: number;
  readonly elements: number;
  /** Milliseconds by way. */
  readonly ms: Readonly<Record<string, number>>;
  /** What a step allocates at its peak, by way. */
  readonly bytes: Readonly<Record<string, number>>;
}

interface Report extends GpuReport {
  readonly rounds: number;
  readonly attention: readonly Attention[];
  readonly loss: readonly Loss[];
}

export function gradientsTables(): Readonly<Record<"attention_gradients" | "atomic_gradients" | "losses", string>> {
  const file = resolve(import.meta.dirname, "../bench/results/gradients-h200.json");
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const caption = timedCaption(report, report.rounds, "milliseconds");
  return {
    attention_gradients: captioned(caption, attentionLines(report.attention)),
    atomic_gradients: atomicTable(caption, report.attention),
    losses: captioned(caption, lossLines(report.loss)),
  };
}

const milliseconds = (time: number): string => time.toPrecision(3);

function attentionLines(rows: readonly Attention[]): readonly string[] {
  const head = ["rows", "elements", "causal", "forward", "cuDNN", "vs cuDNN", "backward", "cuDNN", "vs cuDNN"];
  const lines = rows.map(({ rows: count, size, causal, ms }) => {
    const passes = ["forward", "backward"].flatMap((pass) => {
      const [ours, theirs] = [ms[`tilescript ${pass}`], ms[`cudnn ${pass}`]];
      if (ours === undefined || theirs === undefined) return ["", "", ""];
      return [milliseconds(ours), milliseconds(theirs), (theirs / ours).toFixed(2)];
    });
    return [String(count), String(size), causal ? "yes" : "no", ...passes];
  });
  return tableLines(head, lines, () => true);
}

/** The backward pass by atomic additions, where it was timed. */
function atomicTable(caption: string, rows: readonly Attention[]): string {
  const head = ["rows", "elements", "causal", "example", "atomics", "cuDNN", "vs example", "vs cuDNN"];
  const lines = rows.flatMap(({ rows: count, size, causal, ms }) => {
    const atomics = ms["atomics backward"];
    if (atomics === undefined) return [];
    const [kernels, theirs] = [ms["tilescript backward"]!, ms["cudnn backward"]!];
    const ratios = [kernels, theirs].map((other) => (other / atomics).toFixed(2));
    return [
      [String(count), String(size), causal ? "yes" : "no", ...[kernels, atomics, theirs].map(milliseconds), ...ratios],
    ];
  });
  return lines.length === 0
    ? "\nNot measured yet.\n"
    : captioned(
        caption,
        tableLines(head, lines, () => true),
      );
}

function lossLines(rows: readonly Loss[]): readonly string[] {
  const ways = { tilescript: "example", eager: "PyTorch", compiled: "compiled", liger: "Liger-Kernel" };
  const head = ["tokens × words × elements", ...Object.values(ways), "products alone"];
  const lines = rows.map(({ tokens, words, elements, ms, bytes }) => [
    `${tokens} × ${words} × ${elements}`,
    ...Object.keys(ways).map((way) => `${milliseconds(ms[way]!)} (${mebibytes(bytes[way]!)} MiB)`),
    milliseconds(ms["products"]!),
  ]);
  return tableLines(head, lines, afterFirst);
}

const mebibytes = (bytes: number): string => Math.round(bytes / 2 ** 20).toLocaleString("en-US");
