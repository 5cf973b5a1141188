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

/** A config of attention. */
export interface AttentionConfig extends RingConfig {
  /** Number of column pieces in which a consumer stores its rows: several for long heads, and one for others. */
  readonly pieces: number;
}

/** True if products read the queries from shared memory. */
export const hasLongHeads = ({ pieces }: AttentionConfig): boolean => pieces > 1;

/** Rows of a warp group: its products, sums and kept rows fill the registers. */
export const GROUP_ROWS = 64;
/** Keys per iteration. With fewer, the tensor cores wait for the arithmetic between two products. */
const WIDE_KEYS = 128;
/** Keys per iteration of long heads, whose sums leave no registers for more scores. */
const LONG_HEAD_KEYS = 64;
/**
 * Pipeline stages. With more, the ring buffer has no space for the longest heads, and shorter ones do not get faster.
 */
const STAGES = 2;
/** Head sizes, of queries and values, for which registers and shared memory suffice. */
export const HEAD_SIZES: readonly number[] = [64, 128];
/** The head size for which they suffice if products read the queries from shared memory. */
export const LONG_HEAD_SIZE = 256;
const ALL_HEAD_SIZES: readonly number[] = [...HEAD_SIZES, LONG_HEAD_SIZE];
/** Numbers of pieces for long heads: a piece has at least 128 bytes per row. */
const PIECES: readonly number[] = [2, 4];
/** The head size for which they suffice with three consumers. */
export const THREE_CONSUMER_HEAD_SIZES = 64;

/**
 * @param mayWiden True if the number of keys past the last one in the last block has no effect.
 * @throws {@link NotSpecializable} if no config fits.
 */
export function attentionConfigs(
  ir: KernelIR,
  pattern: AttentionPattern,
  mayWiden: boolean,
): readonly AttentionConfig[] {
  const [, columns, ...heads] = pattern.shape;
  checkHeadSizes(ir, pattern);
  const canWiden = mayWiden && typeof columns === "string" && isOnlyBlockLength(ir, pattern, columns);
  const withKeys = (config: Config, keys: number): Config =>
    canWiden ? { ...config, values: { ...config.values, [columns]: keys } } : config;
  const { configs } = ir.tuning;
  const short = configs.flatMap((config): readonly AttentionConfig[] => {
    if (heads.some((dim) => !HEAD_SIZES.includes(sizeIn(config, dim) ?? Math.max(...HEAD_SIZES)))) return [];
    const candidates = [withKeys(config, WIDE_KEYS), config].flatMap((each) => sized(each, pattern, 1) ?? []);
    return candidates.slice(0, 1);
  });
  const long = configs.flatMap((config): readonly AttentionConfig[] => {
    const sizes = heads.map((dim) => sizeIn(config, dim) ?? LONG_HEAD_SIZE);
    if (!sizes.includes(LONG_HEAD_SIZE) || !sizes.every((size) => ALL_HEAD_SIZES.includes(size))) return [];
    const candidate = withKeys(config, LONG_HEAD_KEYS);
    if (sizeIn(candidate, columns) !== LONG_HEAD_KEYS) return [];
    return PIECES.flatMap((pieces) => sized(candidate, pattern, pieces) ?? []).slice(0, 1);
  });
  if (short.length + long.length === 0)
    notSpecializable(
      "none of its configs has blocks of 64 or 128 rows, and of 64 or 128 keys, that fit in shared memory",
      ir.at,
    );
  return [...distinctConfigs([...short, ...threeConsumerConfig(ir, pattern, short)]), ...distinctConfigs(long)];
}

/** A size of a config. Undefined if only the launch determines it. */
function sizeIn({ values }: Config, dim: Dim): number | undefined {
  const size = typeof dim === "number" ? dim : values[dim];
  return size === undefined ? undefined : Number(size);
}

