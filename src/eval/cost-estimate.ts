/**
 * What a case costs, estimated before it runs: every program of the grid, with its blocks and the iterations of its
 * loops. The program at the start of the grid and the one at its end stand for all of them.
 */
import type { TestCase, Traffic } from "../compiled/compiled-kernel.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  isFunction,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type TensorParam,
  type Value,
  type Variable,
  type WhileStatement,
} from "../ir/nodes.js";
import { assignedIn, handedOver } from "../ir/walk.js";
import { dtypeTable } from "../types/dtype.js";
import type { Constant } from "../values/runtime-values.js";
import { Bindings } from "./bindings.js";
import { launchOf } from "./case-launch.js";

/** The work of one case of a kernel. */
export function estimateWork(ir: KernelIR, at: TestCase): Traffic {
  const bindings = new Bindings(ir, launchOf(ir, at));
  const grid = bindings.host(ir.grid).map(Number);
  const programs = product(grid);
  // A causal loop is shortest at one end of the grid; at which one, the kernel decides.
  const [first, last] = [grid.map(() => 0), grid].map((place) => new Program(ir, bindings, grid, place).cost());
  const [a, b] = [first!, last!];
  return { ...times(greater(a, b), programs), programs };
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);

/**
 * One program: scalars that follow from sizes, constexprs and the program's place are known, loaded ones are not. What is
 * declared of a tensor's elements makes some of these likely.
 */
class Program {
  readonly #known = new Map<Value | Variable, Constant | undefined>();
  /** Of what is not known, what it may be: it bounds loops, and decides no branch. */
  readonly #likely = new Map<Value | Variable, number | undefined>();
  readonly #views = new Map<Value, { readonly tensor: TensorParam; readonly indices: readonly Argument[] }>();
  readonly #place: readonly number[];
  readonly #longest: number;
  /** Turns of while loops that were followed. */
  #turns = 0;

  constructor(
    readonly ir: KernelIR,
    readonly bindings: Bindings,
    readonly grid: readonly number[],
    place: readonly number[],
  ) {
    this.#place = place.map((index) => Math.max(0, index - 1));
    this.#longest = Math.max(1, ...Object.values(bindings.sizes), ...dimsOf(bindings));
    for (const param of ir.params)
      if (param.kind === "size" || param.kind === "scalar" || param.kind === "constexpr" || param.kind === "device")
        this.#known.set(param.value, bindings.constant(param.value));
  }

  cost(): Traffic {
    return this.#block(this.ir.body);
  }

  #block({ statements }: Block): Traffic {
    let total: Traffic = NOTHING;
    for (const statement of statements) total = bothWorks(total, this.#statement(statement));
    return total;
  }

  #statement(statement: Statement): Traffic {
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
      case "let":
        this.#take(statement.variable, statement.initial);
        return ONE;
      case "write":
        this.#take(statement.variable, statement.value);
        return ONE;
      case "read":
        this.#known.set(statement.result, this.#known.get(statement.variable));
        this.#likely.set(statement.result, this.#likely.get(statement.variable));
        return NOTHING;
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      case "if": {
        const condition = this.#constant(statement.condition);
        if (condition !== undefined)
          return bothWorks(ONE, this.#block(condition ? statement.then : statement.otherwise));
        const [yes, no] = [this.#block(statement.then), this.#block(statement.otherwise)];
        this.#forget(statement.then, statement.otherwise);
        return bothWorks(ONE, greater(yes, no));
      }
      case "exit":
        return NOTHING;
      default:
        return statement satisfies never;
    }
  }

