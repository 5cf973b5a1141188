/**
 * Estimates the cost of a test case before it runs: all programs of the grid, with their tiles and loop iterations. The
 * first and the last program represent all others.
 */
import type { TestCase, Traffic } from "../compiled/compiled-kernel.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  isFunction,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
  type WhileStatement,
} from "../ir/nodes.js";
import { assignedIn, callBindings } from "../ir/walk.js";
import { sizeOf } from "../numerics/array.js";
import { dtypeTable } from "../types/dtype.js";
import type { Constant } from "../values/runtime-values.js";
import { Bindings, launchOf } from "./bindings.js";

/** Estimated work of a kernel in one test case. */
export function estimateWork(ir: KernelIR, testCase: TestCase): Traffic {
  const bindings = new Bindings(ir, launchOf(ir, testCase));
  const grid = bindings.host(ir.grid).map(Number);
  const programs = sizeOf(grid);
  // The iterations of a causal loop grow towards one end of the grid. Which end depends on the kernel.
  const costAt = (programId: readonly number[]): Traffic => new ProgramCost(ir, bindings, grid, programId).cost();
  const [first, last] = [costAt(grid.map(() => 0)), costAt(grid)];
  return { ...scaleCost(maxCost(first, last), programs), programs };
}

/**
 * The cost of one program, by constant propagation. Scalars computed from sizes, constexprs and program ids are
 * constants; loaded scalars are unknown. Declared ranges and partitions of tensors give estimates of loaded scalars.
 */
class ProgramCost {
  readonly #constants = new Map<Value | Variable, Constant | undefined>();
  /** Estimates of unknown values. They bound loops, but never decide a branch. */
  readonly #estimates = new Map<Value | Variable, number | undefined>();
  readonly #views = new Map<Value, { readonly tensor: TensorParam; readonly indices: readonly Argument[] }>();
  readonly #programId: readonly number[];
  readonly #maxSize: number;
  /** Iterations of while loops evaluated so far. */
  #whileIterations = 0;

  constructor(
    readonly ir: KernelIR,
    readonly bindings: Bindings,
    readonly grid: readonly number[],
    programId: readonly number[],
  ) {
    this.#programId = programId.map((index) => Math.max(0, index - 1));
    this.#maxSize = Math.max(1, ...Object.values(bindings.sizes), ...dimsOf(bindings));
    for (const param of ir.params)
      if (param.kind === "size" || param.kind === "scalar" || param.kind === "constexpr" || param.kind === "device")
        this.#constants.set(param.value, bindings.constant(param.value));
  }

  cost(): Traffic {
    return this.#block(this.ir.body);
  }

  #block({ statements }: Block): Traffic {
    let total: Traffic = ZERO_COST;
    for (const statement of statements) total = addCosts(total, this.#statement(statement));
    return total;
  }

