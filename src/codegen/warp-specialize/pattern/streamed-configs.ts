/** Configs of specialized streamed products: the author's configs that fit, with their stages. */
import type { Config } from "../../../compiled/compiled-kernel.js";
import type { KernelIR } from "../../../ir/nodes.js";
import type { Dim } from "../../../types/shape.js";
import { distinctConfigs, GROUP_ROWS, HEAD_SIZES, type RingConfig } from "./attention-configs.js";
import { extentDim } from "./block-index.js";
import { notSpecializable } from "./not-specializable.js";
import { bytesOf, SHARED_BYTES } from "./launch-constraints.js";
import type { ConstexprArm } from "./streamed-row-count.js";
import type { StreamedPattern } from "./streamed-pattern.js";

/** Rows of a loaded block with which three consumers have enough registers, and little to wait for. */
const THREE_CONSUMER_COLUMNS = 64;
/** More stages do not make a loop faster. */
const MAX_STAGES = 3;
/** Registers per thread that products and sums may take, by the number of consumers. */
const PRODUCT_REGISTERS = { 1: 208, 2: 208, 3: 144 };
const THREADS = 128;

/** The columns of the blocks that a program keeps and loads, which the sizes of heads determine. */
export const columnDims = ({
  residents,
  loops: [{ streams }],
  shape: [, , width],
}: StreamedPattern): readonly Dim[] => [
  ...new Set([...[...residents, ...streams].map(({ axes }) => extentDim(axes[1].extent)), width]),
];

/**
 * @param branches The branches in which the number of rows may be another than the author's. Undefined if it may not.
 * @throws {@link NotSpecializable} if no config fits.
 */
export function streamedConfigs(
  ir: KernelIR,
  pattern: StreamedPattern,
  branches: readonly ConstexprArm[] | undefined,
): readonly RingConfig[] {
  const configs = ir.tuning.configs.flatMap((config): readonly RingConfig[] => {
    const sizes = new Sizes(pattern, config);
    const [rows, columns] = pattern.shape;
    const consumers = sizes.sizeOf(rows) / GROUP_ROWS;
    if (consumers !== 1 && consumers !== 2) return [];
    const isColumns = (size: number) => size >= 32 && size <= 256;
    if (
      !isColumns(sizes.sizeOf(columns)) ||
      !columnDims(pattern).every((dim) => HEAD_SIZES.includes(sizes.sizeOf(dim)))
    )
      return [];
    const stages = Math.min(MAX_STAGES, sizes.stages(consumers));
    return stages < 2 || sizes.registers() > PRODUCT_REGISTERS[consumers] ? [] : [{ config, consumers, stages }];
  });
  if (configs.length === 0)
    notSpecializable(
      `none of its configs has 64 or 128 rows, and blocks of ${HEAD_SIZES.join(" or ")} columns that fit in shared memory and registers`,
      ir.at,
    );
  return branches ? distinctConfigs([...configs, ...threeConsumerConfigs(pattern, configs)]) : distinctConfigs(configs);
}

/** The author's configs with the rows of three consumers, which fill the tensor cores better than two. */
function threeConsumerConfigs(pattern: StreamedPattern, configs: readonly RingConfig[]): readonly RingConfig[] {
  const consumers = 3;
  const [rows, columns] = pattern.shape;
  return configs.flatMap(({ config }): readonly RingConfig[] => {
    const values = { ...config.values, [rows]: consumers * GROUP_ROWS };
    const longest = threeConsumerHead(pattern, config);
    const sizes = new Sizes(pattern, { ...config, values }, longest);
    const stages = Math.min(MAX_STAGES, sizes.stages(consumers));
    const isWide = sizes.sizeOf(columns) === THREE_CONSUMER_COLUMNS;
    return isWide && longest > 0 && stages >= 2 ? [{ config: sizes.config, consumers, stages }] : [];
  });
}

/** The longest head whose products fit in the registers of three consumers. 0 if there is none. */
export const threeConsumerHead = (pattern: StreamedPattern, config: Config): number =>
  Math.max(0, ...HEAD_SIZES.filter((size) => new Sizes(pattern, config, size).registers() <= PRODUCT_REGISTERS[3]));

/** The sizes of a config. One that only the launch determines counts as the longest head. */
class Sizes {
  constructor(
    readonly pattern: StreamedPattern,
    readonly config: Config,
    readonly longestHead = Math.max(...HEAD_SIZES),
  ) {}

  sizeOf(dim: Dim): number {
    const size = typeof dim === "number" ? dim : this.config.values[dim];
    return typeof size === "number" ? size : this.longestHead;
  }

  /** The stages that fit in shared memory. */
  stages(consumers: number): number {
    const { residents, loops, shape } = this.pattern;
    const [{ streams, vectors }] = loops;
    const rowBytes = (blocks: typeof residents) =>
      blocks.reduce((sum, { axes, tensor }) => sum + this.sizeOf(extentDim(axes[1].extent)) * bytesOf(tensor.dtype), 0);
    const vectorBytes = vectors.reduce((sum, { tensor }) => sum + bytesOf(tensor.dtype), 0);
    const stageBytes = this.sizeOf(shape[1]) * (rowBytes(streams) + vectorBytes);
    return Math.floor((SHARED_BYTES - consumers * GROUP_ROWS * rowBytes(residents)) / stageBytes);
  }

  /** The registers of a thread that sums, scores and one multiplied tile take. */
  registers(): number {
    const { sums, loops, shape } = this.pattern;
    const [, columns, width] = shape;
    const scores = loops[0].products.filter(({ sum }) => !sum).length;
    const elements = sums.length * this.sizeOf(width) + (scores + 1 / 2) * this.sizeOf(columns);
    return (elements * GROUP_ROWS) / THREADS;
  }
}
