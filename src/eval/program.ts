/**
 * A kernel's body as a list of closures over numbered slots. It is prepared once for each combination of dtypes and
 * constexprs, then run for every program of every such launch.
 */
import { buffersOf } from "../values/buffers.js";
import type { Op } from "../ir/op.js";
import { typeOfArgument } from "../ir/typed.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { endlessLoop } from "../diagnostics/catalog/control-codes.js";
import { uninitialized } from "../diagnostics/catalog/finding-codes.js";
import { full, isSameShape, type TileArray } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
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
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  type WhileStatement,
} from "../ir/nodes.js";
import { isBig } from "../numerics/numeric.js";
import { type PoolMark, mark, pooled, release, unpooled } from "../numerics/buffer-pool.js";
import type { Constant, FunctionRuntime, ResultType, Runtime } from "../values/runtime-values.js";
import { type Type } from "../types/types.js";
import { assignedIn } from "../ir/walk.js";
import { OverflowChecker } from "./overflow-checks.js";
import type { Bindings } from "./bindings.js";
import { UniformValues } from "./uniform-values.js";
import { evaluateInDeclaredDTypes, isDTypeSensitive } from "./dtype-sensitive-ops.js";
import { type LaunchState, ExecutionState } from "./execution-state.js";

type Step = () => void;
type Get = () => Runtime;
type Args = Readonly<Record<string, Runtime>>;

export class Program {
  readonly #bindings: Bindings;
  readonly #arithmetic: OverflowChecker;
  readonly #slots: (Runtime | undefined)[] = [];
  #functions = new Map<FunctionIR, FunctionRuntime>();
  readonly #slotOf = new Map<Value | Variable, number>();
  readonly #fixed: UniformValues;
  readonly #steps: readonly Step[];
  /** Drop the values that a launch cached. */
  readonly #forget: (() => void)[] = [];
  /** The current launch and program. */
  readonly running = new ExecutionState();

  constructor(ir: KernelIR, bindings: Bindings, nonFinite: boolean) {
    this.#bindings = bindings;
    this.#arithmetic = new OverflowChecker(ir, this.running, nonFinite);
    this.#fixed = new UniformValues(ir.params);
    this.#steps = this.#block(ir.body);
  }

