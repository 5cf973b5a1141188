/**
 * Upper limits on the sizes of a launch: int32 addressing, which the wrapper checks, CUDA's limits on grids, and
 * Triton's on tiles. 2^31 is a symbol, which keeps coefficients small.
 */
import { compiledOps } from "../../analysis/dtype-bindings.js";
import {
  type KernelIR,
  paramsOf,
  type TensorParam,
  type Argument,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
} from "../../ir/nodes.js";
import { resultsOf, argumentsOf, bodiesOf, definitions, valuesIn, walkAll } from "../../ir/walk.js";
import {
  atLeast,
  atMost,
  below,
  number,
  product,
  sum,
  symbol,
  type Term,
  type IntegerSemantics,
} from "../../symbolic/term.js";
import type { Limits } from "../../types/limits.js";
import { Budget } from "../algebra/budget.js";
import { FactScopes } from "../model/fact-scopes.js";
import type { OpStep } from "../model/events.js";
import { type FactSet, isDefinedHere } from "../algebra/facts.js";
import { isPositive } from "../model/launch.js";
import { zip } from "../algebra/zip.js";
import type { SymbolicModel } from "../model/model.js";
import { LIMIT, provesNonNegative } from "../algebra/non-negativity.js";
import { ELEMENT_PREFIX } from "../model/input-elements.js";
import { polynomialOf } from "../algebra/interpret.js";
import {
  add,
  atom,
  constant,
  multiply,
  ONE,
  type Polynomial,
  single,
  subtract,
  times,
  type Monomial,
  UNIT,
  atLeastZero,
} from "../algebra/polynomial.js";
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
// Decides whether a value stays in int32. It replaces small monomials by numbers, and splits a minimum or a maximum
// into its operands.

export function fitsInt32(facts: FactSet, value: Term, { int32End }: Limits): boolean {
  const p = polynomialOf(facts, value);
  return isWithin(facts, p, "most", int32End) && isWithin(facts, p, "least", int32End);
}

/** Records that a value is in range, which bounds its quotients. */
export function recordInt32Range(facts: FactSet, value: Term): void {
  facts.add(atLeastZero(slack(polynomialOf(facts, value), "most")));
}

type End = "least" | "most";

function isWithin(facts: FactSet, p: Polynomial, end: End, int32End: number): boolean {
  const slacks = (value: Polynomial): readonly Polynomial[] => {
    const simplified = boundSmall(facts, value, end);
    return [simplified, ...(simplified === value ? [] : [value])].map((candidate) => slack(candidate, end));
  };
  const isProved = (value: Polynomial): boolean =>
    slacks(value).some((slack) => provesNonNegative(facts, slack, "products"));
  if (isProved(p)) return true;
  const branches = extremeBranches(facts, p);
  // Case splits cost far more, and most goals do not need one.
  if (
    (branches.length > 1 && branches.every(isProved)) ||
    slacks(p).some((slack) => provesNonNegative(facts, slack, "cases"))
  )
    return true;
  // Numeric bounds of a launch may limit the value below 2^31 although they are not related to its symbol.
  return provesNonNegative(facts, slack(p, end, constant(int32End)), "products");
}

/** The distance from an end of int32. */
function slack(p: Polynomial, end: End, limit: Polynomial = atom(LIMIT)): Polynomial {
  return end === "most" ? subtract(subtract(limit, ONE), p) : add(limit, p);
}

/** Polynomials of which one equals `p`: a minimum or maximum is replaced by each of its operands. */
function extremeBranches(facts: FactSet, p: Polynomial): readonly Polynomial[] {
  for (const { monomial, coefficient } of p.terms) {
    const definition = facts.definitionOf(monomial);
    const remainder = subtract(p, single(monomial, coefficient));
    if (definition?.kind === "extreme")
      return [definition.x, definition.y].flatMap((operand) =>
        extremeBranches(facts, add(remainder, operand, coefficient)),
      );
    const dividendOf = dividendOfProduct(facts, monomial);
    if (dividendOf) return extremeBranches(facts, add(remainder, dividendOf, coefficient));
  }
  return [p];
}

