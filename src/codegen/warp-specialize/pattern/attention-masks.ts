/**
 * Masks of attention that count keys: `keys < S`, `rows >= keys`. Turns whose keys lie before the limits of all rows need no
 * mask, and turns whose keys lie behind them all need not be.
 */
import { type Argument, isLiteral, isValue, type OpStatement, type Statement, type Value } from "../../../ir/nodes.js";
import { blocksOf, resultsOf, walk } from "../../../ir/walk.js";
import type { AttentionLoop } from "./attention-pattern.js";
import type { Dims } from "./attention-layouts.js";
import { isInt, members } from "../../../types/dtype.js";
import type { Dim } from "../../../types/shape.js";
import { type BlockIndex, blockIndexOf, extentDim, isScalar } from "./block-index.js";
import { type Arm, isSkippable } from "./skippable-iterations.js";

export interface Masks {
  /** What each masked tile is where nothing is masked. */
  readonly unmasked: ReadonlyMap<Value, Argument>;
  readonly limits: readonly KeyLimit[];
}

/** The key from which on a mask hides keys from a tile's first row: the sum of `starts`, and `more`. */
export interface KeyLimit {
  readonly starts: readonly Argument[];
  readonly more: 0 | 1;
  /** Whether each row has one more than the row before. */
  readonly isOfRows: boolean;
  /** Where it holds, if not everywhere. */
  readonly arm: Arm | undefined;
  /** Whether keys that it hides change nothing: a turn of hidden keys alone leaves all state as it is. */
  readonly hides: boolean;
}

type Bound = Pick<KeyLimit, "starts" | "more" | "isOfRows">;

/** The masks of a loop over blocks of keys from 0 on; undefined where none of them counts keys. */
export function masksOf(
  loop: AttentionLoop,
  dims: Dims,
  made: ReadonlyMap<Value, Statement>,
  isNonNegative: (argument: Argument) => boolean,
): Masks | undefined {
  const { start, end, step } = loop.turns;
  const isCounted = isLiteral(start) && start.value === 0 && extentDim(step) === dims.columns && isNonNegative(end);
  const reader = new MaskReader(loop, dims, made, isNonNegative);
  if (isCounted) reader.read(loop.turns.body.statements, undefined);
  return reader.unmasked.size > 0 ? reader : undefined;
}

/** Whether keys from the loop's end on change nothing, however many of them the last block has. */
export function masksKeysPastEnd({ turns: { end } }: AttentionLoop, masks: Masks | undefined): boolean {
  return (masks?.limits ?? []).some(
    ({ starts, more, isOfRows, arm, hides }) =>
      hides && !arm && !isOfRows && more === 0 && starts.length === 1 && starts[0] === end,
  );
}

class MaskReader implements Masks {
  readonly unmasked = new Map<Value, Argument>();
  readonly limits: KeyLimit[] = [];
  readonly #inside = new Set<Value>();

  constructor(
    readonly loop: AttentionLoop,
    readonly dims: Dims,
    readonly made: ReadonlyMap<Value, Statement>,
    readonly isNonNegative: (argument: Argument) => boolean,
  ) {
    this.#inside.add(loop.turns.index);
    walk(loop.turns.body, (statement) => {
      for (const value of resultsOf(statement)) this.#inside.add(value);
    });
  }

  read(statements: readonly Statement[], arm: Arm | undefined): void {
    for (const statement of statements) {
      if (statement.kind === "op") this.#readOp(statement, arm);
      if (statement.kind !== "if" || arm) continue;
      const { condition } = statement;
      if (!isValue(condition) || condition.type.kind !== "constexpr" || this.#inside.has(condition)) continue;
      blocksOf(statement).forEach((block, i) => this.read(block.statements, { condition, isThen: i === 0 }));
    }
  }

  #readOp({ op, operands, results: [result] }: OpStatement, arm: Arm | undefined): void {
    const { selectOperands: picks } = op.proof;
    if (!picks || result?.type.kind !== "tile" || result.type.shape.at(-1) !== this.dims.columns) return;
    const names = Object.keys(op.operands);
    const [condition, then, otherwise] = [picks.condition, picks.then, picks.otherwise].map(
      (name) => operands[names.indexOf(name)]!,
    );
    const bounds = this.#boundsOf(condition!);
    const isWhole = isValue(then!) && then.type.kind === "tile" && then.type.shape.join() === result.type.shape.join();
    if (!bounds || !isWhole) return;
    const isHidden = isLiteral(otherwise!) && otherwise.value === -Infinity;
    const hides = isHidden && isSkippable(result, arm, this.loop);
    this.unmasked.set(result, then);
    this.limits.push(...bounds.map((bound) => ({ ...bound, arm, hides })));
  }

  /** The bounds of keys for which a condition holds; undefined where it says something else. */
  #boundsOf(condition: Argument): readonly Bound[] | undefined {
    const statement = isValue(condition) ? this.made.get(condition) : undefined;
    if (statement?.kind !== "op") return undefined;
    const [x, y] = statement.operands;
    const { integer } = statement.op.facts;
    if (!x || !y) return undefined;
    if (integer === "both") {
      const both = [this.#boundsOf(x), this.#boundsOf(y)];
      return both.every((each) => each !== undefined) ? both.flat() : undefined;
    }
    const [keys, limit] = integer === "below" || integer === "at most" ? [x, y] : [y, x];
    if (integer !== "below" && integer !== "at most" && integer !== "above" && integer !== "at least") return undefined;
    const bound = this.#isKeys(keys) ? this.#limitOf(limit) : undefined;
    return bound && [{ ...bound, more: integer === "below" || integer === "above" ? 0 : 1 }];
  }

  #isKeys(argument: Argument): boolean {
    const index = this.#indexOf(argument);
    const [start, other] = index?.starts ?? [];
    return start === this.loop.turns.index && !other && this.#isWhole(index!, this.dims.columns);
  }

  #limitOf(argument: Argument): Omit<Bound, "more"> | undefined {
    const index = isScalar(argument) ? undefined : this.#indexOf(argument);
    if (!isScalar(argument) && !(index && this.#isWhole(index, this.dims.rows))) return undefined;
    const starts = index ? index.starts : [argument];
    // A limit of floats may lie between two keys.
    if (!starts.every(isInteger)) return undefined;
    const isKnown = starts.every((start) => this.isNonNegative(start) && !(isValue(start) && this.#inside.has(start)));
    return isKnown && starts.length > 0 ? { starts, isOfRows: index !== undefined } : undefined;
  }

  /** The index behind `x[:, None]`. */
  #indexOf(argument: Argument): BlockIndex | undefined {
    const statement = isValue(argument) ? this.made.get(argument) : undefined;
    const isExpanded = statement?.kind === "op" && statement.op.spelling.form === "expand";
    return blockIndexOf(isExpanded ? statement.operands[0]! : argument, this.made);
  }

  #isWhole({ extent, wraps }: BlockIndex, dim: Dim): boolean {
    return wraps === undefined && extentDim(extent) === dim;
  }
}

function isInteger(argument: Argument): boolean {
  if (isLiteral(argument)) return Number.isInteger(Number(argument.value));
  if (!isValue(argument)) return false;
  const { type } = argument;
  return type.kind === "constexpr" ? type.of === "int" : type.kind === "tile" && members(type.dtype).every(isInt);
}
