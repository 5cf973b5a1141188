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
import { bitsOf, isFloat } from "../numerics/numeric-int.js";
import { type Elem, members } from "../types/dtype.js";
import type { Type } from "../types/types.js";
import { isCallNode, reachableNodes, torchOperands, type TorchNode } from "../torch/node.js";

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
const isRounding = ({ facts, effect }: Op): boolean =>
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

// Differences of prefix sums, such as a suffix sum that is computed as the total less the prefix sum. Small elements
// behind large ones cancel, so that none of their digits remain.

/** A sum of elements that a value contains, and its sign. */
type Term = "+total" | "-total" | "+prefix" | "-prefix";

/** The first difference of prefix sums, or of a sum and a prefix sum, that the reference does not compute too. */
export function prefixDifference(
  kernels: readonly KernelIR[],
  { reference }: Pick<KernelIR, "reference">,
): { readonly prefixDifference?: OpStatement } {
  if (reference?.kind !== "recorded" || subtractsPrefix(reference.outputs)) return {};
  const [first] = kernels.flatMap(bodiesOf).flatMap(differencesIn);
  return first ? { prefixDifference: first } : {};
}

function differencesIn(body: Block): readonly OpStatement[] {
  const termsOf = termsIn(body);
  const differences: OpStatement[] = [];
  walk(body, (statement) => {
    if (statement.kind !== "op" || (statement.op.name !== "sub" && statement.op.name !== "add")) return;
    const isNew = !argumentsOf(statement).some((argument) => isDifference(termsOf(argument)));
    if (isNew && statement.results.some((value) => isDifference(termsOf(value)))) differences.push(statement);
  });
  return differences;
}

const isDifference = (terms: ReadonlySet<Term>): boolean =>
  (terms.has("+prefix") && (terms.has("-prefix") || terms.has("-total"))) ||
  (terms.has("-prefix") && terms.has("+total"));

const OPPOSITE: Readonly<Record<Term, Term>> = {
  "+total": "-total",
  "-total": "+total",
  "+prefix": "-prefix",
  "-prefix": "+prefix",
};

const negated = (terms: ReadonlySet<Term>): ReadonlySet<Term> => new Set([...terms].map((term) => OPPOSITE[term]));

/** The sums of floats that each value of a block contains. */
function termsIn(block: Block): (argument: Argument) => ReadonlySet<Term> {
  const definedBy = definitions(block);
  const assignments = new Map<unknown, Argument[]>();
  walk(block, (statement) => {
    if (statement.kind !== "let" && statement.kind !== "write") return;
    const values = assignments.get(statement.variable) ?? [];
    assignments.set(statement.variable, [...values, statement.kind === "let" ? statement.initial : statement.value]);
  });
  const cache = new Map<Value, ReadonlySet<Term>>();
  const union = (all: readonly Argument[]): ReadonlySet<Term> => new Set(all.flatMap((each) => [...termsOf(each)]));
  const termsOf = (argument: Argument): ReadonlySet<Term> =>
    new Set(valuesIn(argument).flatMap((value) => [...termsOfValue(value)]));
  const termsOfValue = (value: Value): ReadonlySet<Term> => {
    const cached = cache.get(value);
    if (cached) return cached;
    // A loop-carried variable contains itself.
    cache.set(value, new Set());
    const terms = isFloatTile(value) ? compute(value) : new Set<Term>();
    cache.set(value, terms);
    return terms;
  };
  const compute = (value: Value): ReadonlySet<Term> => {
    const statement = definedBy.get(value);
    if (statement?.kind === "read") return union(assignments.get(statement.variable) ?? []);
    if (statement?.kind === "if") {
      const index = statement.results.indexOf(value);
      return union([statement.then, statement.otherwise].flatMap(({ yields }) => yields[index] ?? []));
    }
    if (statement?.kind !== "op") return new Set();
    const { op } = statement;
    const form = sumForm(statement);
    if (form) return new Set([form === "scan" ? "+prefix" : "+total"]);
    const [first = [], second = []] = argumentsOf(statement);
    if (op.name === "sub") return new Set([...termsOf(first), ...negated(termsOf(second))]);
    if (op.name === "neg") return negated(termsOf(first));
    const keepsElements = op.effect === "pure" && !op.proof.foldSemantics && !isRounding(op);
    return op.name === "add" || op.name === "to" || op.name === "cast" || keepsElements
      ? union(argumentsOf(statement))
      : new Set();
  };
  return termsOf;
}

const isFloatTile = ({ type }: Value): boolean => type.kind === "tile" && members(type.dtype).some(isFloat);

/** The form of a fold that adds elements. */
function sumForm({ op, operands }: OpStatement): "scan" | "reduction" | undefined {
  const { foldSemantics: fold } = op.proof;
  if (!fold) return undefined;
  const adds = operands.some((operand) => operand && isFunction(operand) && isAddition(operand.function.body));
  if (fold.adds !== true && !adds) return undefined;
  return fold.form === "scan" ? "scan" : "reduction";
}

const isAddition = ({ statements, yields }: Block): boolean =>
  statements.length === 1 &&
  statements.every(
    (statement) => statement.kind === "op" && statement.op.name === "add" && yields.includes(statement.results[0]!),
  );

/** True if a reference subtracts something that it computes from a prefix sum. */
const subtractsPrefix = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some(
    (node) =>
      isCallNode(node) &&
      /(^|\.)r?sub(tract)?_?$/.test(node.name) &&
      [...reachableNodes(torchOperands(node))].some((each) => isCallNode(each) && /(^|\.)cumsum$/.test(each.name)),
  );
