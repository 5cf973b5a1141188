/** The tables of `docs/warp-specialization.md`, from the results of `npm run bench -- gluon`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type GpuReport, timedCaption } from "./gpu-report.js";
import { afterFirst, captioned, tableLines } from "./markdown-table.js";

/** Milliseconds, TFLOP/s or speedups, by the kernel that was timed. */
type Figures = Readonly<Record<string, number>>;

interface Timed {
  /** The module's name. */
  readonly timed: string;
  readonly dtype: string;
  readonly rounds: number;
  /** The median over rounds, each call with an empty L2 and the GPU idle before it. */
  readonly tflops: Figures;
}

interface Product extends Timed {
  readonly size: number;
  /** The speedups over PyTorch and over the plain kernel. */
  readonly of_torch: number;
  readonly of_plain: number;
}

interface Attention extends Timed {
  readonly head_dim: number;
  readonly mask: string;
  /** The speedups over cuDNN and over the plain kernel: `idle` as above, `busy` called back to back. */
  readonly of_cudnn: Figures;
  readonly of_plain: Figures;
}

/** Attention with changed scores, in milliseconds. */
interface Modified {
  readonly timed: string;
  readonly dtype: string;
  readonly rounds: number;
  readonly head_dim: number;
  readonly ms: Figures;
  /** The speedups over the faster of flex attention's kernels and over the plain kernel, as above. */
  readonly of_flex: Figures;
  readonly of_plain: Figures;
}

interface Report extends GpuReport {
  readonly rows: readonly object[];
}

const isTimed = (row: object): row is Product | Attention => "timed" in row && !isModified(row);
const isModified = (row: object): row is Modified => "of_flex" in row;
const isAttention = (row: Product | Attention): row is Attention => "mask" in row;

/** The name of the timed kernel, by its file in `examples`; a module of the tests has a separate name. */
const nameOf = ({ timed: moduleName }: Timed): string =>
  ({ attention: "`flash-attention`" })[moduleName] ??
  (moduleName.startsWith("in_") ? `\`${moduleName}\`` : `\`${moduleName.replaceAll("_", "-")}\``);

/** The tables by name: products, attention, and attention with changed scores. Above 1, the specialized kernel is faster. */
export function specializedTables(): Readonly<
  Record<"specialized" | "specialized_attention" | "specialized_scores", string>
> {
  const file = resolve(import.meta.dirname, "../bench/results/gluon-h200.json");
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  const { rows } = report;
  const timedRows = rows.filter(isTimed);
  const attentions = timedRows.filter(isAttention);
  const products = timedRows.filter((row): row is Product => !isAttention(row));
  const modifiedRows = rows.filter(isModified);
  const captionOf = ({ rounds }: Pick<Timed, "rounds">, unit = "TFLOP/s") => timedCaption(report, rounds, unit);
  return {
    specialized: table(
      captionOf(products[0]!),
      ["product", "specialized", "plain", "PyTorch", "vs plain", "vs PyTorch"],
      products.map((row) => [
        `${nameOf(row)} ${row.dtype}, ${row.size}³`,
        ...["specialized", "plain", "torch"].map((provider) => whole(row.tflops[provider]!)),
        ...[row.of_plain, row.of_torch].map(ratio),
      ]),
    ),
    specialized_attention: table(
      captionOf(attentions[0]!),
      ["attention", "specialized", "plain", "cuDNN", "vs plain", "vs cuDNN", "vs cuDNN, back to back"],
      attentions.map((row) => [
        `${nameOf(row)} ${row.dtype}, heads of ${row.head_dim}${row.mask === "full" ? "" : `, ${row.mask}`}`,
        ...["specialized", "plain", "cudnn"].map((provider) => whole(row.tflops[provider]!)),
        ...[row.of_plain.idle!, row.of_cudnn.idle!, row.of_cudnn.busy!].map(ratio),
      ]),
    ),
    specialized_scores: table(
      captionOf(modifiedRows[0]!, "milliseconds"),
      [
        "attention",
        "specialized",
        "plain",
        "flex",
        "flex, max-autotune",
        "vs plain",
        "vs flex",
        "vs flex, back to back",
      ],
      modifiedRows.map((row) => [
        `\`${row.timed}\` ${row.dtype}, heads of ${row.head_dim}`,
        ...["specialized", "plain", "flex", "flex, max-autotune"].map((provider) => row.ms[provider]!.toPrecision(3)),
        ...[row.of_plain.idle!, row.of_flex.idle!, row.of_flex.busy!].map(ratio),
      ]),
    ),
  };
}

const table = (caption: string, head: readonly string[], rows: readonly (readonly string[])[]): string =>
  captioned(caption, tableLines(head, rows, afterFirst));

const whole = (tflops: number): string => tflops.toFixed(0);
const ratio = (times: number): string => times.toFixed(2);
