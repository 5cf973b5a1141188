/** The statements of a kernel that round floats, with their locations. */
import type { Location } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  type FunctionIR,
  isFunction,
  isLiteral,
  type KernelIR,
  operandOf,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WriteStatement,
} from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
import { argumentsOf, assignedIn, blocksOf, bodiesOf, definitions, valuesIn, walk, walkUses } from "../ir/walk.js";
import { bitsOf, isFloat } from "../numerics/numeric.js";
import { type Elem, members } from "../types/dtype.js";
import type { Type } from "../types/types.js";

/** A statement that rounds to `elem`. */
export interface RoundingSite {
  readonly elem: Elem;
  /**
   * `value`: each result is rounded once. `sum`: an op rounds at each addition. `carried`: each iteration of a loop
   * rounds a variable again. `tensor`: an operator's kernel hands a tensor to another.
   */
  readonly kind: "value" | "sum" | "carried" | "tensor";
  /** The op as authors call it, or the name of the tensor. */
  readonly subject: string;
  /** The operand of a cast: its dtype, or a number. */
  readonly from?: Elem | number;
  /** True if the results are only stored, so that they are rounded for the last time. */
  readonly isLast?: boolean;
  readonly at: Location | undefined;
  /** Undefined for a tensor. */
  readonly statement?: Statement;
}

/** All sites of a kernel, in program order, helper functions first. */
export function roundingSites(ir: KernelIR): readonly RoundingSite[] {
  const isOnlyStored = storedOnlyPredicate(usesOf(ir));
  return bodiesOf(ir).flatMap((body) => {
    const sites: RoundingSite[] = [];
    const carried = carriedWrites(body);
    walk(body, (statement) => {
      if (statement.kind === "op") sites.push(...sitesOf(statement, isOnlyStored));
      if (statement.kind === "write" && carried.has(statement))
        sites.push({ elem: carried.get(statement)!, kind: "carried", subject: "", at: statement.location, statement });
    });
    return sites;
  });
}

function sitesOf(statement: OpStatement, isOnlyStored: (value: Value) => boolean): readonly RoundingSite[] {
  const { op, results, location: at } = statement;
  const isLast = op.effect !== "atomic" && results.every(isOnlyStored);
  const kind = isSum(statement) ? "sum" : "value";
  const elems = kind === "sum" || isRounding(op) ? results.flatMap(({ type }) => narrowElem(type) ?? []) : [];
  const from = op.name === "to" || op.name === "cast" || op.name === "full" ? sourceOf(statement) : undefined;
  if (op.name === "full" && typeof from === "number")
    return results.flatMap(({ type }) => {
      const elem = narrowElem(type);
      return elem === undefined ? [] : [{ elem, kind, subject: "tl.full", from, isLast: true, at, statement }];
    });
  return elems.map((elem) => ({
    elem,
    kind,
    subject: op.calledAs ?? `tl.${op.name}`,
    ...(from !== undefined && { from }),
    isLast,
    at,
    statement,
  }));
}

/** The operand that a cast or `tl.full` rounds: a dtype or a number. */
function sourceOf(statement: OpStatement): Elem | number | undefined {
  const source = operandOf(statement, statement.op.name === "full" ? "value" : "x");
  if (isLiteral(source)) return typeof source.value === "number" ? source.value : undefined;
  return source && "type" in source && source.type.kind === "tile" ? source.type.dtype : undefined;
}

/** True if an op rounds its floating-point result. Other ops move or select elements. */
export const isRounding = ({ facts, effect }: Op): boolean =>
  facts.rounds ?? (facts.lanewise === true || facts.contracts === true || effect === "atomic");

/** True if an op adds up lanes in the dtype of its result, rounding each partial sum. */
function isSum({ op, operands }: OpStatement): boolean {
  const { foldSemantics } = op.proof;
  if (!foldSemantics) return false;
  if (operands.some((operand) => isFunction(operand) && roundsInside(operand.function))) return true;
  return isRounding(op) || op.name === "softmax";
}

/** True if a statement of a helper function rounds. */
function roundsInside({ body }: FunctionIR): boolean {
  let isFound = false;
  walk(body, (statement) => (isFound ||= statement.kind === "op" && roundsResult(statement)));
  return isFound;
}

