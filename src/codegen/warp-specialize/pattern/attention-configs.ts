/**
 * Configs of specialized attention: the author's configs that fit, with wide key blocks if widening has no effect on
 * results.
 */
import type { Config } from "../../../compiled/compiled-kernel.js";
import type { KernelIR, Value } from "../../../ir/nodes.js";
import { bodiesOf, hostBlocksOf, walkUses } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { isRowCountIndependent, isOffsetOnly } from "./row-count-independence.js";
import { isLoadIndependentOf } from "./register-loads.js";
import { bytesOf, SHARED_BYTES } from "./launch-constraints.js";
import { notSpecializable } from "./not-specializable.js";

export type Consumers = 1 | 2 | 3;

/** A config of a kernel whose ring buffer has the same number of stages for each tensor. */
export interface RingConfig {
  /** The author's config, or one with the kernel's own sizes. */
  readonly config: Config;
  /** Number of consumer warp groups (four warps each), each with 64 rows. */
  readonly consumers: Consumers;
  readonly stages: number;
}

/** Rows of a warp group: its products, sums and kept rows fill the registers. */
export const GROUP_ROWS = 64;
/** Keys per iteration. With fewer, the tensor cores wait for the arithmetic between two products. */
const WIDE_KEYS = 128;
/**
 * Pipeline stages. With more, the ring buffer has no space for the longest heads, and shorter ones do not get faster.
 */
const STAGES = 2;
/** Head sizes, of queries and values, for which registers and shared memory suffice. */
export const HEAD_SIZES: readonly number[] = [64, 128];
/** The head size for which they suffice with three consumers. */
export const THREE_CONSUMER_HEAD_SIZES = 64;

/**
 * @param mayWiden True if the number of keys past the last one in the last block has no effect.
 * @throws {@link NotSpecializable} if no config fits.
 */
export function attentionConfigs(ir: KernelIR, pattern: AttentionPattern, mayWiden: boolean): readonly RingConfig[] {
  const [rows, columns, ...heads] = pattern.shape;
  for (const size of heads) if (typeof size === "number" && !HEAD_SIZES.includes(size)) rejectHeadSize(size, pattern);
  const sizesIn = (dim: Dim) => ir.tuning.configs.flatMap(({ values }) => (dim in values ? [Number(values[dim])] : []));
  for (const sizes of heads.map(sizesIn)) {
    const [size] = sizes;
    if (size !== undefined && !sizes.some((each) => HEAD_SIZES.includes(each))) rejectHeadSize(size, pattern);
  }
  const canWiden = mayWiden && typeof columns === "string" && isOnlyBlockLength(ir, pattern, columns);
  const fits = (config: Config, consumers: Consumers): boolean =>
    sharedBytes(pattern, config, consumers) <= SHARED_BYTES;
  const authorConfigs = ir.tuning.configs.flatMap((config): readonly RingConfig[] => {
    const sizeOf = (dim: Dim) => (typeof dim === "number" ? dim : Number(config.values[dim]));
    if (heads.some((size) => typeof size === "string" && size in config.values && !HEAD_SIZES.includes(sizeOf(size))))
      return [];
    const consumers = sizeOf(rows) / GROUP_ROWS;
    if (consumers !== 1 && consumers !== 2) return [];
    const wide = canWiden ? { ...config, values: { ...config.values, [columns]: WIDE_KEYS } } : config;
    const isSupported = (candidate: Config) => {
      const keys = typeof columns === "number" ? columns : candidate.values[columns];
      return (keys === WIDE_KEYS || keys === WIDE_KEYS / 2) && fits(candidate, consumers);
    };
    const supported = [wide, config].find(isSupported);
    return supported ? [{ config: supported, consumers, stages: STAGES }] : [];
  });
  if (authorConfigs.length === 0)
    notSpecializable(
      "none of its configs has blocks of 64 or 128 rows, and of 64 or 128 keys, that fit in shared memory",
      ir.at,
    );
  return distinctConfigs([...authorConfigs, ...threeConsumerConfig(ir, pattern, authorConfigs)]);
}