  /** Runs the programs with these numbers, which count from 1. `params` holds the values of the kernel's arguments. */
  launch(params: ReadonlyMap<Value, Runtime>, launched: LaunchState, numbers: Iterable<number>): void {
    this.running.launch(launched);
    for (const [value, runtime] of params) this.#slots[this.#slot(value)] = runtime;
    try {
      pooled(() => {
        for (const number of numbers) this.#run(number);
      });
    } finally {
      this.#slots.fill(undefined);
      for (const forget of this.#forget) forget();
      this.running.end();
    }
  }

  #run(number: number): void {
    this.running.begin(number);
    try {
      runAll(this.#steps);
    } catch (thrown) {
      if (thrown !== EXIT) throw thrown;
    }
    release(0);
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

  #get(argument: Argument, declared = false): Get {
    if (isLiteral(argument)) return constant(argument.value);
    if (isDType(argument)) {
      const dtype = declared ? this.#bindings.dtype(argument.dtype) : this.#bindings.held(argument.dtype);
      return constant({ kind: "dtype", dtype });
    }
    if (isFunction(argument)) return constant(this.#function(argument.function));
    if (isList(argument)) {
      const items = argument.map((item) => this.#get(item, declared));
      return () => items.map((get) => get());
    }
    const [slots, slot] = [this.#slots, this.#slot(argument as Value)];
    return () => slots[slot]!;
  }

  /** The step that assigns to a variable or to a result of a branch; a constant takes the target's type. */
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

  /** Prepares a helper function once. It cannot call itself, so its slots hold one call at a time. */
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
        const start = mark();
        args.forEach((arg, i) => (slots[params[i]!] = arg));
        runAll(steps);
        const given = results.map((get) => get());
        release(start, buffersOf(given));
        return given;
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
    const types = results.map((result) => this.#resultOf(result.type));
    const keeps = isDTypeSensitive(statement, this.#bindings);
    const context = this.running.context(
      keeps ? results.map(({ type }) => this.#bindings.declared(type)) : types,
      statement.at,
    );
    const targets = results.map((result) => this.#slot(result));
    const watch = this.#bindings.unrounded ? undefined : this.#arithmetic.watch(statement);
    const fill = this.#inputs(statement, keeps);
    const { running } = this;
    const plain = (args: Args): Runtime | readonly Runtime[] => evaluate(args, context);
    const run = keeps
      ? evaluateInDeclaredDTypes(statement, plain, this.#bindings, () => running.rounds(statement))
      : plain;
    const { at } = statement;
    const isProved = at !== undefined && isSpokenOf(op);
    const compute = (): Runtime | readonly Runtime[] => {
      running.at = at;
      if (isProved) running.sanitizer.reached.add(at);
      const args = fill();
      const value = run(args);
      watch?.(args, value as Runtime);
      return value;
    };
    const get = this.#once(statement, compute);
    const [only] = targets;
    const [type] = types;
    if (targets.length === 1) return () => void (slots[only!] = checked(get() as Runtime, type, op.name));
    return () => {
      const values = get() as readonly Runtime[];
      for (let i = 0; i < targets.length; i++) slots[targets[i]!] = checked(values[i]!, types[i], op.name);
    };
  }

  /**
   * Computes a value that all programs share only once. If computing it gives a finding, or leaves a lane undefined,
   * each program computes it again.
   */
  #once<T>(statement: OpStatement, compute: () => T): () => T {
    const fixed = this.#fixed.ofResults(statement);
    for (const result of statement.results) this.#fixed.set(result, fixed);
    if (fixed === undefined) return compute;
    const { running } = this;
    let known: T | undefined;
    if (fixed === "launch") this.#forget.push(() => (known = undefined));
    return () => {
      if (known !== undefined) return known;
      const { sanitizer } = running;
      const before = sanitizer.reportCount;
      const value = unpooled(compute);
      if (sanitizer.reportCount === before) known = value;
      return value;
    };
  }

  /** Returns an op's arguments by name, in the same object each time; this is safe because no op runs inside itself. */
  #inputs({ op, operands, options }: OpStatement, declared: boolean): () => Args {
    const positional = Object.keys(op.operands).flatMap((name, i) => {
      const argument = operands[i];
      return argument === undefined ? [] : [[name, argument] as const];
    });
    const slots = this.#slots;
    const args: Record<string, Runtime> = {};
    const moving: (readonly [string, number])[] = [];
    const lists: (readonly [string, Get])[] = [];
    for (const [name, argument] of [...positional, ...Object.entries(options)]) {
      if (isValue(argument)) moving.push([name, this.#slot(argument)]);
      else if (isList(argument)) lists.push([name, this.#get(argument, declared)]);
      args[name] = isValue(argument) || isList(argument) ? 0 : this.#get(argument, declared)();
    }
    this.#forget.push(() => {
      for (const [name] of [...moving, ...lists]) args[name] = 0;
    });
    return () => {
      for (let i = 0; i < moving.length; i++) args[moving[i]![0]] = slots[moving[i]![1]]!;
      for (let i = 0; i < lists.length; i++) args[lists[i]![0]] = lists[i]![1]();
      return args;
    };
  }

  /** The step of an op on constexprs, in Python's arithmetic. */
  #fold(statement: OpStatement): Step {
    const { op, operands, results, at } = statement;
    const { fold } = op;
    if (!fold) throw new Error(`${op.name} of constexprs cannot be evaluated here`);
    const gets = operands.flatMap((operand) => (operand === undefined ? [] : [this.#get(operand, true)]));
    const [slots, slot] = [this.#slots, this.#slot(results[0]!)];
    const { running } = this;
    const get = this.#once(statement, () => {
      running.at = at;
      return fold(...gets.map((argument) => constantOf(argument())));
    });
    return () => void (slots[slot] = get());
  }

  // ---- control ------------------------------------------------------------------------------------------------------

  #for(statement: ForStatement): Step {
    const { index, start, end, step, body, at } = statement;
    if (statement.unrolled) return this.#unrolled(statement);
    const bounds = [start, end, step].map((bound) => this.#get(bound));
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const type = this.#resultOf(index.type);
    const iterate = this.#iteration(this.#block(body), body);
    return () => {
      const [from, to, by] = bounds.map((get) => this.#scalar(get(), "the bounds of this loop depend", at)) as [
        number,
        number,
        number,
      ];
      if (by === 0) fail(endlessLoop.step(), at);
      const start = mark();
      for (let i = from; by > 0 ? i < to : i > to; i += by) {
        this.running.limit.check(at);
        slots[slot] = type ? full([], numeric(i, type.dtype), type.dtype) : i;
        iterate(start);
      }
    };
  }

  /** One iteration; buffers not held by outer variables are released. */
  #iteration(steps: readonly Step[], ...blocks: readonly Block[]): (start: PoolMark) => void {
    const slots = this.#slots;
    const living = blocks.flatMap((block) => assignedIn(block)).map((variable) => this.#slot(variable));
    return (start) => {
      runAll(steps);
      release(start, buffersOf(living.map((slot) => slots[slot])));
    };
  }

  /** Prepares each iteration separately, because shapes may depend on the index. */
  #unrolled({ index, start, end, step, body, at }: ForStatement): Step {
    const [from, to, by] = [start, end, step].map((bound) => this.#known(bound)) as [number, number, number];
    if (by === 0) fail(endlessLoop.step(), at);
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const text = index.type.kind === "constexpr" ? index.type.text : "";
    const iterations: (readonly [number, (start: PoolMark) => void])[] = [];
    this.#fixed.set(index, "always");
    for (let i = from; by > 0 ? i < to : i > to; i += by) {
      // The shapes inside a helper function may depend on the index too.
      const functions = this.#functions;
      this.#functions = new Map();
      const steps = this.#bindings.within(text, i, () => this.#block(body));
      this.#functions = functions;
      iterations.push([i, this.#iteration(steps, body)]);
    }
    return () => {
      const start = mark();
      for (const [i, iterate] of iterations) {
        slots[slot] = i;
        iterate(start);
      }
    };
  }

  /** The value of a constexpr in this launch. */
  #known(argument: Argument): number {
    const type = typeOfArgument(argument);
    return this.#bindings.dim(type.kind === "constexpr" ? type.text : "");
  }

  #while({ condition, body, at }: WhileStatement): Step {
    const conditionSteps = this.#block(condition);
    const test = this.#get(condition.yields[0]!);
    const iterate = this.#iteration(this.#block(body), condition, body);
    return () => {
      const start = mark();
      for (let iterations = 0; ; iterations++) {
        runAll(conditionSteps);
        if (this.#scalar(test(), "whether this loop goes on depends", at) === 0) return;
        this.running.at = at;
        this.running.limit.check(at);
        if (iterations >= MAX_ITERATIONS) fail(endlessLoop.iterations(MAX_ITERATIONS), at);
        iterate(start);
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

  /** The number that a branch or a loop depends on. */
  #scalar(value: Runtime, what: string, at: Location | undefined): number {
    if (typeof value !== "object") return Number(value);
    const { data, poison } = value as TileArray;
    if (poison?.[0]) this.running.sanitizer.scalar(uninitialized.control(what), at);
    return Number(data[0]);
  }
}

/** Thrown to end a program early. */
const EXIT = Symbol("exit");

/** A longer loop is taken to be endless. */
const MAX_ITERATIONS = 10_000_000;

function runAll(steps: readonly Step[]): void {
  for (const step of steps) step();
}

const constant =
  (value: Runtime): Get =>
  () =>
    value;

/** A constant for `fold`, which takes a dtype by its name. */
function constantOf(value: Runtime): Constant {
  return typeof value === "object" && "kind" in value && value.kind === "dtype" ? value.dtype : (value as Constant);
}

const numeric = (value: Constant, dtype: DTypeName): number | bigint => (isBig(dtype) ? BigInt(value) : Number(value));

/** Checks that what an op computed has the type that its rule gave. */
function checked(value: Runtime, type: ResultType | undefined, name: string): Runtime {
  if (!type || typeof value !== "object" || !("shape" in value && "dtype" in value)) return value;
  if (value.dtype === type.dtype && isSameShape(value.shape, type.shape)) return value;
  throw new Error(
    `${name} computed ${value.dtype}[${value.shape.join(", ")}], its type is ${type.dtype}[${type.shape.join(", ")}]`,
  );
}

/** Whether proofs speak of a pure op: of its dividend, of whether it wraps, of padding, or of what it claims. */
function isSpokenOf({ effect, facts: { integer }, proof: { claims, foldSemantics: folds, wraps } }: Op): boolean {
  const divides = integer === "quotient" || integer === "remainder";
  return effect === "pure" && (divides || wraps === true || folds !== undefined || claims !== undefined);
}
