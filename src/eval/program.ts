/**
 * Compiles a kernel's body to a list of closures over numbered slots. A kernel is compiled once per combination of
 * dtypes and constexprs, then run for every program of all launches with them.
 */
import type { Op } from "../ir/op.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { endlessLoop } from "../diagnostics/catalog/control-codes.js";
import { falseHint, uninitialized } from "../diagnostics/catalog/finding-codes.js";
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
import type { Limits } from "../types/limits.js";
import { isBig } from "../numerics/numeric-int.js";
import { type PoolMark, mark, pooled, release, unpooled } from "../numerics/buffer-pool.js";
import {
  buffersOf,
  type Constant,
  type FunctionRuntime,
  type ResultType,
  type Runtime,
} from "../values/runtime-values.js";
import { type Type } from "../types/types.js";
import { assignedIn, typeOfArgument } from "../ir/walk.js";
import { OverflowChecker, narrowing } from "./overflow-checks.js";
import type { Bindings } from "./bindings.js";
import { UniformValues, evaluateInDeclaredDTypes, isDTypeSensitive } from "./uniform-values.js";
import { type LaunchState, ExecutionState } from "./execution-state.js";

type Step = () => void;
type Get = () => Runtime;
type Args = Readonly<Record<string, Runtime>>;

export class Program {
  readonly #bindings: Bindings;
  readonly #overflowChecker: OverflowChecker;
  readonly #slots: (Runtime | undefined)[] = [];
  #functions = new Map<FunctionIR, FunctionRuntime>();
  readonly #slotIndices = new Map<Value | Variable, number>();
  readonly #uniformValues: UniformValues;
  readonly #limits: Limits;
  readonly #steps: readonly Step[];
  /** Functions that drop the values cached for a launch. */
  readonly #cacheResets: (() => void)[] = [];
  readonly state = new ExecutionState();

  constructor(ir: KernelIR, bindings: Bindings, nonFinite: boolean) {
    this.#bindings = bindings;
    this.#overflowChecker = new OverflowChecker(ir, this.state, nonFinite);
    this.#uniformValues = new UniformValues(ir.params);
    this.#limits = ir.limits;
    this.#steps = this.#block(ir.body);
  }

