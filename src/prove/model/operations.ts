/** The symbolic transfer functions of ops. A result without a rule is unknown. */
import { atAxis, permuteAxes, unpermuteAxes } from "../../types/dims.js";
import { type Argument, isList, isLiteral, type OpStatement, operandOf } from "../../ir/nodes.js";
import type { Op, OperandKind, OpLowering } from "../../ir/op.js";
import { typedArguments } from "../../ir/walk.js";
import { members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import {
  number,
  symbol,
  type Term,
  mapOperands,
  product,
  quotient,
  remainder,
  sum,
  termsIn,
} from "../../symbolic/term.js";
import {
  type Environment,
  at,
  broadcastShape,
  splitLane,
  UNKNOWN,
  type PointerTile,
  type Symbolic,
  type SymbolicTensor,
  type SymbolicView,
  type TermTile,
  tile,
  tileOf,
} from "./symbolic-environment.js";
import type { ViewMasks, Access } from "./accesses.js";
import { zip } from "../algebra/zip.js";
/** The kinds of operands that are integers or truth values in each lane. */
const NUMBERS: ReadonlySet<string> = new Set<OperandKind>([
  "value",
  "index",
  "valueOrPointer",
  "tile",
  "tileOrPointer",
  "mask",
  "constant",
]);

/** Dtypes whose arithmetic is modeled as exact. Narrower integers wrap routinely. */
const EXACT: ReadonlySet<string> = new Set(["int32", "int64", "int1"]);

export function applySymbolicOp(environment: Environment, statement: OpStatement, masksOf: ViewMasks): void {
  const results = resultsOf(environment, statement, masksOf);
  statement.results.forEach((result, i) => {
    const description = `a result of tl.${statement.op.name}, for which there is no rule`;
    environment.set(result, results[i] ?? environment.unknown(result, `result ${result.id}`, description));
  });
}

/** The results that a rule of the op defines. */
function resultsOf(
  environment: Environment,
  statement: OpStatement,
  masksOf: ViewMasks,
): readonly (Symbolic | undefined)[] {
  const { lowering, proof } = statement.op;
  if (lowering?.view) return [viewOf(environment, statement, lowering.view === "grid", masksOf)];
  const source = environment.value(statement.operands[0]);
  if (lowering?.permutes && isMemory(source)) return [permute(environment, statement, source, lowering.permutes)];
  if (lowering?.describes) return [descriptorOf(environment, statement)];
  if (proof.lane) return [permuteLanes(environment, statement, proof.lane)];
  return proof.term ? termsOf(environment, statement, proof.term) : [];
}

function isExact(type: Type): boolean {
  if (type.kind === "constexpr") return type.of === "int" || type.of === "bool";
  return type.kind === "pointer" || (type.kind === "tile" && members(type.dtype).every((name) => EXACT.has(name)));
}

const isTruthType = (type: Type): boolean =>
  (type.kind === "tile" && type.dtype === "int1") || (type.kind === "constexpr" && type.of === "bool");

interface Operand {
  readonly name: string;
  readonly tile: TermTile;
  readonly pointer: PointerTile | undefined;
}

/** The numeric operands. Undefined if one is not modeled. */
function operandsOf(environment: Environment, { op, operands }: OpStatement): readonly Operand[] | undefined {
  const symbolicOperands: Operand[] = [];
  for (const [i, [name, kind]] of Object.entries(op.operands).entries()) {
    if (operands[i] === undefined || !NUMBERS.has(kind.replace("?", ""))) continue;
    const value = environment.value(operands[i]);
    if (value.kind === "terms") symbolicOperands.push({ name, tile: value, pointer: undefined });
    else if (value.kind === "pointer") symbolicOperands.push({ name, tile: value.offsets, pointer: value });
    else return undefined;
  }
  return symbolicOperands;
}

/** A result's terms. For a pointer result, the pointer operands must share one base. */
function asResult(type: Type, terms: TermTile, operands: readonly Operand[]): Symbolic | undefined {
  const pointers = operands.flatMap(({ pointer }) => pointer ?? []);
  if (type.kind !== "pointer") return pointers.length === 0 ? terms : undefined;
  const [first] = pointers;
  if (!first || pointers.some(({ base }) => base !== first.base)) return UNKNOWN;
  return { ...first, offsets: terms };
}

function termsOf(
  environment: Environment,
  statement: OpStatement,
  termOf: NonNullable<Op["proof"]["term"]>,
): readonly (Symbolic | undefined)[] {
  const { op, results } = statement;
  const operands = operandsOf(environment, statement);
  const args = typedArguments(statement);
  const types = results.map(({ type }) => type);
  const allTypes = [...types, ...Object.keys(op.operands).flatMap((name) => args[name]?.type ?? [])];
  const isModeled = op.proof.anyWidth || allTypes.every((type) => type.kind === "none" || isExact(type));
  if (!operands || !isModeled) return [];
  const { grid, program } = environment.launch;
  return results.map(({ type }, i) => {
    const context = { args, isTruth: isTruthType(type), isFolded: type.kind === "constexpr", grid, program };
    const rule = (lane: readonly Term[]): Term | undefined => {
      const terms = Object.fromEntries(operands.map((operand) => [operand.name, at(operand.tile, lane)]));
      const term = termOf(terms, { ...context, lane });
      return Array.isArray(term) ? term[i] : (term as Term | undefined);
    };
    const shape = environment.shape(type);
    if (!isTotal(rule, shape)) return undefined;
    return asResult(
      type,
      tileOf(
        shape,
        operands.map((operand) => operand.tile),
        (lane) => rule(lane)!,
      ),
      operands,
    );
  });
}

/**
 * True if a rule covers every lane. Some rules, such as that of `x ^ y`, apply to constants but not to symbolic lanes.
 */
function isTotal(rule: (lane: readonly Term[]) => unknown, shape: readonly Term[]): boolean {
  const first = rule(shape.map(() => number(0)));
  return first !== undefined && rule(shape.map((_, axis) => symbol(`any lane ${axis}`))) !== undefined;
}

function permuteLanes(
  environment: Environment,
  statement: OpStatement,
  laneOf: NonNullable<Op["proof"]["lane"]>,
): Symbolic | undefined {
  const [operand, ...more] = operandsOf(environment, { ...statement, operands: statement.operands.slice(0, 1) }) ?? [];
  const [result] = statement.results;
  if (!operand || more.length > 0 || !result) return undefined;
  const from = operand.tile.shape;
  const to = environment.shape(result.type);
  const rule = (lane: readonly Term[]) => laneOf(lane, { args: typedArguments(statement), from, to });
  if (!isTotal(rule, to)) return undefined;
  const terms = tileOf(to, [operand.tile], (lane) => at(operand.tile, rule(lane)!));
  return asResult(result.type, terms, [operand]);
}

const isMemory = (value: Symbolic): value is SymbolicTensor | SymbolicView =>
  value.kind === "tensor" || value.kind === "view";

function permute(
  environment: Environment,
  statement: OpStatement,
  source: SymbolicTensor | SymbolicView,
  permutes: NonNullable<OpLowering["permutes"]>,
): Symbolic {
  const rank = source.kind === "tensor" ? source.order.length : source.shape.length;
  const order = permutes(statement.operands, rank);
  if (source.kind === "tensor") return { ...source, order: permuteAxes(source.order, order) };
  const { trustedOperand } = statement.op.proof;
  const reason = environment.literal(operandOf(statement, trustedOperand));
  return {
    ...source,
    ...(typeof reason === "string" && trustedOperand !== undefined && { trusted: reason }),
    shape: permuteAxes(source.shape, order),
    index: (lane) => source.index(unpermuteAxes(lane, order)),
  };
}

function viewOf(environment: Environment, statement: OpStatement, isGrid: boolean, masksOf: ViewMasks): Symbolic {
  const [tensor, indices] = statement.operands;
  const source = environment.value(tensor);
  if (source.kind !== "tensor" || !isList(indices)) return UNKNOWN;
  const { param, order } = source;
  const tiles = indices.map((index, i) => {
    const value = environment.value(index);
    return value.kind === "terms" ? value : unknownIndex(environment, index, i);
  });
  const shapes = tiles.map((indexTile) => indexTile.shape);
  const shape = isGrid ? shapes.flat() : broadcastShape(...shapes);
  const claims = claimsOf(statement.options["claimed"]);
  const masks: SymbolicView["masks"][number][] = [];
  zip(order, indices).forEach(([axis, index], position) => {
    const bounds = masksOf({ index, dim: atAxis(param.dims, axis), axis: position, claimed: claims });
    masks[axis] = { ...bounds, claimed: claims[position] === true };
  });
  return {
    kind: "view",
    param,
    shape,
    masks,
    index(lane) {
      const lanes = isGrid ? splitLane(shapes, lane) : tiles.map(() => lane);
      const terms: Term[] = [];
      for (const [axis, [indexTile, indexLane]] of zip(order, zip(tiles, lanes)))
        terms[axis] = at(indexTile, indexLane);
      return terms;
    },
  };
}

function unknownIndex(environment: Environment, index: Argument, position: number): TermTile {
  const value =
    "kind" in index && index.kind === "value" ? environment.unknown(index, `index ${index.id} ${position}`) : UNKNOWN;
  return value.kind === "terms" ? value : tile([], () => environment.launch.dim("an index that proofs do not follow"));
}

function claimsOf(claimed: Argument | undefined): readonly boolean[] {
  return isList(claimed) ? claimed.map((each) => isLiteral(each) && each.value === true) : [];
}

/** A descriptor that the kernel creates for a tensor with its own shape and strides. */
function descriptorOf(environment: Environment, statement: OpStatement): Symbolic {
  const [base, shape, strides, block] = statement.operands;
  const source = environment.value(base);
  if (source.kind !== "tensor" || shape !== undefined || strides !== undefined || !isList(block)) return UNKNOWN;
  const dims = block.map((dim) => environment.launch.term(dim));
  if (!dims.every((dim) => dim !== undefined)) return UNKNOWN;
  return { kind: "descriptor", param: source.param, order: source.order, block: dims };
}

// Rewrites `x // (b * c)` to `(x // b) // c` if `x // b` or `x % b` occurs as well, so that equal values have equal
// terms. Truncating quotients allow this for all signs.

/** Rewrites the terms of all accesses together. */
export function withNestedQuotients(accesses: readonly Access[]): readonly Access[] {
  const nest = nestingQuotients(
    accesses.flatMap(({ axes, mask, path }) => [...axes.flatMap(({ index, size }) => [index, size]), mask, ...path]),
  );
  return accesses.map((access) => ({
    ...access,
    axes: access.axes.map((axis) => ({ ...axis, index: nest(axis.index), size: nest(axis.size) })),
    mask: nest(access.mask),
    path: access.path.map(nest),
  }));
}

/** Returns the rewrite for a set of terms. */
function nestingQuotients(terms: readonly Term[]): (term: Term) => Term {
  const divisors = new Map<Term, Set<Term>>();
  for (const { kind, operands } of termsIn(...terms)) {
    if (kind !== "quotient" && kind !== "remainder") continue;
    const [dividend, divisor] = operands;
    const existing = divisors.get(dividend) ?? new Set();
    divisors.set(dividend, existing.add(divisor));
  }
  const cache = new Map<Term, Term>();
  const rewrite = (term: Term): Term => {
    const cached = cache.get(term);
    if (cached) return cached;
    const result = nestQuotient(mapOperands(term, rewrite), term);
    cache.set(term, result);
    return result;
  };
  const nestQuotient = (term: Term, { kind, operands }: Term): Term => {
    if (kind !== "quotient" && kind !== "remainder") return term;
    const [dividend, divisor] = operands;
    for (const inner of divisors.get(dividend) ?? []) {
      const outer = quotientOf(divisor, inner);
      if (!outer) continue;
      const [x, b, c] = [rewrite(dividend), rewrite(inner), rewrite(outer)];
      const innerQuotient = rewrite(quotient(dividend, inner));
      return kind === "quotient"
        ? quotient(innerQuotient, c)
        : sum(product(b, remainder(innerQuotient, c)), remainder(x, b));
    }
    return term;
  };
  return rewrite;
}

/** The quotient of two products. Undefined if it is 1 or if a factor of the divisor is missing. */
function quotientOf(dividend: Term, divisor: Term): Term | undefined {
  if (dividend.kind !== "product" || dividend === divisor) return undefined;
  const remaining = [...dividend.operands];
  for (const factor of divisor.kind === "product" ? divisor.operands : [divisor]) {
    const index = remaining.indexOf(factor);
    if (index < 0) return undefined;
    remaining.splice(index, 1);
  }
  return remaining.length > 0 ? product(...remaining) : undefined;
}
