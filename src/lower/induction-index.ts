/**
 * Indices that vary with a loop: `k + tl.arange(0, BLOCK_K)`, or `step * BLOCK_K + tl.arange(0, BLOCK_K)`. In a loop
 * with a dot, their pointers are initialized before the loop and advanced in it, as in Triton's tutorials. The next
 * tile's addresses are then ready when the pipeline needs them.
 * Measured on an H200 with float16, 8192³ and 128x256x64 blocks: 1.68 ms, and 1.82 ms if each iteration recomputes the
 * addresses, although that takes fewer instructions.
 */
import {
  type Argument,
  type ForStatement,
  isLiteral,
  isValue,
  type OpStatement,
  type Scope,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import { onlyResult, walk } from "../ir/walk.js";

/** True if a loop's pointers are worth a register each: it contains a dot, and Triton does not unroll it. */
export function loopHasDot(loop: ForStatement): boolean {
  let hasDot = false;
  walk(loop.body, (statement) => {
    if (statement.kind === "op" && statement.op.facts.contracts) hasDot = true;
  });
  return hasDot && !loop.unrolled;
}

/** True if a value is defined in a loop's body, including nested blocks, or is the loop's index. */
export function isDefinedInLoop(argument: Argument, loop: ForStatement): boolean {
  if (!isValue(argument)) return false;
  for (let scope: Scope | undefined = argument.scope; scope; scope = scope.parent)
    if (scope === loop.index.scope) return true;
  return false;
}

type Definitions = ReadonlyMap<Value, Statement>;

/** The index without the claims that it is in bounds. */
function withoutClaims(index: Argument, definitions: Definitions): Argument {
  const definition = isValue(index) ? definitions.get(index) : undefined;
  const claimed = definition?.kind === "op" && definition.op.facts.claimsInBounds ? definition.operands[0] : undefined;
  return claimed === undefined ? index : withoutClaims(claimed, definitions);
}

/** The definition of an index, without the claims that it is in bounds. */
export function definitionBelowClaims(index: Argument, definitions: Definitions): Statement | undefined {
  const argument = withoutClaims(index, definitions);
  return isValue(argument) ? definitions.get(argument) : undefined;
}

/** An index that is an affine function of a loop's index. */
export interface InductionIndex {
  /** The statement that defines its lanes. */
  readonly lanes: OpStatement;
  /** The index itself: the sum of the lanes and `by`. */
  readonly sum: Value;
  /** The amount added to the lanes: the loop's index, or a multiple of it. */
  readonly by: Value;
  /** The constant factor of the loop's index. Undefined if the factor is 1. */
  readonly times?: Argument;
}

/**
 * Matches an index that is lanes plus the loop's index, or plus a constexpr multiple of it. Undefined if the index has
 * another form.
 */
export function laneInductionIndex(index: Argument, step: Value, definitions: Definitions): InductionIndex | undefined {
  const definition = definitionBelowClaims(index, definitions);
  if (definition?.kind !== "op" || !definition.op.facts.isDataMovement) return undefined;
  const [x, y] = definition.operands;
  for (const [by, addend] of [
    [x, y],
    [y, x],
  ]) {
    const scalarPart = timesOf(by, step, definitions);
    if (!scalarPart || !isValue(addend) || addend.type.kind !== "tile" || addend.type.shape.length !== 1) continue;
    const lanes = definitions.get(addend);
    // `tl.arange` of constexprs: nothing in it can change.
    return lanes?.kind === "op" && lanes.op.facts.exclusiveUpperBound
      ? { lanes, sum: onlyResult(definition), ...scalarPart }
      : undefined;
  }
  return undefined;
}

/**
 * Matches a scalar index in a loop that counts iterations, `for chunk in range(CHUNKS)`: the loop's index, or a
 * constexpr multiple of it. With pointers advanced by a chunk, a kernel that passes state from chunk to chunk has nine
 * tenths of the instructions.
 * Unrolled loops are excluded, because each of their iterations has a constant index. Loops over rows that programs
 * share are excluded, too: authors write these with `m * stride_xm`.
 */
export function scalarInductionIndex(
  index: Argument,
  loop: ForStatement,
  definitions: Definitions,
): Pick<InductionIndex, "times"> | undefined {
  const countsIterations = isNumber(loop.start, 0) && isNumber(loop.step, 1) && !loop.unrolled;
  if (!isValue(index) || !countsIterations) return undefined;
  return timesOf(withoutClaims(index, definitions), loop.index, definitions);
}

const isNumber = (argument: Argument, value: number): boolean => isLiteral(argument) && argument.value === value;

/** Matches `k` or `k * BLOCK_K`, where `k` is a loop's index. */
function timesOf(
  argument: Argument | undefined,
  step: Value,
  definitions: Definitions,
): Pick<InductionIndex, "by" | "times"> | undefined {
  if (!isValue(argument)) return undefined;
  if (argument === step) return { by: step };
  const definition = definitions.get(argument);
  if (definition?.kind !== "op" || definition.op.facts.integer !== "product") return undefined;
  const [x, y] = definition.operands;
  if (x !== step && y !== step) return undefined;
  const times = x === step ? y : x;
  return times !== undefined && isConstexpr(times) ? { by: argument, times } : undefined;
}

/** True if the value is known when Triton compiles. */
export function isConstexpr(value: Argument): boolean {
  return !isValue(value) || value.type.kind === "constexpr";
}
