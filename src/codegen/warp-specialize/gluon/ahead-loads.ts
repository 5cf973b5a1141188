/**
 * Loads that a partition performs one loop iteration before their own, so that it does not wait for global memory. Their
 * results are loop-carried variables.
 */
import {
  type Argument,
  isList,
  isValue,
  isZeroLiteral,
  type OpStatement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { tileType } from "../../../types/types.js";
import type { AheadLoad } from "../pattern/gemm-plan.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER } from "./partition-builder.js";
import type { GemmContext } from "./partition-context.js";

const BOOL = tileType("int1", []);

/** The values of the author's statements in one iteration of a loop's body. */
export type Values = Map<Value, Argument>;

/** Appends copies of an author's statements for another iteration. */
export class IterationCopies {
  constructor(
    readonly context: GemmContext,
    readonly appendStatement: (statement: OpStatement) => void,
  ) {}

  /** Appends a copy of an author's statement, and returns its result. */
  append(statement: OpStatement, values: Values, isAnonymous = false): Value {
    const { builder } = this.context;
    const operands = statement.operands.map((each) => each && substituted(each, values));
    const options = Object.entries(statement.options).map(([name, each]) => [name, substituted(each, values)] as const);
    const results = statement.results.map((each) =>
      isAnonymous ? builder.freshValue(each.type) : builder.copyOf(each),
    );
    statement.results.forEach((each, i) => values.set(each, results[i] ?? each));
    this.appendStatement({ ...statement, operands, options: Object.fromEntries(options), results });
    const [result] = results;
    if (!result) throw new Error(`tl.${statement.op.name} computes no value of an iteration`);
    return result;
  }

  /** The index of the author's loop some iterations later. */
  indexAfter(index: Argument, count: number): Argument {
    const { builder, specialized } = this.context;
    if (count === 0) return index;
    const build = (now: Expression, by: Expression) => {
      const distance = times(by, py.number(String(count)));
      return isZero(now) ? distance : py.binary(now, "+", distance);
    };
    return builder.value(INTEGER, build, index, specialized.pattern.kLoop.step);
  }
}

export class AheadLoads {
  /** For each load, its results in the next iterations. */
  readonly #loads: readonly { readonly load: AheadLoad; readonly results: readonly Variable[] }[];

  /**
   * @param hint The name of the variables. Without one, they have the author's.
   * @param count The number of iterations of the author's loop in one of the longest loop.
   */
  constructor(
    readonly copies: IterationCopies,
    loads: readonly AheadLoad[],
    hint: string | undefined,
    count: number,
  ) {
    const { builder } = copies.context;
    this.#loads = loads.map((load) => ({
      load,
      results: Array.from({ length: count }, () => builder.variable(hint, load.load.results[0]?.type)),
    }));
  }

  /** Before a loop: loads for an iteration that follows the one at `start`. */
  loadFirst(start: Argument, i: number): void {
    const { builder } = this.copies.context;
    for (const { load, results } of this.#loads) {
      const result = results[i];
      const initial = result && this.#loadAt(load, this.copies.indexAfter(start, i), true);
      if (initial) builder.append({ kind: "let", variable: result, initial, location: load.load.location });
    }
  }

  /** In a loop of `count` iterations of the author's at a time: loads for those that follow. */
  loadNext(index: Argument, count: number): readonly (readonly Value[])[] {
    return this.#loads.map(({ load, results }) =>
      results.slice(0, count).map((_, i) => this.#loadAt(load, this.copies.indexAfter(index, count + i))),
    );
  }

  /** The values of an iteration that {@link loadFirst} and {@link loadNext} have loaded. */
  valuesOf(index: Argument, i: number): Values {
    const { builder, specialized } = this.copies.context;
    const values: Values = new Map([[specialized.pattern.kLoop.index, index]]);
    for (const { load, results } of this.#loads) {
      const [result] = load.load.results;
      const variable = results[i];
      if (result && variable) values.set(result, builder.read(variable));
    }
    return values;
  }

  /** At the end of a loop's body: keeps what {@link loadNext} has loaded. */
  keep(next: readonly (readonly Value[])[]): void {
    for (const [i, { results }] of this.#loads.entries())
      for (const [j, value] of (next[i] ?? []).entries()) {
        const variable = results[j];
        if (variable) this.copies.context.builder.write(variable, value);
      }
  }

  /** Appends a load for the iteration of an index, which may lie past the last one. */
  #loadAt({ load, address }: AheadLoad, index: Argument, isAnonymous = false): Value {
    const { copies } = this;
    const { builder, specialized } = copies.context;
    const { kLoop } = specialized.pattern;
    const values: Values = new Map([[kLoop.index, index]]);
    for (const statement of address) {
      const [result] = statement.results;
      const known = foldedZero(statement, values);
      if (result && known) values.set(result, known);
      else copies.append(statement, values);
    }
    const within = builder.value(BOOL, (now, end) => py.compare(now, ["<", end]), index, kLoop.end);
    const { mask } = load.options;
    const both = (x: Expression, y: Expression) => py.binary(x, "&", y);
    const limited = mask === undefined ? within : builder.value(BOOL, both, within, substituted(mask, values));
    return copies.append({ ...load, options: { ...load.options, mask: limited } }, values, isAnonymous);
  }
}

/** The result of integer arithmetic with the literal 0, which is the index of the first iteration. */
function foldedZero({ op, operands }: OpStatement, values: Values): Argument | undefined {
  const [x, y] = operands.map((each) => each && substituted(each, values));
  if (["floorDiv", "mul", "mod"].includes(op.name) && isZeroLiteral(x)) return x;
  return op.name === "add" && isZeroLiteral(y) ? x : undefined;
}

export const isZero = (expression: Expression): boolean =>
  expression.kind === "number" && Number(expression.text) === 0;
export const isOne = (expression: Expression): boolean => expression.kind === "number" && Number(expression.text) === 1;

export function times(x: Expression, y: Expression): Expression {
  if (isOne(x)) return y;
  return isOne(y) ? x : py.binary(x, "*", y);
}

export function substituted(argument: Argument, values: Values): Argument {
  if (isList(argument)) return argument.map((item) => substituted(item, values));
  return (isValue(argument) ? values.get(argument) : undefined) ?? argument;
}