  #statement(statement: Statement): Traffic {
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
      case "let":
        this.#assign(statement.variable, statement.initial);
        return ONE_OP;
      case "write":
        this.#assign(statement.variable, statement.value);
        return ONE_OP;
      case "read":
        this.#constants.set(statement.result, this.#constants.get(statement.variable));
        this.#estimates.set(statement.result, this.#estimates.get(statement.variable));
        return ZERO_COST;
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      case "if": {
        const condition = this.#constant(statement.condition);
        const arms = [statement.then, statement.otherwise];
        const taken = condition === undefined ? arms : [condition ? statement.then : statement.otherwise];
        const costs = taken.map((arm) => this.#block(arm));
        statement.results.forEach((result, i) =>
          this.#join(
            result,
            taken.map(({ yields }) => yields[i]),
          ),
        );
        if (condition === undefined) this.#invalidate(...arms);
        return addCosts(ONE_OP, costs.reduce(maxCost));
      }
      case "exit":
        return ZERO_COST;
      default:
        return statement satisfies never;
    }
  }

  /** The result of a branch: the value of the arm that runs, or the largest estimate of several arms. */
  #join(result: Value, yields: readonly (Argument | undefined)[]): void {
    const [only, ...others] = yields;
    this.#constants.set(result, others.length === 0 ? this.#constant(only) : undefined);
    const estimates = yields.map((each) => this.#number(each) ?? this.#estimate(each));
    const known = estimates.filter((each) => each !== undefined);
    this.#estimates.set(result, known.length === estimates.length ? Math.max(...known) : undefined);
  }

  /**
   * Evaluates the loop if its condition is constant. Otherwise assumes the declared number of iterations, or as many as
   * the operands of its comparison are apart at first, or as the longest size.
   */
  #while({ condition, body, options: { most } }: WhileStatement): Traffic {
    let total: Traffic = ZERO_COST;
    let distance = Infinity;
    while (this.#whileIterations++ < MAX_WHILE_ITERATIONS) {
      total = addCosts(total, this.#block(condition));
      if (distance === Infinity) distance = this.#distance(condition);
      const conditionValue = condition.yields[0] && this.#constant(condition.yields[0]);
      if (conditionValue === undefined) break;
      if (!conditionValue) return total;
      total = addCosts(total, this.#block(body));
    }
    const iterationCost = addCosts(this.#block(condition), this.#block(body));
    this.#invalidate(body);
    const declared = this.#number(most);
    if (declared !== undefined) return scaleCost(iterationCost, Math.min(declared, distance));
    return { ...scaleCost(iterationCost, Math.min(distance, this.#maxSize)), guessed: true };
  }

  /** How far apart the operands of a loop condition's comparisons are: of a conjunction, the nearest. */
  #distance({ statements }: Block): number {
    const distances = statements.map((statement) => {
      if (statement.kind !== "op" || !COMPARISONS.has(statement.op.name)) return Infinity;
      const [x, y] = statement.operands.map((operand) => this.#number(operand) ?? this.#estimate(operand));
      return x === undefined || y === undefined ? Infinity : Math.abs(x - y) + 1;
    });
    return Math.min(Infinity, ...distances);
  }

  /** Invalidates the variables that these blocks assign. */
  #invalidate(...blocks: readonly Block[]): void {
    for (const variable of blocks.flatMap(assignedIn)) {
      this.#constants.set(variable, undefined);
      this.#estimates.set(variable, undefined);
    }
  }

  #assign(variable: Variable, value: Argument): void {
    this.#constants.set(variable, this.#constant(value));
    this.#estimates.set(variable, this.#estimate(value));
  }

  /** Represents all iterations by the middle one, also if the bounds of an inner loop depend on the index. */
  #for({ index, start, end, step, unrolled, options: { most }, body }: ForStatement): Traffic {
    const isKnown = [start, end].every((bound) => this.#number(bound) !== undefined);
    const by = this.#number(step);
    const [from, to] = this.#bounds(start, end, (by ?? 1) < 0);
    const stride = Math.abs(by ?? 1) || 1;
    const isEstimated = from !== undefined && to !== undefined;
    const estimatedTrips = isEstimated ? Math.ceil(Math.abs(to - from) / stride) : Infinity;
    const declared = this.#number(most);
    const judged = (cost: Traffic): Traffic => (isKnown || declared !== undefined ? cost : { ...cost, guessed: true });
    const longest = declared ?? Math.ceil(this.#maxSize / stride);
    const tripCount = isKnown ? estimatedTrips : Math.min(estimatedTrips, longest);
    const isEmpty = tripCount === 0 || (isEstimated && (to - from) * (by ?? 1) < 0);
    if (isEmpty) return judged(ONE_OP);
    const middle = isEstimated ? from + (by ?? 1) * Math.floor((tripCount - 1) / 2) : undefined;
    this.#constants.set(index, isKnown ? middle : undefined);
    this.#estimates.set(index, middle);
    const loopCost = (): Traffic => {
      const cost = scaleCost(addCosts(ONE_OP, this.#block(body)), tripCount);
      if (tripCount > 1) this.#invalidate(body);
      return judged(cost);
    };
    if (!unrolled || !isKnown || middle === undefined || index.type.kind !== "constexpr") return loopCost();
    return this.bindings.withLoopIndex(index.type.text, middle, loopCost);
  }

  /** Loops count up from 0 or down to it, unless more is known. */
  #bounds(start: Argument, end: Argument, isReversed: boolean): readonly [number | undefined, number | undefined] {
    const [first, last] = [start, end].map((bound) => this.#number(bound) ?? this.#estimate(bound));
    if (isReversed) return [first, last ?? (first && 0)];
    return [first ?? (last && 0), last];
  }

  #op(statement: OpStatement): Traffic {
    const { op, operands, results } = statement;
    const callee = operands[0];
    if (isFunction(callee)) {
      for (const [param, argument] of callBindings(statement)) this.#constants.set(param, this.#constant(argument));
      const calleeCost = callBindings(statement).length > 0 ? this.#block(callee.function.body) : ZERO_COST;
      const { yields } = callee.function.body;
      results.forEach((result, i) => this.#constants.set(result, this.#constant(yields[i])));
      return addCosts(calleeCost, { ...ONE_OP, lanes: this.#lanes(statement) });
    }
    const [result] = results;
    if (result) {
      const [first, indices] = operands;
      const tensor = result.type.kind === "view" && isValue(first) ? this.#tensor(first) : undefined;
      if (tensor) this.#views.set(result, { tensor, indices: indices as readonly Argument[] });
      const constant = this.#evaluateOp(statement, (argument) => this.#constant(argument));
      this.#constants.set(result, constant);
      this.#estimates.set(result, constant === undefined ? this.#expectedValue(statement) : undefined);
    }
    const ops = op.spelling.form === "call" || op.evaluate ? 1 : 0;
    return {
      ...ZERO_COST,
      ops,
      lanes: this.#lanes(statement),
      ...this.#memoryTraffic(statement),
      ...this.#products(statement),
    };
  }

  /** The memory traffic of an access: its loaded or stored tile. */
  #memoryTraffic({ op, operands, results }: OpStatement): Partial<Traffic> {
    if (op.effect !== "read" && op.effect !== "write" && op.effect !== "atomic") return {};
    const tile = results[0] ?? operands.find((operand) => isValue(operand) && operand.type.kind === "tile");
    if (!tile || !isValue(tile) || tile.type.kind !== "tile") return {};
    const widest = sizeOf(this.#shape(tile));
    const bits = dtypeTable[this.bindings.dtype(tile.type.dtype)].bits;
    return { bytes: (widest * Math.max(8, bits)) / 8, widest };
  }

  #products({ op, operands, results }: OpStatement): Partial<Traffic> {
    if (!op.facts.contracts || !results[0]) return {};
    const sums = sizeOf(this.#shape(results[0]));
    const [first] = operands.filter(isValue);
    return { products: sums * ((first && this.#shape(first).at(-1)) ?? 1), sums };
  }

  #evaluateOp(
    { op, operands, results }: OpStatement,
    valueOf: (argument: Argument) => Constant | undefined,
  ): Constant | undefined {
    const axis = this.#number(operands[0]);
    if (op.facts.queries === "program") return this.#programId[axis ?? 0] ?? 0;
    if (op.facts.queries === "grid") return this.grid[axis ?? 0] ?? 1;
    const values = operands.flatMap((operand) => (operand === undefined ? [] : [valueOf(operand)]));
    if (op.name === "full") return results[0] && this.#shape(results[0]).length === 0 ? values[1] : undefined;
    if (op.facts.answer) return op.facts.answer(this.bindings.gpu, ...values.filter((value) => value !== undefined));
    if (!op.fold) return op.facts.isIdentity ? values[0] : undefined;
    return values.every((value) => value !== undefined) ? op.fold(...values) : undefined;
  }

  /** The result of an op for estimated operands. For a load, an estimate from the tensor's declaration. */
  #expectedValue(statement: OpStatement): number | undefined {
    const [first] = statement.operands;
    const view = statement.op.effect === "read" && isValue(first) ? this.#views.get(first) : undefined;
    if (view) return this.#expectedElement(view.tensor, view.indices);
    const value = this.#evaluateOp(statement, (each) => this.#constant(each) ?? this.#estimate(each));
    if (value !== undefined) return typeof value === "string" ? undefined : Number(value);
    // One operand is enough of an estimate of a bound such as tl.minimum(length, end).
    const bounds = BOUNDS.has(statement.op.name) ? statement.operands : [];
    return bounds.map((each) => this.#number(each) ?? this.#estimate(each)).find((each) => each !== undefined);
  }

  /** Assumes rows of equal length in a partition, and the largest allowed value for other integers. */
  #expectedElement({ partition, range, dims }: TensorParam, indices: readonly Argument[]): number | undefined {
    if (partition) {
      const [index, count] = [this.#number(indices.at(-1)), this.#number(dims.at(-1))];
      const total = this.#number(partition.total);
      if (index === undefined || count === undefined || total === undefined) return undefined;
      const [precedingRows, rows] = partition.holds === "offsets" ? [index, count - 1] : [index + 1, count];
      return Math.round((total * precedingRows) / Math.max(1, rows));
    }
    return range && Math.max(0, Number(this.bindings.host(range)[1]) - 1);
  }

  #tensor(value: Value): TensorParam | undefined {
    return this.ir.params.find((param): param is TensorParam => param.kind === "tensor" && param.value === value);
  }

  #estimate(argument: Argument | undefined): number | undefined {
    return isValue(argument) ? this.#estimates.get(argument) : undefined;
  }

  /** Lanes of the largest tile operand or result. For a dot, its multiplications count too. */
  #lanes({ op, operands, results }: OpStatement): number {
    const shapes = [...results, ...operands.filter(isValue)].map((value) => this.#shape(value));
    const largest = Math.max(1, ...shapes.map(sizeOf));
    if (!op.facts.contracts) return largest;
    const inner = shapes[results.length]?.at(-1) ?? 1;
    return Math.ceil((sizeOf(shapes[0] ?? []) * inner) / PRODUCTS_PER_LANE_OP);
  }

  #shape({ type }: Value): readonly number[] {
    return "shape" in type && Array.isArray(type.shape) ? type.shape.map((dim) => this.bindings.dim(dim)) : [];
  }

  #constant(argument: Argument | undefined): Constant | undefined {
    if (isValue(argument)) return this.#constants.get(argument);
    return isLiteral(argument) ? argument.value : undefined;
  }

  /** Undefined for NaN too, the quotient of a division by zero: it would make the whole cost NaN. */
  #number(argument: Argument | undefined): number | undefined {
    const value = this.#constant(argument);
    return value === undefined || typeof value === "string" || Number.isNaN(value) ? undefined : Number(value);
  }
}

/** Limit on all while-loop iterations of a program. Beyond it, the cost is a guess. */
const MAX_WHILE_ITERATIONS = 1000;

/** Ops that compare a state with the bound of a loop. */
const COMPARISONS: ReadonlySet<string> = new Set(["lt", "le", "gt", "ge", "ne"]);
/** Ops that are a bound of a loop where one of their operands is. */
const BOUNDS: ReadonlySet<string> = new Set(["minimum", "maximum"]);

/** Multiplications in a dot that cost as much as one op on a lane. */
const PRODUCTS_PER_LANE_OP = 4;

const ZERO_COST: Traffic = { ops: 0, lanes: 0, programs: 0, bytes: 0, products: 0, widest: 0, sums: 0 };
const ONE_OP: Traffic = { ...ZERO_COST, ops: 1 };

const guessedFlag = (...costs: readonly Traffic[]) =>
  costs.some(({ guessed }) => guessed) ? ({ guessed: true } as const) : {};

/** The cost of two statements in sequence. */
const addCosts = (a: Traffic, b: Traffic): Traffic => combineCosts(a, b, (x, y) => x + y);
/** The cost of two alternatives: the maximum of each component. */
const maxCost = (a: Traffic, b: Traffic): Traffic => combineCosts(a, b, Math.max);

function combineCosts(a: Traffic, b: Traffic, combine: (x: number, y: number) => number): Traffic {
  return {
    ops: combine(a.ops, b.ops),
    lanes: combine(a.lanes, b.lanes),
    programs: combine(a.programs, b.programs),
    bytes: combine(a.bytes, b.bytes),
    products: combine(a.products, b.products),
    widest: Math.max(a.widest, b.widest),
    sums: Math.max(a.sums, b.sums),
    ...guessedFlag(a, b),
  };
}

function scaleCost(cost: Traffic, count: number): Traffic {
  const { ops, lanes, bytes, products } = cost;
  return { ...cost, ops: ops * count, lanes: lanes * count, bytes: bytes * count, products: products * count };
}

/** Integer constexprs, which bound loops as sizes do. */
function dimsOf({ constexprs }: Bindings): readonly number[] {
  return Object.values(constexprs).filter((value): value is number => typeof value === "number");
}