/** The dividend minus the remainder, for `divisor * quotient`, if the dividend contains a minimum or a maximum. */
function dividendOfProduct(facts: FactSet, monomial: Monomial): Polynomial | undefined {
  for (const name of monomial.degree > 1 ? monomial.atoms : []) {
    const definition = facts.definitions.get(name);
    if (definition?.kind !== "division" || definition.quotient !== name || !isDefinedHere(facts, definition)) continue;
    const { dividend, divisor, remainder } = definition;
    const isExtreme = dividend.monomials.some((term) => facts.definitionOf(term)?.kind === "extreme");
    if (isExtreme && multiply(divisor, atom(name)).key === single(monomial).key)
      return subtract(dividend, atom(remainder));
  }
  return undefined;
}

const SMALL_LIMIT = 2 ** 22;

/** Replaces monomials that are small for every shape, such as lanes, by their bounds. The result is a bound of `p`. */
function boundSmall(facts: FactSet, p: Polynomial, end: End): Polynomial {
  let result = p;
  for (const { monomial, coefficient } of p.terms) {
    if (monomial === UNIT) continue;
    const { min: least, max: most } = facts.interval(monomial);
    const bound = coefficient > 0 === (end === "most") ? most : least;
    const value = bound === undefined ? undefined : times(bound, coefficient);
    if (value === undefined || value > SMALL_LIMIT || value < -SMALL_LIMIT) continue;
    result = add(subtract(result, single(monomial, coefficient)), constant(value));
  }
  return result;
}

/** A lower bound of the symbol for 2^31, above every tile size and constexpr of a config. */
const limitLowerBound = (limits: Limits): number => limits.scaled(2 ** 23);

const limit = () => symbol(LIMIT);
const addressable = ({ int32Reach, int32End }: Limits) => sum(limit(), number(int32Reach - int32End));

export class Int32 {
  /** A separate budget, so that unbounded numbers in overflow proofs do not exhaust that of other properties. */
  readonly #budget = new Budget(32_000, 5_000);
  readonly #factScopes: FactScopes;

  constructor(model: SymbolicModel) {
    this.#factScopes = new FactScopes(model, this.#budget, limitFacts(model), (name, isGiven, value, inProgram) => [
      ...model.environment.factsOf(name, isGiven, value, inProgram),
      ...(name.startsWith(ELEMENT_PREFIX) ? [below(value, limit()), atLeast(sum(value, limit()), number(0))] : []),
    ]);
  }

  /** Starts another line. Facts that were computed with an exhausted budget are computed again. */
  begin(): void {
    if (this.#budget.isExhausted) this.#factScopes.forget();
    this.#budget.refill();
  }

  /** Records that the line stays unproved. */
  end(): void {
    this.#budget.chargeShared();
  }

  /** The facts at an event, for a symbolic lane. */
  onPath({ path, scope }: OpStep, lanes: readonly string[]): FactSet {
    return this.#factScopes.onPath(path, scope, lanes);
  }
}

