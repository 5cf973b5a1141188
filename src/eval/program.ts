/**
 * A kernel's body as a flat list of steps over numbered slots. It is prepared once for each launch, where dtypes and
 * dimensions are known, and then run once for each program.
 */
import type { Location } from "../diagnostics.js";
import { full, type TileArray } from "../ir/array.js";
import type { DTypeName } from "../ir/dtype.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  type FunctionIR,
  type IfStatement,
  isDType,
  isFunction,
  isList,
  isLiteral,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WhileStatement,
} from "../ir/nodes.js";
import { isBig } from "../ir/numeric.js";
import type { Constant, Context, FunctionRuntime, ResultType, Runtime } from "../ir/runtime.js";
import { type Type, typeOfArgument } from "../ir/types.js";
import type { Arithmetic } from "./arithmetic.js";
import type { Bindings } from "./bindings.js";
import { atomic, poll } from "./atomics.js";
import { load, store } from "./memory.js";
import type { Sanitiser } from "./sanitiser.js";
import { type Tensor, tensorAt } from "./tensor.js";

type Step = () => void;
type Get = () => Runtime;
type Triple = readonly [number, number, number];

export class Program {
  readonly #bindings: Bindings;
  readonly #memory: readonly Tensor[];
  readonly #sanitiser: Sanitiser;
  readonly #arithmetic: Arithmetic;
  readonly #grid: Triple;
  readonly #slots: (Runtime | undefined)[] = [];
  #functions = new Map<FunctionIR, FunctionRuntime>();
  readonly #slotOf = new Map<Value | Variable, number>();
  readonly #steps: readonly Step[];
  #id: Triple = [0, 0, 0];
  /** Where the program is, for errors of the evaluator itself. */
  at: Location | undefined;

  /** `params` are the values of the kernel's arguments. */
  constructor(
    body: Block,
    params: ReadonlyMap<Value, Runtime>,
    memory: readonly Tensor[],
    bindings: Bindings,
    sanitiser: Sanitiser,
    arithmetic: Arithmetic,
    grid: Triple,
  ) {
    this.#bindings = bindings;
    this.#memory = memory;
    this.#sanitiser = sanitiser;
    this.#arithmetic = arithmetic;
    this.#grid = grid;
    for (const [value, runtime] of params) this.#slots[this.#slot(value)] = runtime;
    this.#steps = this.#block(body);
  }

  /** Runs one program, whose number counts from 1. */
  run(number: number): void {
    this.#sanitiser.begin(number);
    const [x = 0, y = 0, z = 0] = this.#sanitiser.program(number);
    this.#id = [x, y, z];
    try {
      runAll(this.#steps);
    } catch (thrown) {
      if (thrown !== EXIT) throw thrown;
    }
  }

  #slot(key: Value | Variable): number {
    let slot = this.#slotOf.get(key);
    if (slot === undefined) this.#slotOf.set(key, (slot = this.#slotOf.size));
    return slot;
  }

