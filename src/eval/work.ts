/**
 * What a case costs, estimated before it runs: every program of the grid, with its blocks and the iterations of its
 * loops. The program at the start of the grid and the one at its end stand for all of them.
 */
import type { Case, Work } from "../contract/compiled.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  isFunction,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WhileStatement,
} from "../ir/nodes.js";
import { assignedIn, handedOver } from "../ir/walk.js";
import type { Constant } from "../values/runtime-values.js";
import { Bindings } from "./bindings.js";
import { launchOf } from "./case-launch.js";

/** The work of one case of a kernel. */
export function workOf(ir: KernelIR, at: Case): Work {
  const bindings = new Bindings(ir, launchOf(ir, at));
  const grid = bindings.host(ir.grid).map(Number);
  const programs = product(grid);
  // A causal loop is shortest at one end of the grid; at which one, the kernel decides.
  const [first, last] = [grid.map(() => 0), grid].map((place) => new Program(ir, bindings, grid, place).cost());
  const [a, b] = [first!, last!];
  return times({ ops: Math.max(a.ops, b.ops), lanes: Math.max(a.lanes, b.lanes), ...guess(a, b) }, programs);
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);

/** One program: scalars that follow from sizes, constexprs and the program's place are known, loaded ones are not. */
class Program {
  readonly #known = new Map<Value | Variable, Constant | undefined>();
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

  cost(): Work {
    return this.#block(this.ir.body);
  }

  #block({ statements }: Block): Work {
    let total: Work = NOTHING;
    for (const statement of statements) total = bothWorks(total, this.#statement(statement));
    return total;
  }

  #statement(statement: Statement): Work {
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
      case "let":
        this.#known.set(statement.variable, this.#constant(statement.initial));
        return ONE;
      case "write":
        this.#known.set(statement.variable, this.#constant(statement.value));
        return ONE;
      case "read":
        this.#known.set(statement.result, this.#known.get(statement.variable));
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
        return { ops: 1 + Math.max(yes.ops, no.ops), lanes: Math.max(yes.lanes, no.lanes), ...guess(yes, no) };
      }
      case "exit":
        return NOTHING;
      default:
        return statement satisfies never;
    }
  }

  /** The turns that it takes, if its condition follows from what is known; else as many as the longest size. */
  #while({ condition, body }: WhileStatement): Work {
    let total: Work = NOTHING;
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
    for (const variable of blocks.flatMap(assignedIn)) this.#known.set(variable, undefined);
  }

  /** The iteration in the middle stands for all of them, also where the bounds of an inner loop depend on the index. */
  #for({ index, start, end, step, unrolled, body }: ForStatement): Work {
    const [from, to, by] = [start, end, step].map((bound) => this.#number(bound));
    const stride = Math.abs(by ?? 1) || 1;
    const isKnown = from !== undefined && to !== undefined;
    const trips = isKnown ? Math.max(0, Math.ceil(Math.abs(to - from) / stride)) : Math.ceil(this.#longest / stride);
    if (trips === 0 || (isKnown && (to - from) * (by ?? 1) < 0)) return ONE;
    const middle = isKnown ? from + (by ?? 1) * Math.floor((trips - 1) / 2) : undefined;
    this.#known.set(index, middle);
    const once = (): Work => {
      const all = times(bothWorks(ONE, this.#block(body)), trips);
      if (trips > 1) this.#forget(body);
      return isKnown ? all : { ...all, guessed: true };
    };
    if (!unrolled || middle === undefined || index.type.kind !== "constexpr") return once();
    return this.bindings.within(index.type.text, middle, once);
  }

  #op(statement: OpStatement): Work {
    const { op, operands, results } = statement;
    const callee = operands[0];
    if (isFunction(callee)) {
      for (const [param, argument] of handedOver(statement)) this.#known.set(param, this.#constant(argument));
      const inside = handedOver(statement).length > 0 ? this.#block(callee.function.body) : NOTHING;
      const { yields } = callee.function.body;
      results.forEach((result, i) => this.#known.set(result, yields[i] && this.#constant(yields[i])));
      return bothWorks(inside, { ops: 1, lanes: this.#lanes(statement) });
    }
    if (results[0]) this.#known.set(results[0], this.#computed(statement));
    return { ops: op.spelling.form === "call" || op.evaluate ? 1 : 0, lanes: this.#lanes(statement) };
  }

  #computed({ op, operands }: OpStatement): Constant | undefined {
    const axis = operands[0] && this.#number(operands[0]);
    if (op.facts.asks === "program") return this.#place[axis ?? 0] ?? 0;
    if (op.facts.asks === "grid") return this.grid[axis ?? 0] ?? 1;
    const given = operands.flatMap((operand) => (operand === undefined ? [] : [this.#constant(operand)]));
    if (!op.fold) return op.facts.passes ? given[0] : undefined;
    return given.every((value) => value !== undefined) ? op.fold(...given) : undefined;
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

const NOTHING: Work = { ops: 0, lanes: 0 };
const ONE: Work = { ops: 1, lanes: 0 };

const guess = (...of: readonly Work[]) => (of.some(({ guessed }) => guessed) ? ({ guessed: true } as const) : {});
/** The work of two parts, one after the other. */
export const bothWorks = (a: Work, b: Work): Work => ({ ops: a.ops + b.ops, lanes: a.lanes + b.lanes, ...guess(a, b) });
const times = (of: Work, count: number): Work => ({ ops: of.ops * count, lanes: of.lanes * count, ...guess(of) });

/** Integer constexprs, which bound loops as sizes do. */
function dimsOf({ constexprs }: Bindings): readonly number[] {
  return Object.values(constexprs).filter((value): value is number => typeof value === "number");
}
