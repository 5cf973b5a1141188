/** The lanes of its operands that a lane of an op's result depends on, from the op's record. */
import { atAxis } from "../../types/dims.js";
import { type Argument, isFunction, isLiteral, operandOf, type OpStatement, type Value } from "../../ir/nodes.js";
import type { OpFold } from "../../ir/op.js";
import { walk, typedArguments } from "../../ir/walk.js";
import { number, symbol, type Term } from "../../symbolic/term.js";
import { isInt, members } from "../../types/dtype.js";
import { type Environment, isOne, type TermTile } from "../model/symbolic-environment.js";
import { type Collection, type DependentTile, isKnown, NOTHING, type Point, termAt } from "./dependences.js";

export interface OpUse {
  readonly statement: OpStatement;
  readonly result: Value;
  /** The place of the result among the op's results. */
  readonly which: number;
  readonly shape: readonly Term[];
  readonly operands: Readonly<Record<string, DependentTile>>;
  /** The options, and what functions among the operands take from around them. */
  readonly options: DependentTile;
  /** The first result, if it is of integers. */
  readonly terms: TermTile | undefined;
  readonly environment: Environment;
}

type Visit = (use: OpUse, lane: readonly Term[], point: Point, collection: Collection) => void;

/** Ops of which each lane depends on the same lane of the operands, although no other fact of their records says so. */
const LANEWISE: ReadonlySet<string> = new Set([
  "rand",
  "randn",
  "randint",
  "rand4x",
  "randn4x",
  "randint4x",
  "philox",
  "uintToUniformFloat",
  "pairUniformToNormal",
  "relu",
  "hypot",
  "umulhi",
]);

/** Ops that may read what no operand says, such as a register of the GPU. */
const OPAQUE: ReadonlySet<string> = new Set(["inlineAsmElementwise", "raw"]);

/** Ops that move lanes along one axis: the operand that names it, and the axis without one. */
const ALONG: Readonly<Record<string, { readonly name: string; readonly axis: number }>> = {
  gather: { name: "axis", axis: 0 },
  flip: { name: "dim", axis: -1 },
  cat: { name: "dim", axis: 0 },
  interleave: { name: "dim", axis: -1 },
  sort: { name: "dim", axis: -1 },
  topk: { name: "dim", axis: -1 },
  bitonicMerge: { name: "dim", axis: -1 },
  softmax: { name: "dim", axis: 0 },
};

/** Folds of floats whose result no order changes. */
const UNORDERED: ReadonlySet<string> = new Set(["max", "min", "argmax", "argmin", "sort", "topk", "bitonicMerge"]);

/** Float ops that neither end in a product nor begin with a sum, besides those that only choose or move values. */
const NO_PRODUCT_OR_SUM: ReadonlySet<string> = new Set([
  "neg",
  "abs",
  "maximum",
  "minimum",
  "where",
  "relu",
  "clamp",
  "to",
  "exp",
  "exp2",
  "sigmoid",
  "sqrt",
  "sqrtRn",
  "rsqrt",
  "div",
  "divRn",
  "fdiv",
  "lt",
  "le",
  "gt",
  "ge",
  "eq",
  "ne",
]);

const isFloat = ({ type }: Value): boolean => type.kind === "tile" && !members(type.dtype).every(isInt);

export const visitOp: Visit = (use, lane, point, collection) => {
  const { statement, operands, options } = use;
  const { op } = statement;
  if (op.effect !== "pure" || OPAQUE.has(op.name) || statement.operands.some(isOpaque))
    return collection.unknown(`the result of tl.${op.name}`, statement.location, "undetermined");
  visitAll(options, point, collection);
  const { selectOperands, lane: laneOf, foldSemantics } = op.proof;
  if (selectOperands) {
    const [test, then, otherwise] = [selectOperands.condition, selectOperands.then, selectOperands.otherwise].map(
      (name) => operands[name],
    );
    if (test && then && otherwise)
      return collection.choose(
        { tile: test, lane },
        point,
        (inner) => collection.visit(then, lane, inner),
        (inner) => collection.visit(otherwise, lane, inner),
      );
  }
  if (laneOf) return visitMoved(use, lane, point, collection);
  if (foldSemantics) return visitFold(foldSemantics, use, lane, point, collection);
  if (op.name in structural) return structural[op.name]?.(use, lane, point, collection);
  if (op.name in ALONG) return visitAxis(use, lane, point, collection);
  const { lanewise } = op.facts;
  if (lanewise || op.proof.term || op.proof.classTransfer || LANEWISE.has(op.name))
    return visitLane(use, lane, point, collection);
  if (op.facts.answer) return;
  if (Object.keys(operands).length === 0)
    return collection.unknown(`what tl.${op.name} gives`, statement.location, "undetermined");
  markOrder(use, collection);
  for (const tile of Object.values(operands)) visitAll(tile, point, collection);
};

