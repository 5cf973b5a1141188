/**
 * Masks that limit the keys: `keys < S`, `rows >= keys`. Iterations whose keys are below the limits of all rows need no
 * mask. Iterations whose keys are past all limits can be skipped.
 */
import {
  type Argument,
  isLiteral,
  isZeroLiteral,
  isValue,
  operandOf,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { blocksOf, resultsOf, walk } from "../../../ir/walk.js";
import type { AttentionLoop } from "./attention-pattern.js";
import type { Dims } from "./attention-layouts.js";
import { isInt, members } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { type BlockIndex, blockIndexOf, extentDim, isScalar } from "./block-index.js";
import { type ConstexprBranch, isSkippable } from "./skippable-iterations.js";

export interface Masks {
  /** The value of each masked tile if no key is masked. */
  readonly unmasked: ReadonlyMap<Value, Argument>;
  readonly limits: readonly KeyLimit[];
}

/** The first key that a mask hides from a tile's first row: the sum of `starts` and `offset`. */
export interface KeyLimit {
  readonly starts: readonly Argument[];
  readonly offset: 0 | 1;
  /** True if the limit increases by one with each row. */
  readonly isPerRow: boolean;
  /** The branch in which the limit applies. Undefined if it always applies. */
  readonly branch: ConstexprBranch | undefined;
  /**
   * True if hidden keys have no effect: an iteration with only hidden keys leaves all loop-carried variables unchanged.
   */
  readonly isSkippable: boolean;
}

type Bound = Pick<KeyLimit, "starts" | "offset" | "isPerRow">;

/** The masks of a loop over blocks of keys from 0. Undefined if no mask limits the keys. */
export function masksOf(
  loop: AttentionLoop,
  dims: Dims,
  definitions: ReadonlyMap<Value, Statement>,
  isNonNegative: (argument: Argument) => boolean,
): Masks | undefined {
  const { start, end, step } = loop.forStatement;
  const isFromZero = isZeroLiteral(start) && extentDim(step) === dims.columns && isNonNegative(end);
  const reader = new MaskReader(loop, dims, definitions, isNonNegative);
  if (isFromZero) reader.read(loop.forStatement.body.statements, undefined);
  return reader.unmasked.size > 0 ? reader : undefined;
}

/** True if keys past the loop's end have no effect, whatever their number in the last block. */
export function masksKeysPastEnd({ forStatement: { end } }: AttentionLoop, masks: Masks | undefined): boolean {
  return (masks?.limits ?? []).some(
    ({ starts, offset, isPerRow, branch, isSkippable: canSkip }) =>
      canSkip && !branch && !isPerRow && offset === 0 && starts.length === 1 && starts[0] === end,
  );
}

class MaskReader implements Masks {
  readonly unmasked = new Map<Value, Argument>();
  readonly limits: KeyLimit[] = [];
  readonly #loopValues = new Set<Value>();

  constructor(
    readonly loop: AttentionLoop,
    readonly dims: Dims,
    readonly definitions: ReadonlyMap<Value, Statement>,
    readonly isNonNegative: (argument: Argument) => boolean,
  ) {
    this.#loopValues.add(loop.forStatement.index);
    walk(loop.forStatement.body, (statement) => {
      for (const value of resultsOf(statement)) this.#loopValues.add(value);
    });
  }

  read(statements: readonly Statement[], branch: ConstexprBranch | undefined): void {
    for (const statement of statements) {
      if (statement.kind === "op") this.#readOp(statement, branch);
      if (statement.kind !== "if" || branch) continue;
      const { condition } = statement;
      if (!isValue(condition) || condition.type.kind !== "constexpr" || this.#loopValues.has(condition)) continue;
      blocksOf(statement).forEach((block, i) => this.read(block.statements, { condition, isThen: i === 0 }));
    }
  }

  #readOp(statement: OpStatement, branch: ConstexprBranch | undefined): void {
    const { selectOperands: select } = statement.op.proof;
    const [result] = statement.results;
    if (!select || result?.type.kind !== "tile" || result.type.shape.at(-1) !== this.dims.columns) return;
    const [then, otherwise] = [select.then, select.otherwise].map((name) => operandOf(statement, name));
    const bounds = this.#boundsOf(operandOf(statement, select.condition));
    const hasResultShape =
      isValue(then) && then.type.kind === "tile" && then.type.shape.join() === result.type.shape.join();
    if (!bounds || !hasResultShape) return;
    const isHidden = isLiteral(otherwise) && otherwise.value === -Infinity;
    const isKeySkippable = isHidden && isSkippable(result, branch, this.loop);
    this.unmasked.set(result, then);
    this.limits.push(...bounds.map((bound) => ({ ...bound, branch, isSkippable: isKeySkippable })));
  }

  /** The limits on keys for which a condition is true. Undefined if the condition is not a limit on keys. */
  #boundsOf(condition: Argument | undefined): readonly Bound[] | undefined {
    const statement = isValue(condition) ? this.definitions.get(condition) : undefined;
    if (statement?.kind !== "op") return undefined;
    const [x, y] = statement.operands;
    const { integer } = statement.op.facts;
    if (!x || !y) return undefined;
    if (integer === "both") {
      const sides = [this.#boundsOf(x), this.#boundsOf(y)];
      return sides.every((each) => each !== undefined) ? sides.flat() : undefined;
    }
    const [keys, limit] = integer === "below" || integer === "at most" ? [x, y] : [y, x];
    if (integer !== "below" && integer !== "at most" && integer !== "above" && integer !== "at least") return undefined;
    const bound = this.#isKeys(keys) ? this.#limitOf(limit) : undefined;
    return bound && [{ ...bound, offset: integer === "below" || integer === "above" ? 0 : 1 }];
  }

  #isKeys(argument: Argument): boolean {
    const index = this.#indexOf(argument);
    if (!index) return false;
    const [start, extra] = index.starts;
    return start === this.loop.forStatement.index && !extra && this.#covers(index, this.dims.columns);
  }

  #limitOf(argument: Argument): Omit<Bound, "offset"> | undefined {
    const blockIndex = isScalar(argument) ? undefined : this.#indexOf(argument);
    if (!isScalar(argument) && !(blockIndex && this.#covers(blockIndex, this.dims.rows))) return undefined;
    const starts = blockIndex ? blockIndex.starts : [argument];
    // A limit of floats may lie between two keys.
    if (!starts.every(isInteger)) return undefined;
    const isInvariant = starts.every(
      (start) => this.isNonNegative(start) && !(isValue(start) && this.#loopValues.has(start)),
    );
    return isInvariant && starts.length > 0 ? { starts, isPerRow: blockIndex !== undefined } : undefined;
  }

  /** The index behind `x[:, None]`. */
  #indexOf(argument: Argument): BlockIndex | undefined {
    const statement = isValue(argument) ? this.definitions.get(argument) : undefined;
    const isExpanded = statement?.kind === "op" && statement.op.spelling.form === "expand";
    return blockIndexOf(isExpanded ? statement.operands[0] : argument, this.definitions);
  }

  #covers({ extent, wraps }: BlockIndex, dim: Dim): boolean {
    return wraps === undefined && extentDim(extent) === dim;
  }
}

function isInteger(argument: Argument): boolean {
  if (isLiteral(argument)) return Number.isInteger(Number(argument.value));
  if (!isValue(argument)) return false;
  const { type } = argument;
  return type.kind === "constexpr" ? type.of === "int" : type.kind === "tile" && members(type.dtype).every(isInt);
}