const roundsResult = ({ op, operands, results }: OpStatement): boolean =>
  operands.some((operand) => isFunction(operand) && roundsInside(operand.function)) ||
  (isRounding(op) && results.some(({ type }) => narrowElem(type) !== undefined));

/** The element type, if a member is a float narrower than float64. */
function narrowElem(type: Type): Elem | undefined {
  if (type.kind !== "tile") return undefined;
  return members(type.dtype).some((name) => isFloat(name) && bitsOf(name) < 64) ? type.dtype : undefined;
}

/**
 * The writes of loops that round what the previous iteration wrote to the same variable, with its element type. A
 * running maximum is not among them.
 */
function carriedWrites(body: Block): ReadonlyMap<WriteStatement, Elem> {
  const found = new Map<WriteStatement, Elem>();
  const definedBy = definitions(body);
  walk(body, (loop) => {
    if (loop.kind !== "for" && loop.kind !== "while") return;
    for (const variable of blocksOf(loop).flatMap(assignedIn)) {
      const elem = narrowElem(variable.type);
      if (elem === undefined) continue;
      for (const block of blocksOf(loop))
        walk(block, (statement) => {
          if (statement.kind === "write" && statement.variable === variable && isRecurrence(statement, definedBy))
            found.set(statement, elem);
        });
    }
  });
  return found;
}

/** True if the written value depends on the variable itself, and is rounded on the way. */
function isRecurrence({ variable, value }: WriteStatement, definedBy: ReadonlyMap<Value, Statement>): boolean {
  const visited = new Set<string>();
  const reaches = (argument: Argument, isRounded: boolean): boolean =>
    valuesIn(argument).some((operand) => {
      const key = `${operand.id} ${isRounded}`;
      if (narrowElem(operand.type) === undefined || visited.has(key)) return false;
      visited.add(key);
      return reachesFrom(definedBy.get(operand), isRounded, variable, reaches);
    });
  return reaches(value, false);
}

function reachesFrom(
  statement: Statement | undefined,
  isRounded: boolean,
  variable: Variable,
  reaches: (argument: Argument, isRounded: boolean) => boolean,
): boolean {
  if (statement?.kind === "read") return isRounded && statement.variable === variable;
  if (statement?.kind === "op")
    return argumentsOf(statement).some((argument) => reaches(argument, isRounded || roundsResult(statement)));
  if (statement?.kind !== "if") return false;
  return blocksOf(statement).some(({ yields }) => yields.some((argument) => reaches(argument, isRounded)));
}

type UsesOfValue = ReadonlyMap<Value, readonly (OpStatement | "kept")[]>;

/** The ops that use each value, or `kept` for uses in a variable, a branch or a helper function. */
function usesOf(ir: KernelIR): UsesOfValue {
  const uses = new Map<Value, (OpStatement | "kept")[]>();
  const addUse = (value: Value, user: OpStatement | "kept"): void => {
    const users = uses.get(value);
    if (users) users.push(user);
    else uses.set(value, [user]);
  };
  for (const body of bodiesOf(ir)) walkUses(body, (value, user) => addUse(value, user?.kind === "op" ? user : "kept"));
  return uses;
}

/**
 * Returns a predicate that is true for values whose only uses are stores, so that they are rounded for the last time.
 */
function storedOnlyPredicate(uses: UsesOfValue): (value: Value) => boolean {
  // A cache, because values share users. Without it, each path through the program would be visited.
  const cache = new Map<Value, boolean>();
  const isStored = (user: OpStatement | "kept"): boolean => {
    if (user === "kept") return false;
    if (user.op.effect === "write") return true;
    return !isRounding(user.op) && user.op.effect === "pure" && user.results.every(isOnlyStored);
  };
  const isOnlyStored = (value: Value): boolean => {
    const cached = cache.get(value);
    if (cached !== undefined) return cached;
    const isStoredOnly = (uses.get(value) ?? []).every(isStored);
    cache.set(value, isStoredOnly);
    return isStoredOnly;
  };
  return isOnlyStored;
}