/** True for a function that reads more than its arguments and what it captures. */
function isOpaque(argument: Argument | undefined): boolean {
  if (!isFunction(argument)) return false;
  const { extern, body } = argument.function;
  let isOpaque = extern !== undefined;
  walk(body, (statement) => {
    const { op } = statement.kind === "op" ? statement : {};
    if (op && (op.effect !== "pure" || op.facts.queries || OPAQUE.has(op.name) || op.spelling.form === "apply"))
      isOpaque = true;
  });
  return isOpaque;
}

/** Every lane of a value. */
function visitAll(tile: DependentTile, point: Point, collection: Collection): void {
  collection.visit(tile, boundLane(tile, collection), point);
}

const boundLane = ({ shape }: DependentTile, collection: Collection): readonly Term[] =>
  shape.map((dim) => collection.bound(dim));

/** The same lane of each operand. */
const visitLane: Visit = (use, lane, point, collection) => {
  const { statement, operands, result, terms, which } = use;
  const tiles = Object.values(operands);
  const { location } = statement;
  if (isFloat(result)) {
    const { name } = statement.op;
    const isOther = !NO_PRODUCT_OR_SUM.has(name);
    if (isOther && name !== "add" && name !== "sub") collection.add({ kind: "product" }, location);
    if (isOther && name !== "mul") collection.add({ kind: "sum" }, location);
  }
  // A program id or a range has no operand that says what it is.
  const isSource = tiles.every((tile) => tile === NOTHING) || statement.op.facts.exclusiveUpperBound !== undefined;
  if (isSource && terms && which === 0) {
    const term = termAt(terms, lane, point.iterations);
    if (!isKnown(term)) return collection.unknown("a value that is not followed", location);
    return collection.integer("value", term, location);
  }
  if (statement.op.facts.queries) return collection.unknown("a value that is not followed", location);
  for (const tile of tiles) collection.visit(tile, lane, point);
};

/** An op that moves lanes, by the rule of its record. */
const visitMoved: Visit = ({ statement, operands, shape: to }, lane, point, collection) => {
  const [x] = Object.values(operands);
  const rule = statement.op.proof.lane;
  if (!x || !rule) return collection.unknown(`tl.${statement.op.name}`, statement.location);
  const context = { args: typedArguments(statement), from: x.shape, to };
  if (
    !rule(
      to.map((_, axis) => symbol(`any lane ${axis}`)),
      context,
    )
  )
    return collection.unknown(`how tl.${statement.op.name} moves lanes`, statement.location);
  const from = rule(lane, context) ?? [];
  collection.visit(
    x,
    from.map((index, axis) => (isOne(atAxis(x.shape, axis)) ? number(0) : index)),
    point,
  );
};

const structural: Readonly<Record<string, Visit>> = {
  split: ({ operands: { x }, which }, lane, point, collection) => {
    if (x) collection.visit(x, [...lane, number(which)], point);
  },
  join: ({ operands }, lane, point, collection) => {
    for (const tile of Object.values(operands)) collection.visit(tile, lane.slice(0, -1), point);
  },
};

/** All lanes along one axis. */
const visitAxis: Visit = ({ statement, operands }, lane, point, collection) => {
  const { name } = statement.op;
  const along = ALONG[name];
  if (!along) return;
  const argument = operandOf(statement, along.name) ?? statement.options[along.name];
  const axis = axisIn(lane.length, argument, along.axis);
  for (const [operand, tile] of Object.entries(operands)) {
    if (name === "gather" && operand === "index") collection.visit(tile, lane, point);
    else if (axis === undefined || tile.shape.length !== lane.length) visitAll(tile, point, collection);
    else collection.visit(tile, lane.toSpliced(axis, 1, collection.bound(atAxis(tile.shape, axis))), point);
  }
};

/** The axis that an operand names. Undefined for all axes, or for an axis that is not known. */
function axisIn(rank: number, argument: Argument | undefined, preset: number | undefined): number | undefined {
  const named = isLiteral(argument) ? Number(argument.value) : undefined;
  const axis = argument === undefined ? preset : named;
  return axis !== undefined && axis < 0 ? axis + rank : axis;
}

// ---- folds ------------------------------------------------------------------------------------------------------------

