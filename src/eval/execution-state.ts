/** The current launch and program, as prepared steps see them. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { OpStatement } from "../ir/nodes.js";
import type { DTypeName } from "../types/dtype.js";
import type { Context, ResultType } from "../values/runtime-values.js";
import { atomic, poll } from "./atomics.js";
import type { Prints } from "./prints.js";
import { load, store } from "./memory-access.js";
import { Sanitizer } from "./sanitizer.js";
import { type Tensor, tensorAt } from "./tensor.js";
import { TimeLimit } from "./time-limit.js";

type Triple = readonly [number, number, number];

/** The state of one launch. */
export interface LaunchState {
  readonly memory: readonly Tensor[];
  readonly sanitizer: Sanitizer;
  readonly grid: Triple;
  readonly limit: TimeLimit;
  readonly prints?: Prints | undefined;
}

export class ExecutionState {
  memory: readonly Tensor[] = [];
  sanitizer = new Sanitizer([]);
  grid: Triple = [0, 0, 0];
  program: Triple = [0, 0, 0];
  /** The current statement, for errors of the evaluator itself. */
  at: Location | undefined;
  /** Where nothing should be rounded: the ops that rounded nevertheless. */
  readonly rounded = new Set<OpStatement>();

  limit = new TimeLimit();
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

  /** Notes that an op rounded where nothing should be. */
  rounds(statement: OpStatement): void {
    this.rounded.add(statement);
  }

  /** Drops references to the launch. */
  end(): void {
    this.memory = [];
    this.sanitizer = new Sanitizer([]);
  }

  /** Starts a program; numbers count from 1. */
  begin(number: number): void {
    this.limit.check(this.at);
    this.sanitizer.enterProgram(number);
    const [x = 0, y = 0, z = 0] = this.sanitizer.program(number);
    this.program = [x, y, z];
  }

  /** The context that a statement's op is evaluated in. */
  context(types: readonly (ResultType | undefined)[], at: Location | undefined): Context {
    return new StatementContext(
      types.map((type) => type ?? NO_RESULT),
      this,
      at,
    );
  }
}

const NO_RESULT: ResultType = { dtype: "int32", shape: [] };

class StatementContext implements Context {
  readonly result: ResultType;

  constructor(
    readonly results: readonly ResultType[],
    readonly running: ExecutionState,
    readonly at: Location | undefined,
  ) {
    this.result = results[0] ?? NO_RESULT;
  }

  get program(): Triple {
    return this.running.program;
  }

  get grid(): Triple {
    return this.running.grid;
  }

  load(...[address, mask, other]: Parameters<Context["load"]>): ReturnType<Context["load"]> {
    return load(address, mask, other, this.running.sanitizer, this.at);
  }

  store(...[address, value, mask]: Parameters<Context["store"]>): void {
    store(address, value, mask, this.running.sanitizer, this.at);
  }

  atomic(...[address, mask, access]: Parameters<Context["atomic"]>): ReturnType<Context["atomic"]> {
    return atomic(address, mask, access, this.running.sanitizer, this.at);
  }

  poll(...[address, expected, how]: Parameters<Context["poll"]>): ReturnType<Context["poll"]> {
    return poll(address, expected, how, this.running.sanitizer, this.at);
  }

  barrier(): void {
    this.running.sanitizer.order.barrier();
  }

  allocationAt(address: bigint, dtype: DTypeName): Tensor {
    return tensorAt(this.running.memory, address, dtype);
  }

  print(...[prefix, values, hex]: Parameters<Context["print"]>): void {
    this.running.prints?.print(prefix, values, hex, { program: this.program, at: this.at });
  }

  undefine(said: Parameters<Context["undefine"]>[0]): void {
    this.running.sanitizer.recordPoison(said, this.at);
  }

  report(...[said, shape, lanes]: Parameters<Context["report"]>): void {
    this.running.sanitizer.lanes(said.code, lanes, shape, this.at, () => said);
  }
}