/** The first config with each combination of values. */
export function distinctConfigs(configs: readonly RingConfig[]): readonly RingConfig[] {
  const textOf = ({ config }: RingConfig) => JSON.stringify(config.values);
  return configs.filter((each, i) => configs.findIndex((other) => textOf(other) === textOf(each)) === i);
}

const rejectHeadSize = (size: number, { queries: { statement } }: AttentionPattern): never =>
  notSpecializable(`its heads have ${size} elements; the form takes ${HEAD_SIZES.join(" and ")}`, statement.location);

/**
 * A config of three consumers. With short heads, the products of three consumers take as long as the arithmetic between
 * two products. With two consumers, the tensor cores wait.
 */
function threeConsumerConfig(
  ir: KernelIR,
  pattern: AttentionPattern,
  authorConfigs: readonly RingConfig[],
): readonly RingConfig[] {
  const [rows, columns, ...heads] = pattern.shape;
  if (typeof rows !== "string" || !isRowCountIndependent(ir, pattern)) return [];
  const consumers = 3;
  const base = authorConfigs.find(({ config: { values } }) => {
    const sizes = heads.map((dim) => (typeof dim === "number" ? dim : values[dim]));
    const keys = typeof columns === "number" ? columns : values[columns];
    return keys === WIDE_KEYS && sizes.every((size) => size === undefined || size === THREE_CONSUMER_HEAD_SIZES);
  });
  if (!base) return [];
  const config = { ...base.config, values: { ...base.config.values, [rows]: consumers * GROUP_ROWS } };
  return sharedBytes(pattern, config, consumers) <= SHARED_BYTES ? [{ config, consumers, stages: STAGES }] : [];
}

/**
 * Bytes of a program's query, key, value and output blocks. A head size that only the launch determines counts as the
 * longest one.
 */
function sharedBytes({ shape, queries, loops, stores }: AttentionPattern, { values }: Config, consumers: Consumers) {
  const longestHead = consumers === 3 ? THREE_CONSUMER_HEAD_SIZES : Math.max(...HEAD_SIZES);
  const sizeOf = (dim: Dim): number => {
    const size = typeof dim === "number" ? dim : values[dim];
    return typeof size === "number" ? size : longestHead;
  };
  const [, columns, innerDim, widthDim] = shape;
  const inner = sizeOf(innerDim);
  const width = sizeOf(widthDim);
  const rows = consumers * GROUP_ROWS;
  const { keys, values: valueBlock } = loops[0];
  const writtenTensors = new Set(stores.flatMap(({ block }) => block?.tensor ?? []));
  const outputs = [...writtenTensors].reduce((sum, { dtype }) => sum + rows * width * bytesOf(dtype), 0);
  const keyBytes = inner * bytesOf(keys.block.tensor.dtype) + width * bytesOf(valueBlock.block.tensor.dtype);
  return rows * inner * bytesOf(queries.tensor.dtype) + STAGES * sizeOf(columns) * keyBytes + outputs;
}

/**
 * True if the constexpr is only a loop's step and a block length. Another value then only changes the order of
 * additions.
 */
function isOnlyBlockLength(ir: KernelIR, { loops, loads }: AttentionPattern, columns: string): boolean {
  const starts = new Set(loops.map(({ forStatement }) => forStatement.index));
  if (!isOffsetOnly(ir, columns, starts) || !loads.every((each) => isLoadIndependentOf(each, ir, columns, starts)))
    return false;
  const param = ir.params.find(({ name }) => name === columns);
  if (param?.kind !== "constexpr" || param.from !== "config") return false;
  const isColumns = (value: Value) =>
    value === param.value || (value.type.kind === "constexpr" && value.type.text === columns);
  let isOnlyLength = true;
  for (const body of [...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block)])
    walkUses(body, (value, user) => {
      if (!isColumns(value)) return;
      const isStep = user?.kind === "for" && loops.some(({ forStatement }) => forStatement === user);
      const isLength = user?.kind === "op" && user.op.facts.exclusiveUpperBound?.(user.operands) === value;
      if (!isLength && !(isStep && user.start !== value && user.end !== value)) isOnlyLength = false;
    });
  return isOnlyLength;
}