/** Facts about the largest sizes. The symbol {@link LIMIT} is the end of int32. */
export function limitFacts({ ir, ir: { limits }, checked, launch, environment }: SymbolicModel): readonly Term[] {
  const addressed = new Set(checked.flatMap((each) => (each.kind === "reach" ? [each.param.name] : [])));
  const tensorLimits = (param: TensorParam): readonly Term[] => {
    // The launch does not check the sizes of an absent tensor.
    if (param.optional) return [];
    const dims = launch.tensorDims(param);
    const isAddressed = addressed.has(param.name);
    const elementLimit = isAddressed
      ? addressable(limits)
      : product(number(limits.maxOutput / limits.int32End), limit());
    // Elements of an output are distinct in memory. An input may have a stride of 0.
    const isDense = param.role !== "in" || (isAddressed && param.contiguous === true);
    const axes = isAddressed ? dims.map((dim) => atMost(dim, addressable(limits))) : [];
    // If no axis is empty, the last axes together have no more elements than the tensor.
    const isFilled = dims.every((dim) => isPositive(dim, launch.facts));
    const inner = isFilled ? dims.slice(1, -1).map((_, axis) => dims.slice(axis + 1)) : [];
    return [...axes, ...(isDense ? [dims, ...inner].map((each) => atMost(product(...each), elementLimit)) : [])];
  };
  const countLimits = checked.flatMap((each) => {
    const size = each.kind === "count" && typeof each.size !== "number" ? launch.term(each.size) : undefined;
    return size ? [atMost(size, addressable(limits))] : [];
  });
  const types = [...compiledOps(ir)].flatMap((statement) => resultsOf(statement).map(({ type }) => type));
  const tiles = new Set(types.flatMap((type) => (type.kind === "tile" ? environment.shape(type) : [])));
  return [
    atLeast(limit(), number(limitLowerBound(limits))),
    ...paramsOf(ir, "tensor").flatMap(tensorLimits),
    ...countLimits,
    ...zip(launch.grid, limits.maxGrid.slice(0, launch.grid.length)).map(([size, maximum], axis) =>
      axis === 0 ? below(size, limit()) : atMost(size, number(maximum)),
    ),
    ...[...tiles].map((size) => atMost(size, number(limits.maxNumel))),
    ...configLimits(ir),
    ...launch.facts.flatMap((fact) => inTermsOfLimit(fact, limits)),
  ];
}

/** Scales an author's large bound to 2^31: `x <= 2**30 - 5` implies `2 * x <= 2**31 - 10`. */
function inTermsOfLimit({ kind, operands }: Term, limits: Limits): readonly Term[] {
  if (kind !== "atMost") return [];
  const [x, bound] = operands;
  const [lowerBound, end] = [limitLowerBound(limits), limits.int32End];
  if (bound.kind !== "number" || bound.value < lowerBound / 2 || bound.value > end) return [];
  const factor = BigInt(end) / bound.value;
  const slack = BigInt(end) - factor * bound.value;
  const offset = slack < lowerBound ? slack : BigInt(lowerBound);
  return [atMost(product(number(factor), x), sum(limit(), number(-offset)))];
}

/** The smallest and the largest value among the configs. */
function configLimits({ tuning, params }: KernelIR): readonly Term[] {
  return params.flatMap((param) => {
    if (param.kind !== "constexpr" || param.from !== "config" || param.of !== "int") return [];
    const values = tuning.configs.map((config) => Number(config.values[param.name]));
    const constexpr = symbol(param.name);
    return [atLeast(constexpr, number(Math.min(...values))), atMost(constexpr, number(Math.max(...values)))];
  });
}

// Finds values that are only used as the whole offset of a pointer, through sums, products and lane permutations.
// Intermediate wrapping does not change the offset of an in-bounds lane: int32 arithmetic is modulo 2^32, and the
// wrapper rejects tensors beyond int32 addressing. A pointer that moves more than once adds offsets that are widened to
// 64 bits one by one. Their sum is exact where none is negative, because each is then at most the sum, which is in
// bounds. Otherwise each of them must be exact.

const MODULAR: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>(["sum", "difference", "product"]);

export function offsetsOnly(ir: KernelIR): (value: Value) => boolean {
  let analysis = cache.get(ir);
  if (analysis === undefined) cache.set(ir, (analysis = new OffsetAnalysis(ir)));
  return (value) => analysis.isOffsetOnly(value);
}

/** A cache, because the models of a kernel's configs share its IR. */
const cache = new WeakMap<KernelIR, OffsetAnalysis>();

class OffsetAnalysis {
  readonly #pointerParams: ReadonlySet<Argument>;
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #uses = new Map<Value, OpStatement[]>();
  readonly #otherUses = new Set<Value>();
  readonly #cache = new Map<Value, boolean>();
  /** True if no pointer that moves more than once moves back. */
  readonly #areForward: boolean;

