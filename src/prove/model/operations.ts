/** Applies an op's rules for terms and lanes; a result without a rule is unknown. */
import { type Argument, isList, isLiteral, type OpStatement, operandOf } from "../../ir/nodes.js";
import type { OperandKind } from "../../ir/op.js";
import { typedArguments } from "../../ir/typed.js";
import { members } from "../../types/dtype.js";
import type { Type } from "../../types/types.js";
import { number, symbol, type Term } from "../../symbolic/term.js";
import type { Environment } from "./symbolic-environment.js";
import type { ViewMasks } from "./accesses.js";
import {
  at,
  broadcastLane,
  broadcastShape,
  UNKNOWN,
  type PointerTile,
  type Symbolic,
  type SymbolicTensor,
  type SymbolicView,
  type TermTile,
  tile,
  tileOf,
} from "./symbolic.js";

/** Operands that are numbers, lane by lane. */
const NUMBERS: ReadonlySet<string> = new Set<OperandKind>([
  "value",
  "index",
  "valueOrPointer",
  "tile",
  "tileOrPointer",
  "mask",
  "constant",
]);

/** Integers whose arithmetic a proof takes for exact; a narrower one wraps as a matter of course. */
const EXACT: ReadonlySet<string> = new Set(["int32", "int64", "int1"]);

