/** The configs of specialized attention: those of the author that fit, with wide blocks of keys where that is free. */
import type { Config } from "../../../compiled/compiled-kernel.js";
import type { KernelIR, Value } from "../../../ir/nodes.js";
import { bodiesOf, hostBlocksOf, walkUses } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { isRowCountIndependent } from "./row-count-independence.js";
import { isOffsetOnly } from "./offset-only-uses.js";
import { isLoadIndependentOf } from "./register-loads.js";
import { bytesOf, SHARED_BYTES } from "./shared-memory.js";
import { notSpecializable } from "./not-specializable.js";

export type Consumers = 1 | 2 | 3;

export interface AttentionConfig {
  /** The author's, with the specialized kernel's block of keys. */
  readonly config: Config;
  /** Groups of four warps, each with 64 rows. */
  readonly consumers: Consumers;
  readonly stages: number;
}

/** Rows of a group of four warps: its scores, its sum and its queries fill the registers. */
const GROUP_ROWS = 64;
/** Keys of a turn: fewer keep the tensor cores waiting for the arithmetic in between. */
const WIDE = 128;
/** With more, the ring has no room for the longest heads, and nothing is gained for others. */
const STAGES = 2;
/** Elements of a head, of query and value, for which registers and shared memory suffice. */
export const HEAD_SIZES: readonly number[] = [64, 128];
/** Those for which they suffice thrice. */
export const THREE_CONSUMER_HEAD_SIZES = 64;

/**
 * @param mayWiden whether it makes no difference how many keys beyond the last one the last block has.
 * @throws Unsuited if no config fits.
 */
export function attentionConfigs(ir: KernelIR, form: AttentionPattern, mayWiden: boolean): readonly AttentionConfig[] {
  const [rows, columns, ...heads] = form.shape;
  for (const size of heads) if (typeof size === "number" && !HEAD_SIZES.includes(size)) refuseHeads(size, form);
  const sizesIn = (dim: Dim) => ir.tuning.configs.flatMap(({ values }) => (dim in values ? [Number(values[dim])] : []));
  const odd = heads.map(sizesIn).find((sizes) => sizes.length > 0 && !sizes.some((size) => HEAD_SIZES.includes(size)));
  if (odd) refuseHeads(odd[0]!, form);
  const isFree = mayWiden && typeof columns === "string" && onlySizesBlocks(ir, form, columns);
  const fits = (config: Config, consumers: Consumers): boolean => sharedBytes(form, config, consumers) <= SHARED_BYTES;
  const own = ir.tuning.configs.flatMap((config): readonly AttentionConfig[] => {
    const at = (dim: Dim) => (typeof dim === "number" ? dim : Number(config.values[dim]));
    if (heads.some((size) => typeof size === "string" && size in config.values && !HEAD_SIZES.includes(at(size))))
      return [];
    const consumers = at(rows) / GROUP_ROWS;
    if (consumers !== 1 && consumers !== 2) return [];
    const wide = isFree ? { ...config, values: { ...config.values, [columns]: WIDE } } : config;
    const suits = (each: Config) => {
      const keys = typeof columns === "number" ? columns : each.values[columns];
      return (keys === WIDE || keys === WIDE / 2) && fits(each, consumers);
    };
    const suited = [wide, config].find(suits);
    return suited ? [{ config: suited, consumers, stages: STAGES }] : [];
  });
  if (own.length === 0)
    notSpecializable(
      "none of its configs has blocks of 64 or 128 rows, and of 64 or 128 keys, that fit in shared memory",
      ir.at,
    );
  const found = [...own, ...inThree(ir, form, own)];
  const texts = found.map(({ config }) => JSON.stringify(config.values));
  return found.filter((_, i) => texts.indexOf(texts[i]!) === i);
}

const refuseHeads = (size: number, { queries: { statement } }: AttentionPattern): never =>
  notSpecializable(`its heads have ${size} elements; the form takes ${HEAD_SIZES.join(" and ")}`, statement.at);

/**
 * A config of three consumers, whose products take as long as the arithmetic in between if heads are short; with two, the
 * tensor cores wait.
 */
function inThree(ir: KernelIR, form: AttentionPattern, own: readonly AttentionConfig[]): readonly AttentionConfig[] {
  const [rows, columns, ...heads] = form.shape;
  if (typeof rows !== "string" || !isRowCountIndependent(ir, form)) return [];
  const consumers = 3;
  const suited = own.find(({ config: { values } }) => {
    const sizes = heads.map((dim) => (typeof dim === "number" ? dim : values[dim]));
    const keys = typeof columns === "number" ? columns : values[columns];
    return keys === WIDE && sizes.every((size) => size === undefined || size === THREE_CONSUMER_HEAD_SIZES);
  });
  if (!suited) return [];
  const config = { ...suited.config, values: { ...suited.config.values, [rows]: consumers * GROUP_ROWS } };
  return sharedBytes(form, config, consumers) <= SHARED_BYTES ? [{ config, consumers, stages: STAGES }] : [];
}

/** What a program's queries, keys, values and written blocks take; of heads that only a launch knows, the longest. */
function sharedBytes({ shape, queries, loops, stores }: AttentionPattern, { values }: Config, consumers: Consumers) {
  const [, columns, inner, width] = shape.map((dim) => {
    const size = typeof dim === "number" ? dim : values[dim];
    return typeof size === "number" ? size : consumers === 3 ? THREE_CONSUMER_HEAD_SIZES : Math.max(...HEAD_SIZES);
  });
  const rows = consumers * GROUP_ROWS;
  const [{ keys, values: each }] = loops as readonly [(typeof loops)[number]];
  const written = new Set(stores.flatMap(({ block }) => block?.tensor ?? []));
  const outputs = [...written].reduce((sum, { dtype }) => sum + rows * width! * bytesOf(dtype), 0);
  const turn = columns! * (inner! * bytesOf(keys.block.tensor.dtype) + width! * bytesOf(each.block.tensor.dtype));
  return rows * inner! * bytesOf(queries.tensor.dtype) + STAGES * turn + outputs;
}

/**
 * Whether the constexpr is a loop's step and the length of blocks alone. Then another value changes the order of sums, and
 * nothing else.
 */
function onlySizesBlocks(ir: KernelIR, { loops, loads }: AttentionPattern, columns: string): boolean {
  const starts = new Set(loops.map(({ turns }) => turns.index));
  if (!isOffsetOnly(ir, columns, starts) || !loads.every((each) => isLoadIndependentOf(each, ir, columns, starts)))
    return false;
  const param = ir.params.find(({ name }) => name === columns);
  if (param?.kind !== "constexpr" || param.from !== "config") return false;
  const isIt = (value: Value) =>
    value === param.value || (value.type.kind === "constexpr" && value.type.text === columns);
  let isFree = true;
  for (const body of [...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block)])
    walkUses(body, (value, by) => {
      if (!isIt(value)) return;
      const isStep = by?.kind === "for" && loops.some(({ turns }) => turns === by);
      const isLength = by?.kind === "op" && by.op.facts.exclusiveUpperBound?.(by.operands) === value;
      if (!isLength && !(isStep && by.start !== value && by.end !== value)) isFree = false;
    });
  return isFree;
}