/** The config with its number of consumers. Undefined if its blocks have no supported sizes or do not fit. */
function sized(config: Config, pattern: AttentionPattern, pieces: number): AttentionConfig | undefined {
  const [rows, columns] = pattern.shape;
  const consumers = Number(sizeIn(config, rows)) / GROUP_ROWS;
  const keys = sizeIn(config, columns);
  if ((consumers !== 1 && consumers !== 2) || (keys !== WIDE_KEYS && keys !== LONG_HEAD_KEYS)) return undefined;
  const sizedConfig = { config, consumers, stages: STAGES, pieces } as const;
  return sharedBytes(pattern, sizedConfig) <= SHARED_BYTES ? sizedConfig : undefined;
}

/** @throws {@link NotSpecializable} if the heads of all configs have an unsupported size. */
function checkHeadSizes({ tuning: { configs } }: KernelIR, { shape, queries: { statement } }: AttentionPattern): void {
  for (const dim of shape.slice(2)) {
    const sizes = configs.flatMap((config) => sizeIn(config, dim) ?? []);
    const [size] = sizes;
    if (size !== undefined && !sizes.some((each) => ALL_HEAD_SIZES.includes(each)))
      notSpecializable(
        `its heads have ${size} elements; the form takes ${ALL_HEAD_SIZES.join(", ")}`,
        statement.location,
      );
  }
}

/** The first config with each combination of values. */
export function distinctConfigs<T extends RingConfig>(configs: readonly T[]): readonly T[] {
  const textOf = ({ config }: T) => JSON.stringify(config.values);
  return configs.filter((each, i) => configs.findIndex((other) => textOf(other) === textOf(each)) === i);
}

/**
 * A config of three consumers. With short heads, the products of three consumers take as long as the arithmetic between
 * two products. With two consumers, the tensor cores wait.
 */
function threeConsumerConfig(
  ir: KernelIR,
  pattern: AttentionPattern,
  authorConfigs: readonly AttentionConfig[],
): readonly AttentionConfig[] {
  const [rows, columns, ...heads] = pattern.shape;
  if (typeof rows !== "string" || !isRowCountIndependent(ir, pattern)) return [];
  const consumers = 3;
  const base = authorConfigs.find(({ config }) => {
    const sizes = heads.map((dim) => sizeIn(config, dim));
    return (
      sizeIn(config, columns) === WIDE_KEYS &&
      sizes.every((size) => size === undefined || size === THREE_CONSUMER_HEAD_SIZES)
    );
  });
  if (!base) return [];
  const config = { ...base.config, values: { ...base.config.values, [rows]: consumers * GROUP_ROWS } };
  const sizedConfig = { config, consumers, stages: STAGES, pieces: 1 } as const;
  return sharedBytes(pattern, sizedConfig) <= SHARED_BYTES ? [sizedConfig] : [];
}

/**
 * Bytes of a program's query, key, value and output blocks. A head size that only the launch determines counts as the
 * longest one.
 */
function sharedBytes({ shape, queries, loops, stores }: AttentionPattern, sizedConfig: AttentionConfig): number {
  const { config, consumers, pieces } = sizedConfig;
  const shortHead = consumers === 3 ? THREE_CONSUMER_HEAD_SIZES : Math.max(...HEAD_SIZES);
  const longestHead = hasLongHeads(sizedConfig) ? LONG_HEAD_SIZE : shortHead;
  const sizeOf = (dim: Dim): number => sizeIn(config, dim) ?? longestHead;
  const [, columns, innerDim, widthDim] = shape;
  const inner = sizeOf(innerDim);
  const width = sizeOf(widthDim);
  const rows = consumers * GROUP_ROWS;
  const { keys, values: valueBlock } = loops[0];
  const writtenTensors = new Set(stores.flatMap(({ block }) => block?.tensor ?? []));
  const outputs = [...writtenTensors].reduce((sum, { dtype }) => sum + (rows * width * bytesOf(dtype)) / pieces, 0);
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
