/** The current launch and program, shared by all prepared steps. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { OpStatement } from "../ir/nodes.js";
import type { DTypeName } from "../types/dtype.js";
import type { Context, ResultType } from "../values/runtime-values.js";
import type { Prints } from "./findings.js";
import { load, store, atomic, poll } from "./memory-access.js";
import { Sanitizer } from "./sanitizer.js";
import { type Tensor, tensorAt } from "./tensor.js";
import { RunLimit } from "./limits.js";

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