export function applySymbolicOp(environment: Environment, statement: OpStatement, masksOf: ViewMasks): void {
  const { lowering, proof } = statement.op;
  const results = lowering?.view
    ? [viewOf(environment, statement, masksOf)]
    : lowering?.permutes && isMemory(environment.value(statement.operands[0]))
      ? [permuted(environment, statement)]
      : lowering?.describes
        ? [describedBy(environment, statement)]
        : proof.lane
          ? [movedLanes(environment, statement)]
          : proof.term
            ? termsOf(environment, statement)
            : [];
  statement.results.forEach((result, i) => {
    const words = `a result of tl.${statement.op.name}, for which there is no rule`;
    environment.set(result, results[i] ?? environment.unknown(result, `result ${result.id}`, words));
  });
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

/** The numbers among the operands; undefined if one is not followed. */
function operandsOf(environment: Environment, { op, operands }: OpStatement): readonly Operand[] | undefined {
  const found: Operand[] = [];
  for (const [i, [name, kind]] of Object.entries(op.operands).entries()) {
    if (operands[i] === undefined || !NUMBERS.has(kind.replace("?", ""))) continue;
    const value = environment.value(operands[i]);
    if (value.kind === "terms") found.push({ name, tile: value, pointer: undefined });
    else if (value.kind === "pointer") found.push({ name, tile: value.offsets, pointer: value });
    else return undefined;
  }
  return found;
}

/** A result's terms, as a pointer where it is one: to what the pointers among the operands point to. */
function asResult(type: Type, terms: TermTile, operands: readonly Operand[]): Symbolic | undefined {
  const pointers = operands.flatMap(({ pointer }) => pointer ?? []);
  if (type.kind !== "pointer") return pointers.length === 0 ? terms : undefined;
  const [first] = pointers;
  if (!first || pointers.some(({ base }) => base !== first.base)) return UNKNOWN;
  return { ...first, offsets: terms };
}

function termsOf(environment: Environment, statement: OpStatement): readonly (Symbolic | undefined)[] {
  const { op, results } = statement;
  const operands = operandsOf(environment, statement);
  const args = typedArguments(statement);
  const types = results.map(({ type }) => type);
  const involved = [...types, ...Object.keys(op.operands).flatMap((name) => args[name]?.type ?? [])];
  const isFollowed = op.proof.anyWidth || involved.every((type) => type.kind === "none" || isExact(type));
  if (!operands || !isFollowed) return [];
  const { grid, program } = environment.launch;
  return results.map(({ type }, i) => {
    const context = { args, truth: isTruthType(type), folded: type.kind === "constexpr", grid, program };
    const rule = (lane: readonly Term[]): Term | undefined => {
      const terms = Object.fromEntries(operands.map((operand) => [operand.name, at(operand.tile, lane)]));
      const made = op.proof.term!(terms, { ...context, lane });
      return Array.isArray(made) ? made[i] : (made as Term | undefined);
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

/** Whether a rule holds for every lane: some, such as that of `x ^ y`, know numbers better than what a lane is in. */
function isTotal(rule: (lane: readonly Term[]) => unknown, shape: readonly Term[]): boolean {
  const first = rule(shape.map(() => number(0)));
  return first !== undefined && rule(shape.map((_, axis) => symbol(`any lane ${axis}`))) !== undefined;
}

function movedLanes(environment: Environment, statement: OpStatement): Symbolic | undefined {
  const [operand, ...more] = operandsOf(environment, { ...statement, operands: statement.operands.slice(0, 1) }) ?? [];
  const [result] = statement.results;
  if (!operand || more.length > 0 || !result) return undefined;
  const from = operand.tile.shape;
  const to = environment.shape(result.type);
  const rule = (lane: readonly Term[]) => statement.op.proof.lane!(lane, { args: typedArguments(statement), from, to });
  if (!isTotal(rule, to)) return undefined;
  const terms = tileOf(to, [operand.tile], (lane) =>
    operand.tile.at(rule(lane)!.map((each, axis) => inside(each, from[axis]!))),
  );
  return asResult(result.type, terms, [operand]);
}

/** The only lane of an axis of size 1 is 0. */
const inside = (lane: Term, dim: Term): Term => (dim.kind === "number" && dim.value === 1n ? number(0) : lane);

const isMemory = (value: Symbolic): value is SymbolicTensor | SymbolicView =>
  value.kind === "tensor" || value.kind === "view";

function permuted(environment: Environment, statement: OpStatement): Symbolic | undefined {
  const from = environment.value(statement.operands[0]);
  if (!isMemory(from)) return undefined;
  const rank = from.kind === "tensor" ? from.order.length : from.shape.length;
  const order = statement.op.lowering!.permutes!(statement.operands, rank);
  if (from.kind === "tensor") return { ...from, order: order.map((axis) => from.order[axis]!) };
  const { trustedOperand: trusts } = statement.op.proof;
  const reason = environment.literal(operandOf(statement, trusts));
  return {
    ...from,
    ...(typeof reason === "string" && trusts !== undefined && { trusted: reason }),
    shape: order.map((axis) => from.shape[axis]!),
    index: (lane) => from.index(order.map((_, axis) => lane[order.indexOf(axis)]!)),
  };
}

function viewOf(environment: Environment, statement: OpStatement, masksOf: ViewMasks): Symbolic {
  const [tensor, given] = statement.operands;
  const from = environment.value(tensor);
  if (from.kind !== "tensor" || !isList(given)) return UNKNOWN;
  const { param, order } = from;
  const tiles = given.map((index, i) => {
    const value = environment.value(index);
    return value.kind === "terms" ? value : unknownIndex(environment, index, i);
  });
  const isGrid = statement.op.lowering!.view === "grid";
  const shape = isGrid ? tiles.flatMap((each) => each.shape) : broadcastShape(...tiles.map((each) => each.shape));
  const first = tiles.map((_, i) => tiles.slice(0, i).reduce((axes, each) => axes + each.shape.length, 0));
  const claimed = claimsOf(statement.options["claimed"]);
  const masks: SymbolicView["masks"][number][] = [];
  order.forEach((axis, place) => {
    const bounds = masksOf({ index: given[place]!, dim: param.dims[axis]!, axis: place, claimed });
    masks[axis] = { ...bounds, claimed: claimed[place] === true };
  });
  return {
    kind: "view",
    param,
    shape,
    masks,
    index(lane) {
      const terms: Term[] = [];
      tiles.forEach((each, place) => {
        const own = isGrid ? lane.slice(first[place]!, first[place]! + each.shape.length) : lane;
        terms[order[place]!] = each.at(broadcastLane(each.shape, own));
      });
      return terms;
    },
  };
}

function unknownIndex(environment: Environment, index: Argument, place: number): TermTile {
  const value =
    "kind" in index && index.kind === "value" ? environment.unknown(index, `index ${index.id} ${place}`) : UNKNOWN;
  return value.kind === "terms" ? value : tile([], () => environment.launch.dim("an index that proofs do not follow"));
}

function claimsOf(claimed: Argument | undefined): readonly boolean[] {
  return isList(claimed) ? claimed.map((each) => isLiteral(each) && each.value === true) : [];
}

/** A descriptor that the kernel makes of a tensor with its own shape and strides. */
function describedBy(environment: Environment, statement: OpStatement): Symbolic {
  const [base, shape, strides, block] = statement.operands;
  const from = environment.value(base);
  if (from.kind !== "tensor" || shape !== undefined || strides !== undefined || !isList(block)) return UNKNOWN;
  const dims = block.map((dim) => environment.launch.term(dim));
  if (dims.some((dim) => dim === undefined)) return UNKNOWN;
  return { kind: "descriptor", param: from.param, order: from.order, block: dims as Term[] };
}