  /** The turns that it takes, if its condition follows from what is known; else as many as the longest size. */
  #while({ condition, body }: WhileStatement): Traffic {
    let total: Traffic = NOTHING;
    while (this.#turns++ < MOST_TURNS) {
      total = bothWorks(total, this.#block(condition));
      const goesOn = condition.yields[0] && this.#constant(condition.yields[0]);
      if (goesOn === undefined) break;
      if (!goesOn) return total;
      total = bothWorks(total, this.#block(body));
    }
    const once = bothWorks(this.#block(condition), this.#block(body));
    this.#forget(body);
    return { ...times(once, this.#longest), guessed: true };
  }

  /** State that these blocks assign has a value that is no longer known. */
  #forget(...blocks: readonly Block[]): void {
    for (const variable of blocks.flatMap(assignedIn)) {
      this.#known.set(variable, undefined);
      this.#likely.set(variable, undefined);
    }
  }

  #take(variable: Variable, value: Argument): void {
    this.#known.set(variable, this.#constant(value));
    this.#likely.set(variable, this.#guess(value));
  }

  /** The iteration in the middle stands for all of them, also where the bounds of an inner loop depend on the index. */
  #for({ index, start, end, step, unrolled, body }: ForStatement): Traffic {
    const isKnown = [start, end].every((bound) => this.#number(bound) !== undefined);
    const [from, to] = [start, end].map((bound) => this.#number(bound) ?? this.#guess(bound));
    const by = this.#number(step);
    const stride = Math.abs(by ?? 1) || 1;
    const isLikely = from !== undefined && to !== undefined;
    const turns = isLikely ? Math.ceil(Math.abs(to - from) / stride) : Infinity;
    const trips = isKnown ? turns : Math.min(turns, Math.ceil(this.#longest / stride));
    const isEmpty = trips === 0 || (isLikely && (to - from) * (by ?? 1) < 0);
    if (isEmpty) return isKnown ? ONE : { ...ONE, guessed: true };
    const middle = isLikely ? from + (by ?? 1) * Math.floor((trips - 1) / 2) : undefined;
    this.#known.set(index, isKnown ? middle : undefined);
    this.#likely.set(index, middle);
    const once = (): Traffic => {
      const all = times(bothWorks(ONE, this.#block(body)), trips);
      if (trips > 1) this.#forget(body);
      return isKnown ? all : { ...all, guessed: true };
    };
    if (!unrolled || !isKnown || middle === undefined || index.type.kind !== "constexpr") return once();
    return this.bindings.within(index.type.text, middle, once);
  }

  #op(statement: OpStatement): Traffic {
    const { op, operands, results } = statement;
    const callee = operands[0];
    if (isFunction(callee)) {
      for (const [param, argument] of handedOver(statement)) this.#known.set(param, this.#constant(argument));
      const inside = handedOver(statement).length > 0 ? this.#block(callee.function.body) : NOTHING;
      const { yields } = callee.function.body;
      results.forEach((result, i) => this.#known.set(result, yields[i] && this.#constant(yields[i])));
      return bothWorks(inside, { ...ONE, lanes: this.#lanes(statement) });
    }
    const [first] = operands;
    const tensor = results[0]?.type.kind === "view" && isValue(first) ? this.#tensor(first) : undefined;
    if (tensor) this.#views.set(results[0]!, { tensor, indices: operands[1] as readonly Argument[] });
    if (results[0]) {
      const known = this.#computed(statement, (each) => this.#constant(each));
      this.#known.set(results[0], known);
      this.#likely.set(results[0], known === undefined ? this.#expected(statement) : undefined);
    }
    const ops = op.spelling.form === "call" || op.evaluate ? 1 : 0;
    return { ...NOTHING, ops, lanes: this.#lanes(statement), ...this.#moved(statement), ...this.#products(statement) };
  }

  /** What an access moves: the tile that it loads, or that it stores. */
  #moved({ op, operands, results }: OpStatement): Partial<Traffic> {
    if (op.effect !== "read" && op.effect !== "write" && op.effect !== "atomic") return {};
    const tile = results[0] ?? operands.find((each) => isValue(each) && each.type.kind === "tile");
    if (!tile || !isValue(tile) || tile.type.kind !== "tile") return {};
    const widest = product(this.#shape(tile));
    const bits = dtypeTable[this.bindings.dtype(tile.type.dtype)].bits;
    return { bytes: (widest * Math.max(8, bits)) / 8, widest };
  }

  #products({ op, operands, results }: OpStatement): Partial<Traffic> {
    if (!op.facts.contracts || !results[0]) return {};
    const sums = product(this.#shape(results[0]));
    const [first] = operands.filter(isValue);
    return { products: sums * ((first && this.#shape(first).at(-1)) ?? 1), sums };
  }

  #computed({ op, operands }: OpStatement, ask: (argument: Argument) => Constant | undefined): Constant | undefined {
    const axis = operands[0] && this.#number(operands[0]);
    if (op.facts.queries === "program") return this.#place[axis ?? 0] ?? 0;
    if (op.facts.queries === "grid") return this.grid[axis ?? 0] ?? 1;
    const given = operands.flatMap((operand) => (operand === undefined ? [] : [ask(operand)]));
    if (!op.fold) return op.facts.isIdentity ? given[0] : undefined;
    return given.every((value) => value !== undefined) ? op.fold(...given) : undefined;
  }

  /** What an op gives where its operands are as expected; of a load, what the tensor's declaration says. */
  #expected(statement: OpStatement): number | undefined {
    const [first] = statement.operands;
    const view = statement.op.effect === "read" && isValue(first) ? this.#views.get(first) : undefined;
    if (view) return this.#element(view.tensor, view.indices);
    const value = this.#computed(statement, (each) => this.#constant(each) ?? this.#guess(each));
    return value === undefined || typeof value === "string" ? undefined : Number(value);
  }

  /** Rows of a partition are expected to be equally long, and other integers as large as they may be. */
  #element({ partition, range, dims }: TensorParam, indices: readonly Argument[]): number | undefined {
    if (partition) {
      const [place, count] = [indices, dims].map((each) => this.#number(each.at(-1)!));
      const total = this.#number(partition.total);
      if (place === undefined || count === undefined || total === undefined) return undefined;
      const [before, rows] = partition.holds === "offsets" ? [place, count - 1] : [place + 1, count];
      return Math.round((total * before) / Math.max(1, rows));
    }
    return range && Math.max(0, Number(this.bindings.host(range)[1]) - 1);
  }

  #tensor(value: Value): TensorParam | undefined {
    return this.ir.params.find((param): param is TensorParam => param.kind === "tensor" && param.value === value);
  }

  #guess(argument: Argument): number | undefined {
    return isValue(argument) ? this.#likely.get(argument) : undefined;
  }

  /** Lanes of the largest tile that takes part; a product of matrices has its third dimension too. */
  #lanes({ op, operands, results }: OpStatement): number {
    const shapes = [...results, ...operands.filter(isValue)].map((value) => this.#shape(value));
    const largest = Math.max(1, ...shapes.map(product));
    if (!op.facts.contracts) return largest;
    const inner = shapes[results.length]?.at(-1) ?? 1;
    return Math.ceil((product(shapes[0] ?? []) * inner) / PRODUCTS_A_LANE);
  }

  #shape({ type }: Value): readonly number[] {
    return "shape" in type && Array.isArray(type.shape) ? type.shape.map((dim) => this.bindings.dim(dim)) : [];
  }

  #constant(argument: Argument): Constant | undefined {
    if (isValue(argument)) return this.#known.get(argument);
    return "kind" in argument && argument.kind === "literal" ? argument.value : undefined;
  }

  #number(argument: Argument): number | undefined {
    const value = this.#constant(argument);
    return value === undefined || typeof value === "string" ? undefined : Number(value);
  }
}

/** While loops that take more turns, all of a program together, are not followed to their end. */
const MOST_TURNS = 1000;

/** A multiplication inside a product of matrices costs this much less than an op on a lane. */
const PRODUCTS_A_LANE = 4;

const NOTHING: Traffic = { ops: 0, lanes: 0, programs: 0, bytes: 0, products: 0, widest: 0, sums: 0 };
const ONE: Traffic = { ...NOTHING, ops: 1 };

const guess = (...of: readonly Traffic[]) => (of.some(({ guessed }) => guessed) ? ({ guessed: true } as const) : {});

/** The work of two parts, one after the other. */
const bothWorks = (a: Traffic, b: Traffic): Traffic => joined(a, b, (x, y) => x + y);
/** The work of one of two parts, whichever does more of each. */
const greater = (a: Traffic, b: Traffic): Traffic => joined(a, b, Math.max);

function joined(a: Traffic, b: Traffic, join: (x: number, y: number) => number): Traffic {
  return {
    ops: join(a.ops, b.ops),
    lanes: join(a.lanes, b.lanes),
    programs: join(a.programs, b.programs),
    bytes: join(a.bytes, b.bytes),
    products: join(a.products, b.products),
    widest: Math.max(a.widest, b.widest),
    sums: Math.max(a.sums, b.sums),
    ...guess(a, b),
  };
}

function times(of: Traffic, count: number): Traffic {
  const { ops, lanes, bytes, products } = of;
  return { ...of, ops: ops * count, lanes: lanes * count, bytes: bytes * count, products: products * count };
}

/** Integer constexprs, which bound loops as sizes do. */
function dimsOf({ constexprs }: Bindings): readonly number[] {
  return Object.values(constexprs).filter((value): value is number => typeof value === "number");
}