  /**
   * Runs the programs with these numbers, which count from 1. `params` contains the values of the kernel's arguments.
   */
  launch(params: ReadonlyMap<Value, Runtime>, launchState: LaunchState, programNumbers: Iterable<number>): void {
    this.state.launch(launchState);
    for (const [value, runtime] of params) this.#slots[this.#slot(value)] = runtime;
    try {
      pooled(() => {
        for (const number of programNumbers) this.#run(number);
      });
    } finally {
      this.#slots.fill(undefined);
      for (const reset of this.#cacheResets) reset();
      this.state.end();
    }
  }

  #run(number: number): void {
    this.state.begin(number);
    try {
      runAll(this.#steps);
    } catch (error) {
      if (error !== EXIT) throw error;
    }
    release(0);
  }

  #slot(key: Value | Variable): number {
    let slot = this.#slotIndices.get(key);
    if (slot === undefined) this.#slotIndices.set(key, (slot = this.#slotIndices.size));
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
        return this.#assignment(statement.initial, statement.variable);
      case "write":
        return this.#assignment(statement.value, statement.variable);
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

  #getter(argument: Argument, isDeclared = false): Get {
    if (isLiteral(argument)) return constant(argument.value);
    if (isDType(argument)) {
      const dtype = isDeclared ? this.#bindings.dtype(argument.dtype) : this.#bindings.evaluationDType(argument.dtype);
      return constant({ kind: "dtype", dtype });
    }
    if (isFunction(argument)) return constant(this.#function(argument.function));
    if (isList(argument)) {
      const items = argument.map((item) => this.#getter(item, isDeclared));
      return () => items.map((get) => get());
    }
    const [slots, slot] = [this.#slots, this.#slot(argument as Value)];
    return () => slots[slot]!;
  }

  /** The step that assigns to a variable or to a result of a branch. A constant is converted to the target's type. */
  #assignment(source: Argument, target: Variable | Value): Step {
    const [slots, slot, get] = [this.#slots, this.#slot(target), this.#getter(source)];
    const type = this.#resultType(target.type);
    if (!type) return () => void (slots[slot] = get());
    return () => {
      const value = get();
      slots[slot] = typeof value === "object" ? value : full(type.shape, toElement(value, type.dtype), type.dtype);
    };
  }

  #copy(variable: Variable, result: Value): Step {
    const [slots, source, target] = [this.#slots, this.#slot(variable), this.#slot(result)];
    return () => void (slots[target] = slots[source]);
  }

  #resultType(type: Type): ResultType | undefined {
    return this.#bindings.resultType(type);
  }

  /** Compiles a helper function once. It cannot be recursive, so its slots serve one call at a time. */
  #function(helper: FunctionIR): FunctionRuntime {
    const cachedFunction = this.#functions.get(helper);
    if (cachedFunction) return cachedFunction;
    const slots = this.#slots;
    const params = helper.params.map((param) => this.#slot(param));
    const steps = this.#block(helper.body);
    const results = helper.body.yields.map((result) => this.#getter(result));
    const runtime: FunctionRuntime = {
      kind: "function",
      call(args) {
        const start = mark();
        params.forEach((param, i) => (slots[param] = args[i]));
        runAll(steps);
        const values = results.map((get) => get());
        release(start, buffersOf(values));
        return values;
      },
    };
    this.#functions.set(helper, runtime);
    return runtime;
  }

  // ---- ops ----------------------------------------------------------------------------------------------------------

  #op(statement: OpStatement): Step {
    const { op, results } = statement;
    const slots = this.#slots;
    const [result, ...otherResults] = results;
    if (result?.type.kind === "constexpr" && otherResults.length === 0) return this.#fold(statement, result);
    const { evaluate } = op;
    if (!evaluate) throw new Error(`${op.name} cannot be evaluated here`);
    const types = results.map((result) => this.#resultType(result.type));
    const isSensitive = isDTypeSensitive(statement, this.#bindings);
    const context = this.state.context(
      isSensitive ? results.map(({ type }) => this.#bindings.declaredType(type)) : types,
      statement.location,
    );
    const targets = results.map((result, i) => ({ slot: this.#slot(result), type: types[i] }));
    const check = this.#bindings.unrounded ? undefined : this.#overflowChecker.checkFor(statement);
    const fill = this.#argumentReader(statement, isSensitive);
    const { state } = this;
    const evaluateOp = (args: Args): Runtime | readonly Runtime[] => evaluate(args, context);
    const run = isSensitive
      ? evaluateInDeclaredDTypes(statement, evaluateOp, this.#bindings, () => state.recordRounding(statement))
      : evaluateOp;
    const { location } = statement;
    const narrow = narrowing(op, this.#limits);
    const isTracked = location !== undefined && isProofSubject(op);
    const compute = (): Runtime | readonly Runtime[] => {
      state.at = location;
      if (isTracked) state.sanitizer.reached.add(location);
      const args = fill();
      const value = narrow(args, run(args));
      check?.(args, value as Runtime);
      return value;
    };
    const get = this.#cacheUniform(statement, compute);
    const [target, ...otherTargets] = targets;
    if (target && otherTargets.length === 0) {
      const { slot, type } = target;
      return () => void (slots[slot] = checkType(get() as Runtime, type, op.name));
    }
    return () => {
      const values = get() as readonly Runtime[];
      targets.forEach(({ slot, type }, i) => (slots[slot] = checkType(values[i]!, type, op.name)));
    };
  }

  /**
   * Computes a uniform value only once. If the computation reports a finding or poison, each program computes it again.
   */
  #cacheUniform<T>(statement: OpStatement, compute: () => T): () => T {
    const uniformity = this.#uniformValues.uniformityOfResults(statement);
    for (const result of statement.results) this.#uniformValues.set(result, uniformity);
    if (uniformity === undefined) return compute;
    const { state } = this;
    let cachedValue: T | undefined;
    if (uniformity === "launch") this.#cacheResets.push(() => (cachedValue = undefined));
    return () => {
      if (cachedValue !== undefined) return cachedValue;
      const { sanitizer } = state;
      const previousCount = sanitizer.reportCount;
      const value = unpooled(compute);
      if (sanitizer.reportCount === previousCount) cachedValue = value;
      return value;
    };
  }

  /** Returns an op's arguments by name, in a reused object. This is safe because ops are not reentrant. */
  #argumentReader({ op, operands, options }: OpStatement, isDeclared: boolean): () => Args {
    const positional = Object.keys(op.operands).flatMap((name, i) => {
      const argument = operands[i];
      return argument === undefined ? [] : [[name, argument] as const];
    });
    const slots = this.#slots;
    const args: Record<string, Runtime> = {};
    const slotArguments: { readonly name: string; readonly slot: number }[] = [];
    const listArguments: { readonly name: string; readonly get: Get }[] = [];
    for (const [name, argument] of [...positional, ...Object.entries(options)]) {
      if (isValue(argument)) slotArguments.push({ name, slot: this.#slot(argument) });
      else if (isList(argument)) listArguments.push({ name, get: this.#getter(argument, isDeclared) });
      args[name] = isValue(argument) || isList(argument) ? 0 : this.#getter(argument, isDeclared)();
    }
    this.#cacheResets.push(() => {
      for (const { name } of [...slotArguments, ...listArguments]) args[name] = 0;
    });
    return () => {
      for (const { name, slot } of slotArguments) args[name] = slots[slot]!;
      for (const { name, get } of listArguments) args[name] = get();
      return args;
    };
  }

  /** The step of an op on constexprs, with Python's arithmetic. */
  #fold(statement: OpStatement, result: Value): Step {
    const { op, operands, location } = statement;
    const { answer } = op.facts;
    const fold = answer ? (...constants: readonly Constant[]) => answer(this.#bindings.gpu, ...constants) : op.fold;
    if (!fold) throw new Error(`${op.name} of constexprs cannot be evaluated here`);
    const gets = operands.flatMap((operand) => (operand === undefined ? [] : [this.#getter(operand, true)]));
    const [slots, slot] = [this.#slots, this.#slot(result)];
    const { state } = this;
    const get = this.#cacheUniform(statement, () => {
      state.at = location;
      return fold(...gets.map((argument) => constantOf(argument())));
    });
    return () => void (slots[slot] = get());
  }

  // ---- control ------------------------------------------------------------------------------------------------------

  #for(statement: ForStatement): Step {
    const { index, start, end, step, body, location } = statement;
    if (statement.unrolled) return this.#unrolledFor(statement);
    const bounds = [start, end, step].map((bound) => this.#getter(bound));
    const declaredTrips = this.#declaredTrips(statement);
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const type = this.#resultType(index.type);
    const iterate = this.#iteration(this.#block(body), body);
    return () => {
      const [from, to, by] = bounds.map((get) => this.#scalar(get(), "the bounds of this loop depend", location)) as [
        number,
        number,
        number,
      ];
      if (by === 0) fail(endlessLoop.step(), location);
      const most = declaredTrips();
      if (Math.ceil((to - from) / by) > most) this.state.sanitizer.reportProgram(falseHint.trips(most), location);
      const start = mark();
      for (let i = from; by > 0 ? i < to : i > to; i += by) {
        this.state.limit.check(location);
        slots[slot] = type ? full([], toElement(i, type.dtype), type.dtype) : i;
        iterate(start);
      }
    };
  }

  /** The most iterations that the author declares. */
  #declaredTrips({ options: { most }, location }: ForStatement | WhileStatement): () => number {
    if (!most) return () => Infinity;
    const get = this.#getter(most);
    return () => this.#scalar(get(), "how often this loop runs at most depends", location);
  }

  /** One iteration. Releases buffers that no assigned variable refers to. */
  #iteration(steps: readonly Step[], ...blocks: readonly Block[]): (start: PoolMark) => void {
    const slots = this.#slots;
    const liveSlots = blocks.flatMap((block) => assignedIn(block)).map((variable) => this.#slot(variable));
    return (start) => {
      runAll(steps);
      release(start, buffersOf(liveSlots.map((slot) => slots[slot])));
    };
  }

  /** Compiles each iteration separately, because shapes may depend on the index. */
  #unrolledFor({ index, start, end, step, body, location }: ForStatement): Step {
    const [from, to, by] = [start, end, step].map((bound) => this.#constexpr(bound)) as [number, number, number];
    if (by === 0) fail(endlessLoop.step(), location);
    const [slots, slot] = [this.#slots, this.#slot(index)];
    const text = index.type.kind === "constexpr" ? index.type.text : "";
    const iterations: (readonly [number, (start: PoolMark) => void])[] = [];
    this.#uniformValues.set(index, "always");
    for (let i = from; by > 0 ? i < to : i > to; i += by) {
      // Shapes in helper functions may also depend on the index.
      const functions = this.#functions;
      this.#functions = new Map();
      const steps = this.#bindings.withLoopIndex(text, i, () => this.#block(body));
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
  #constexpr(argument: Argument): number {
    const type = typeOfArgument(argument);
    return this.#bindings.dim(type.kind === "constexpr" ? type.text : "");
  }

  #while(statement: WhileStatement): Step {
    const { condition, body, location } = statement;
    const conditionSteps = this.#block(condition);
    const test = this.#getter(condition.yields[0]!);
    const declaredTrips = this.#declaredTrips(statement);
    const iterate = this.#iteration(this.#block(body), condition, body);
    return () => {
      const start = mark();
      const most = declaredTrips();
      for (let iterations = 0; ; iterations++) {
        runAll(conditionSteps);
        if (this.#scalar(test(), "whether this loop goes on depends", location) === 0) return;
        if (iterations === most) this.state.sanitizer.reportProgram(falseHint.trips(most), location);
        this.state.at = location;
        const { limit } = this.state;
        limit.check(location);
        if (iterations >= limit.iterations) fail(endlessLoop.iterations(limit.iterations), location);
        iterate(start);
      }
    };
  }

  #if({ condition, then, otherwise, results, location }: IfStatement): Step {
    const test = this.#getter(condition);
    const arm = (block: Block): readonly Step[] => [
      ...this.#block(block),
      ...results.map((result, i) => this.#assignment(block.yields[i]!, result)),
    ];
    const [yes, no] = [arm(then), arm(otherwise)];
    return () => runAll(this.#scalar(test(), "this branch depends", location) === 0 ? no : yes);
  }

  /** Converts the scalar that a branch or a loop depends on to a number. */
  #scalar(value: Runtime, dependency: string, location: Location | undefined): number {
    if (typeof value !== "object") return Number(value);
    const { data, poison } = value as TileArray;
    if (poison?.[0]) this.state.sanitizer.reportProgram(uninitialized.control(dependency), location);
    return Number(data[0]);
  }
}

/** Thrown to end a program early. */
const EXIT = Symbol("exit");

function runAll(steps: readonly Step[]): void {
  for (const step of steps) step();
}

const constant =
  (value: Runtime): Get =>
  () =>
    value;

/** A constant for `fold`, which accepts a dtype as its name. */
function constantOf(value: Runtime): Constant {
  return typeof value === "object" && "kind" in value && value.kind === "dtype" ? value.dtype : (value as Constant);
}

const toElement = (value: Constant, dtype: DTypeName): number | bigint =>
  isBig(dtype) ? BigInt(value) : Number(value);

/** Checks that a computed value has the type inferred by the type rule. */
function checkType(value: Runtime, type: ResultType | undefined, name: string): Runtime {
  if (!type || typeof value !== "object" || !("shape" in value && "dtype" in value)) return value;
  if (value.dtype === type.dtype && isSameShape(value.shape, type.shape)) return value;
  throw new Error(
    `${name} computed ${value.dtype}[${value.shape.join(", ")}], its type is ${type.dtype}[${type.shape.join(", ")}]`,
  );
}

/** True if proof obligations refer to this pure op: to its dividend, overflow, padding or claim. */
function isProofSubject({ effect, facts: { integer }, proof: { claims, foldSemantics: folds, wraps } }: Op): boolean {
  const isDivision = integer === "quotient" || integer === "remainder";
  return effect === "pure" && (isDivision || wraps === true || folds !== undefined || claims !== undefined);
}