  #block(block: Block): Step[] {
    return block.statements.map((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): Step {
    switch (statement.kind) {
      case "op":
        return this.#op(statement);
      case "let":
        return this.#move(statement.initial, statement.variable);
      case "write":
        return this.#move(statement.value, statement.variable);
      case "read":
        return this.#copy(statement.variable, statement.result);
      case "for":
        return this.#for(statement);
      case "while":
        return this.#while(statement);
      case "if":
        return this.#if(statement);
      case "exit":
        return () => {
          throw EXIT;
        };
      default:
        return statement satisfies never;
    }
  }

  // ---- values -------------------------------------------------------------------------------------------------------

  #get(argument: Argument): Get {
    if (isLiteral(argument)) return constant(argument.value);
    if (isDType(argument)) return constant({ kind: "dtype", dtype: this.#bindings.dtype(argument.dtype) });
    if (isFunction(argument)) return constant(this.#function(argument.function));
    if (isList(argument)) {
      const items = argument.map((item) => this.#get(item));
      return () => items.map((get) => get());
    }
    const [slots, slot] = [this.#slots, this.#slot(argument as Value)];
    return () => slots[slot]!;
  }

  /** The step that gives a value to a variable or to a result of a branch; a constant takes its type. */
  #move(from: Argument, to: Variable | Value): Step {
    const [slots, slot, get] = [this.#slots, this.#slot(to), this.#get(from)];
    const type = this.#resultOf(to.type);
    if (!type) return () => void (slots[slot] = get());
    return () => {
      const value = get();
      slots[slot] = typeof value === "object" ? value : full(type.shape, numeric(value, type.dtype), type.dtype);
    };
  }

  #copy(from: Variable, to: Value): Step {
    const [slots, source, target] = [this.#slots, this.#slot(from), this.#slot(to)];
    return () => void (slots[target] = slots[source]);
  }

  #resultOf(type: Type): ResultType | undefined {
    return this.#bindings.result(type);
  }

  /** A helper function, prepared once: it cannot call itself, so its slots hold one call at a time. */
  #function(helper: FunctionIR): FunctionRuntime {
    const known = this.#functions.get(helper);
    if (known) return known;
    const slots = this.#slots;
    const params = helper.params.map((param) => this.#slot(param));
    const steps = this.#block(helper.body);
    const results = helper.body.yields.map((result) => this.#get(result));
    const made: FunctionRuntime = {
      kind: "function",
      call(args) {
        args.forEach((arg, i) => (slots[params[i]!] = arg));
        runAll(steps);
        return results.map((get) => get());
      },
    };
    this.#functions.set(helper, made);
    return made;
  }

  // ---- ops ----------------------------------------------------------------------------------------------------------

  #op(statement: OpStatement): Step {
    const { op, results } = statement;
    const slots = this.#slots;
    if (results.length === 1 && results[0]!.type.kind === "constexpr") return this.#fold(statement);
    const { evaluate } = op;
    if (!evaluate) throw new Error(`${op.name} cannot be evaluated here`);
    const inputs = this.#inputs(statement);
    const types = results.map((result) => this.#resultOf(result.type));
    const context = this.#context(types, statement.at);
    const targets = results.map((result) => this.#slot(result));
    const [only] = targets;
    const watch = this.#arithmetic.watch(statement);
    return () => {
      this.at = statement.at;
      const args: Record<string, Runtime> = {};
      for (const [name, get] of inputs) args[name] = get();
      const value = evaluate(args, context);
      watch?.(args, value as Runtime);
      if (targets.length === 1) slots[only!] = checked(value as Runtime, types[0], op.name);
      else targets.forEach((slot, i) => (slots[slot] = checked((value as readonly Runtime[])[i]!, types[i], op.name)));
    };
  }

  #inputs({ op, operands, options }: OpStatement): readonly (readonly [string, Get])[] {
    const positional = Object.keys(op.operands).flatMap((name, i) => {
      const argument = operands[i];
      return argument === undefined ? [] : [[name, this.#get(argument)] as const];
    });
    return [...positional, ...Object.entries(options).map(([name, argument]) => [name, this.#get(argument)] as const)];
  }

  /** Constexprs are Python's numbers. */
  #fold({ op, operands, results, at }: OpStatement): Step {
    const { fold } = op;
    if (!fold) throw new Error(`${op.name} of constexprs cannot be evaluated here`);
    const gets = operands.flatMap((operand) => (operand === undefined ? [] : [this.#get(operand)]));
    const [slots, slot] = [this.#slots, this.#slot(results[0]!)];
    return () => {
      this.at = at;
      slots[slot] = fold(...gets.map((get) => constantOf(get())));
    };
  }

  #context(types: readonly (ResultType | undefined)[], at: Location | undefined): Context {
    const sanitiser = this.#sanitiser;
    const id = (): Triple => this.#id;
    return {
      results: types.map((type) => type ?? NO_RESULT),
      grid: this.#grid,
      get program() {
        return id();
      },
      load: (address, mask, other) => load(address, mask, other, sanitiser, at),
      store: (address, value, mask) => store(address, value, mask, sanitiser, at),
      atomic: (address, mask, access) => atomic(address, mask, access, sanitiser, at),
      poll: (address, expected, how) => poll(address, expected, how, sanitiser, at),
      allocationAt: (address, dtype) => tensorAt(this.#memory, address, dtype),
      report: (code, message, shape, lanes) => sanitiser.lanes(code, lanes, shape, at, () => message),
    };
  }

  // ---- control ------------------------------------------------------------------------------------------------------

  #for(statement: ForStatement): Step {
    const { index, start, end, step, body, at } = statement;
    if (statement.unrolled) return this.#unrolled(statement);
    const bounds = [start, end, step].map((bound) => this.#get(bound));
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const type = this.#resultOf(index.type);
    const steps = this.#block(body);
    return () => {
      const [from, to, by] = bounds.map((get) => this.#scalar(get(), "the bounds of this loop depend", at)) as [
        number,
        number,
        number,
      ];
      if (by === 0) throw new RangeError("a loop with a step of 0 does not end");
      for (let i = from; by > 0 ? i < to : i > to; i += by) {
        slots[slot] = type ? full([], numeric(i, type.dtype), type.dtype) : i;
        runAll(steps);
      }
    };
  }

  /** Each turn is prepared on its own: what a tile's shape is may depend on the index. */
  #unrolled({ index, start, end, step, body }: ForStatement): Step {
    const [from, to, by] = [start, end, step].map((bound) => this.#known(bound)) as [number, number, number];
    if (by === 0) throw new RangeError("a loop with a step of 0 does not end");
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const text = index.type.kind === "constexpr" ? index.type.text : "";
    const turns: (readonly [number, readonly Step[]])[] = [];
    for (let i = from; by > 0 ? i < to : i > to; i += by) {
      // What a helper function's tiles are may depend on the index too.
      const functions = this.#functions;
      this.#functions = new Map();
      const steps = this.#bindings.within(text, i, () => this.#block(body));
      this.#functions = functions;
      turns.push([i, steps]);
    }
    return () => {
      for (const [i, steps] of turns) {
        slots[slot] = i;
        runAll(steps);
      }
    };
  }

  /** The value of a constexpr that a launch decides, by its text. */
  #known(argument: Argument): number {
    const type = typeOfArgument(argument);
    return this.#bindings.dim(type.kind === "constexpr" ? type.text : "");
  }

  #while({ condition, body, at }: WhileStatement): Step {
    const asking = this.#block(condition);
    const test = this.#get(condition.yields[0]!);
    const steps = this.#block(body);
    return () => {
      for (let turns = 0; ; turns++) {
        runAll(asking);
        if (this.#scalar(test(), "whether this loop goes on depends", at) === 0) return;
        this.at = at;
        if (turns >= MAX_TURNS) throw new RangeError(`this loop does not end within ${MAX_TURNS} turns`);
        runAll(steps);
      }
    };
  }

  #if({ condition, then, otherwise, results, at }: IfStatement): Step {
    const test = this.#get(condition);
    const arm = (block: Block): readonly Step[] => [
      ...this.#block(block),
      ...results.map((result, i) => this.#move(block.yields[i]!, result)),
    ];
    const [yes, no] = [arm(then), arm(otherwise)];
    return () => runAll(this.#scalar(test(), "this branch depends", at) === 0 ? no : yes);
  }

  /** A scalar that decides what runs. */
  #scalar(value: Runtime, what: string, at: Location | undefined): number {
    if (typeof value !== "object") return Number(value);
    const { data, poison } = value as TileArray;
    if (poison?.[0]) this.#sanitiser.scalar("uninitialised", at, `${what} on a value that was never given`);
    return Number(data[0]);
  }
}

/** Thrown where the program ends early. */
const EXIT = Symbol("exit");

/** A loop that runs longer is taken for one that does not end. */
const MAX_TURNS = 10_000_000;

const NO_RESULT: ResultType = { dtype: "int32", shape: [] };

function runAll(steps: readonly Step[]): void {
  for (const step of steps) step();
}

const constant =
  (value: Runtime): Get =>
  () =>
    value;

/** A dtype is its name to what is computed from it. */
function constantOf(value: Runtime): Constant {
  return typeof value === "object" && "kind" in value && value.kind === "dtype" ? value.dtype : (value as Constant);
}

const numeric = (value: Constant, dtype: DTypeName): number | bigint => (isBig(dtype) ? BigInt(value) : Number(value));

/** An op's record says its type twice, in its type rule and in what it computes: they must agree. */
function checked(value: Runtime, type: ResultType | undefined, name: string): Runtime {
  if (!type || typeof value !== "object" || !("shape" in value && "dtype" in value)) return value;
  if (
    value.dtype === type.dtype &&
    value.shape.length === type.shape.length &&
    value.shape.every((dim, i) => dim === type.shape[i])
  )
    return value;
  throw new Error(
    `${name} computed ${value.dtype}[${value.shape.join(", ")}], its type is ${type.dtype}[${type.shape.join(", ")}]`,
  );
}