function markOrder({ statement, result }: OpUse, collection: Collection): void {
  const { op, results, location } = statement;
  // The index of an extremum depends on the order of lanes if there is a NaN.
  const isOrdered = UNORDERED.has(op.name) ? results.length > 1 : isFloat(result);
  if (isOrdered) collection.add({ kind: "order" }, location);
}

/** Visits the size of a fold's axis, which decides what is folded together. */
function visitSize(size: Term, { statement }: OpUse, collection: Collection): void {
  collection.integer("block", size, statement.location);
}

function visitFold(fold: OpFold, use: OpUse, lane: readonly Term[], point: Point, collection: Collection): void {
  markOrder(use, collection);
  switch (fold.form) {
    case "reduction":
      return visitReduction(fold, use, lane, point, collection);
    case "scan":
    case "normalization":
      return visitAlong(fold, use, lane, point, collection);
    case "contraction":
      return visitDot(use, lane, point, collection);
    case "packed":
      return visitPackedDot(use, lane, point, collection);
    default:
      return fold.form satisfies never;
  }
}

function visitReduction(fold: OpFold, use: OpUse, lane: readonly Term[], point: Point, collection: Collection): void {
  const { statement, operands, shape } = use;
  const { x } = operands;
  if (!x) return collection.unknown(`tl.${statement.op.name}`, statement.location);
  const source = statement.op.name === "histogram" ? undefined : operandOf(statement, "axis");
  const axis = axisIn(x.shape.length, source, fold.axis);
  // A tile that is broadcast has fewer axes than its type.
  const isWhole = axis === undefined || x.shape.length !== shape.length + (keepsDims(statement) ? 0 : 1);
  x.shape.forEach((size, i) => (isWhole || i === axis) && visitSize(size, use, collection));
  if (isWhole) return visitAll(x, point, collection);
  const rest = keepsDims(statement) ? lane.toSpliced(axis, 1) : lane;
  collection.visit(x, rest.toSpliced(axis, 0, collection.bound(atAxis(x.shape, axis))), point);
}

function keepsDims({ options: { keepDims } }: OpStatement): boolean {
  return isLiteral(keepDims) && keepDims.value === true;
}

function visitAlong(fold: OpFold, use: OpUse, lane: readonly Term[], point: Point, collection: Collection): void {
  const { statement, operands } = use;
  const { x } = operands;
  if (!x || x.shape.length !== lane.length)
    return Object.values(operands).forEach((tile) => visitAll(tile, point, collection));
  const along = ALONG[statement.op.name];
  const axis = axisIn(lane.length, operandOf(statement, along?.name ?? "axis"), along?.axis ?? fold.axis ?? 0);
  if (axis === undefined) return visitAll(x, point, collection);
  const size = atAxis(x.shape, axis);
  visitSize(size, use, collection);
  collection.visit(x, lane.toSpliced(axis, 1, collection.bound(size)), point);
}

const visitDot: Visit = (use, lane, point, collection) => {
  const { operands, shape } = use;
  const { a, b, acc } = operands;
  const rank = shape.length;
  if (!a || !b || a.shape.length !== rank || b.shape.length !== rank)
    return Object.values(operands).forEach((tile) => visitAll(tile, point, collection));
  const [lead, row, column] = [lane.slice(0, rank - 2), atAxis(lane, rank - 2), atAxis(lane, rank - 1)];
  const size = atAxis(a.shape, rank - 1);
  const k = collection.bound(size);
  visitSize(size, use, collection);
  collection.visit(a, [...lead, row, k], point);
  collection.visit(b, [...lead, k, column], point);
  if (acc) collection.visit(acc, lane, point);
};

/** A dot of packed elements: whole rows of the left side and its scales, and whole columns of the right side. */
const visitPackedDot: Visit = (use, lane, point, collection) => {
  const { operands, shape, statement } = use;
  const { lhs, rhs, lhsScale, rhsScale, acc } = operands;
  const rank = shape.length;
  if (!lhs || !rhs || rank !== 2) return collection.unknown("a dot with scales", statement.location);
  const [row, column] = [atAxis(lane, 0), atAxis(lane, 1)];
  visitSize(atAxis(lhs.shape, 1), use, collection);
  const rowOf = (tile: DependentTile | undefined, index: Term): void => {
    if (tile?.shape.length === 2) collection.visit(tile, [index, collection.bound(atAxis(tile.shape, 1))], point);
    else if (tile) visitAll(tile, point, collection);
  };
  rowOf(lhs, row);
  rowOf(lhsScale, row);
  rowOf(rhsScale, column);
  collection.visit(rhs, [collection.bound(atAxis(rhs.shape, 0)), column], point);
  if (acc) collection.visit(acc, lane, point);
};
