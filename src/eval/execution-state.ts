/** The current launch and program, shared by all prepared steps. */
import type { Location } from "../diagnostics/diagnostic.js";
import { type OpStatement, type KernelIR, tensorsOf } from "../ir/nodes.js";
import type { DTypeName } from "../types/dtype.js";
import type { Context, ResultType } from "../values/runtime-values.js";
import type { Prints } from "./findings.js";
import { load, store, atomic, poll } from "./memory-access.js";
import { Sanitizer } from "./sanitizer.js";
import { type Tensor, tensorAt } from "./tensor.js";
import { EvaluationTimeout } from "../compiled/errors.js";
import type { Bindings } from "./bindings.js";

// The limits of an evaluation.

/** Number of calls between two readings of the clock. */
const CHECK_INTERVAL = 64;
const MAX_ITERATIONS = 10_000_000;

/** Checked at each program and each iteration of a loop. */
export class RunLimit {
  #steps = 0;

  constructor(
    readonly deadline = Infinity,
    /** A `tl.whileLoop` with more iterations counts as endless. */
    readonly iterations = MAX_ITERATIONS,
  ) {}

  /** @throws EvaluationTimeout */
  check(location: Location | undefined): void {
    if (++this.#steps % CHECK_INTERVAL === 0 && performance.now() > this.deadline)
      throw new EvaluationTimeout(location);
  }
}

// Rejects test cases that exceed the evaluator's memory, which would end the process.

/** Limits on the programs and on the elements of all tensors. */
const MAX_PROGRAMS = 2 ** 24;
const MAX_ELEMENTS = 2 ** 30;

/** @throws RangeError for a test case with too many programs or elements. */
export function checkMemoryLimit(ir: KernelIR, bindings: Bindings, absent?: readonly string[]): void {
  const grid = bindings.host(ir.grid).map(Number);
  const programs = product(grid);
  if (programs > MAX_PROGRAMS)
    throw new RangeError(
      `${ir.name}: the grid [${grid.join(", ")}] has ${programs} programs, and the evaluator runs at most ${MAX_PROGRAMS}; give smaller sizes`,
    );
  checkElements(ir, bindings, absent);
}

/** @throws RangeError if the tensors have too many elements in total. */
export function checkElements(ir: KernelIR, bindings: Bindings, absent: readonly string[] = []): void {
  const tensors = tensorsOf(ir, "in", "inout", "out").filter(({ name }) => !absent.includes(name));
  const elements = tensors.reduce(
    (sum, { dims }) => sum + product(dims.map((dim) => Number(bindings.constant(dim)))),
    0,
  );
  if (elements > MAX_ELEMENTS)
    throw new RangeError(
      `${ir.name}: its tensors have ${elements} elements, and the evaluator has room for ${MAX_ELEMENTS}; give smaller sizes`,
    );
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);

type Triple = readonly [number, number, number];

/** The state of one launch. */
export interface LaunchState {
  readonly memory: readonly Tensor[];
  readonly sanitizer: Sanitizer;
  readonly grid: Triple;
  readonly limit: RunLimit;
  readonly prints?: Prints | undefined;
}

export class ExecutionState {
  memory: readonly Tensor[] = [];
  sanitizer = new Sanitizer([]);
  grid: Triple = [0, 0, 0];
  program: Triple = [0, 0, 0];
  /** The current location, for internal errors of the evaluator. */
  at: Location | undefined;
  /** Ops that rounded although the run is unrounded. */
  readonly rounded = new Set<OpStatement>();

  limit = new RunLimit();
  prints: Prints | undefined;

  launch({ memory, sanitizer, grid, limit, prints }: LaunchState): void {
    this.prints = prints;
    this.limit = limit;
    this.memory = memory;
    this.sanitizer = sanitizer;
    this.grid = grid;
    this.at = undefined;
    this.rounded.clear();
  }

  /** Records an op that rounded in an unrounded run. */
  recordRounding(statement: OpStatement): void {
    this.rounded.add(statement);
  }

  /** Drops references to the launch. */
  end(): void {
    this.memory = [];
    this.sanitizer = new Sanitizer([]);
  }

  /** Starts a program. Program numbers count from 1. */
  begin(number: number): void {
    this.limit.check(this.at);
    this.sanitizer.enterProgram(number);
    const [x = 0, y = 0, z = 0] = this.sanitizer.program(number);
    this.program = [x, y, z];
  }

  /** The evaluation context of a statement's op. */
  context(types: readonly (ResultType | undefined)[], location: Location | undefined): Context {
    return new StatementContext(
      types.map((type) => type ?? NO_RESULT),
      this,
      location,
    );
  }
}

const NO_RESULT: ResultType = { dtype: "int32", shape: [] };

class StatementContext implements Context {
  readonly result: ResultType;

  constructor(
    readonly results: readonly ResultType[],
    readonly state: ExecutionState,
    readonly at: Location | undefined,
  ) {
    this.result = results[0] ?? NO_RESULT;
  }

  get program(): Triple {
    return this.state.program;
  }

  get grid(): Triple {
    return this.state.grid;
  }

  load(...[address, mask, other]: Parameters<Context["load"]>): ReturnType<Context["load"]> {
    return load(address, mask, other, this.state.sanitizer, this.at);
  }

  store(...[address, value, mask]: Parameters<Context["store"]>): void {
    store(address, value, mask, this.state.sanitizer, this.at);
  }

  atomic(...[address, mask, access]: Parameters<Context["atomic"]>): ReturnType<Context["atomic"]> {
    return atomic(address, mask, access, this.state.sanitizer, this.at);
  }

  poll(...[address, expected, how]: Parameters<Context["poll"]>): ReturnType<Context["poll"]> {
    return poll(address, expected, how, this.state.sanitizer, this.at);
  }

  barrier(): void {
    this.state.sanitizer.order.barrier();
  }

  allocationAt(address: bigint, dtype: DTypeName): Tensor {
    return tensorAt(this.state.memory, address, dtype);
  }

  print(...[prefix, values, hex]: Parameters<Context["print"]>): void {
    this.state.prints?.print(prefix, values, hex, { program: this.program, at: this.at });
  }

  undefine(message: Parameters<Context["undefine"]>[0]): void {
    this.state.sanitizer.recordPoison(message, this.at);
  }

  report(...[message, shape, lanes]: Parameters<Context["report"]>): void {
    this.state.sanitizer.reportLanes(message.code, lanes, shape, this.at, () => message);
  }
}