  constructor(ir: KernelIR) {
    this.#pointerParams = new Set(
      ir.params.flatMap((param) => {
        if (param.kind === "tensor") return [param.pointer];
        return param.kind === "pointer" ? [param.value] : [];
      }),
    );
    this.#definitions = definitions(...bodiesOf(ir));
    const moves: OpStatement[] = [];
    walkAll(ir, (statement) => {
      this.#recordUses(statement);
      if (statement.kind === "op" && isMove(statement)) moves.push(statement);
    });
    for (const { body } of ir.functions) body.yields.forEach((argument) => this.#recordUse(argument, undefined));
    this.#areForward = this.#moveForward(
      ir,
      moves.filter((move) => this.#isRepeated(move)),
    );
  }

  isOffsetOnly(value: Value): boolean {
    let result = this.#cache.get(value);
    if (result !== undefined) return result;
    this.#cache.set(value, false);
    result = !this.#otherUses.has(value) && (this.#uses.get(value) ?? []).every((use) => this.#isOffsetIn(use));
    this.#cache.set(value, result);
    return result;
  }

  #recordUses(statement: Statement): void {
    if (statement.kind !== "op") {
      for (const argument of [...argumentsOf(statement), ...yieldsOf(statement)]) this.#recordUse(argument, undefined);
      return;
    }
    for (const operand of statement.operands) this.#recordUse(operand, statement);
    for (const option of Object.values(statement.options)) this.#recordUse(option, undefined);
  }

  #recordUse(argument: Argument | undefined, op: OpStatement | undefined): void {
    if (argument === undefined) return;
    if (op && isValue(argument)) this.#uses.set(argument, [...(this.#uses.get(argument) ?? []), op]);
    else for (const value of valuesIn(argument)) this.#otherUses.add(value);
  }

  #isOffsetIn(statement: OpStatement): boolean {
    const { op, results } = statement;
    const [result] = results;
    const isModular = MODULAR.has(op.facts.integer) || op.proof.lane !== undefined;
    if (!result || !isModular) return false;
    if (result.type.kind === "pointer") return this.#areForward || !this.#isRepeated(statement);
    return result.type.kind === "tile" && this.isOffsetOnly(result);
  }

  /** True if the op moves a pointer that other ops move, too. */
  #isRepeated({ operands, results: [result] }: OpStatement): boolean {
    const isFirst = operands.some((operand) => operand !== undefined && this.#pointerParams.has(operand));
    return !isFirst || (result !== undefined && this.#isMovedAgain(result));
  }

  #isMovedAgain(pointer: Value): boolean {
    if (this.#otherUses.has(pointer)) return true;
    return (this.#uses.get(pointer) ?? []).some((use) => {
      const [next] = use.results;
      return next?.type.kind === "pointer" && (isMove(use) || this.#isMovedAgain(next));
    });
  }

  /** A loaded number counts as one that is not negative: no access is in bounds of which an index is negative. */
  #moveForward(ir: KernelIR, moves: readonly OpStatement[]): boolean {
    if (moves.length === 0) return true;
    const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
    const isForward = (operand: Argument | undefined): boolean => {
      if (operand === undefined || isPointer(operand) || isNonNegative(operand)) return true;
      const statement = isValue(operand) ? this.#definitions.get(operand) : undefined;
      if (statement?.kind !== "op") return false;
      const { op, operands } = statement;
      if (op.effect !== "pure") return true;
      const keepsSign = op.facts.integer === "sum" || op.facts.integer === "product" || op.proof.lane !== undefined;
      return keepsSign && operands.every(isForward);
    };
    return moves.every(({ op, operands }) => op.facts.integer === "sum" && operands.every(isForward));
  }
}

function yieldsOf(statement: Statement): readonly Argument[] {
  if (statement.kind === "if") return [...statement.then.yields, ...statement.otherwise.yields];
  return statement.kind === "while" ? statement.condition.yields : [];
}

const isPointer = (argument: Argument): boolean => isValue(argument) && argument.type.kind === "pointer";

const isMove = ({ op, results: [result] }: OpStatement): boolean =>
  result?.type.kind === "pointer" && MODULAR.has(op.facts.integer);
