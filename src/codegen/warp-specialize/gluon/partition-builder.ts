/** Builds a program statement by statement, from the author's statements and synthetic ops. */
import {
  type Argument,
  type Block,
  type ForStatement,
  type OpStatement,
  type ReadStatement,
  type Scope,
  type Statement,
  Value,
  Variable,
} from "../../../ir/nodes.js";
import type { Effect, Op } from "../../../ir/op.js";
import { none, tileType, type Type } from "../../../types/types.js";
import type { SyntheticOps } from "../../body/print-op.js";
import type { Expression } from "../../syntax/py.js";

/** The printed form of each operand. */
type Printed<Operands extends readonly Argument[]> = { readonly [I in keyof Operands]: Expression };

/** Prints an op as Python, given its printed operands. */
export type OpPrinter<Operands extends readonly Argument[] = readonly Argument[]> = (
  ...operands: Printed<Operands>
) => Expression;

/** The program of a partition, and the printers of its synthetic ops. */
export interface WarpPartition {
  readonly block: Block;
  readonly syntheticOps: SyntheticOps;
}

export const INTEGER = tileType("int32", []);

export class PartitionBuilder {
  readonly #syntheticOps = new Map<Op, OpPrinter>();
  #nextId = -1;
  #statements: Statement[] = [];

  constructor(readonly scope: Scope) {}

  partition(body: () => void): WarpPartition {
    return { block: this.block(body), syntheticOps: this.#syntheticOps };
  }

  block(body: () => void): Block {
    const outer = this.#statements;
    this.#statements = [];
    body();
    const statements = this.#statements;
    this.#statements = outer;
    return { statements, yields: [] };
  }

  variable(hint: string | undefined, type: Type = INTEGER): Variable {
    return new Variable(this.#nextId--, type, this.scope, undefined, hint);
  }

  freshValue(type: Type): Value {
    return new Value(this.#nextId--, type, this.scope, undefined, undefined, true);
  }

  /** A copy of one of the author's values. */
  copyOf({ type, location: at, parameter, isAnonymous: anonymous, definingOp: by }: Value): Value {
    return new Value(this.#nextId--, type, this.scope, at, parameter, anonymous, by);
  }

  /** @param name The name of the results. */
  #op<Operands extends readonly Argument[]>(
    effect: Effect,
    build: OpPrinter<Operands>,
    operands: Operands,
    name?: string,
  ): Op;
  #op(effect: Effect, build: OpPrinter, operands: readonly Argument[], name = "index"): Op {
    const op: Op = {
      name,
      operands: Object.fromEntries(operands.map((_, i) => [`x${i}`, "index" as const])),
      options: {},
      method: false,
      variadic: false,
      hasRestOperand: false,
      effect,
      spelling: { form: "lowered" },
      infer: () => none,
      facts: {},
      needs: {},
      triton36: {},
      proof: {},
    };
    this.#syntheticOps.set(op, build);
    return op;
  }

  /** The statement, computed by an op that `build` prints. */
  replaceOp<const Operands extends readonly Argument[]>(
    statement: OpStatement,
    build: OpPrinter<Operands>,
    ...operands: Operands
  ): OpStatement {
    return { ...statement, op: this.#op(statement.op.effect, build, operands), operands, options: {} };
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  append(...statements: readonly Statement[]): void {
    this.#statements.push(...statements);
  }

  let(variable: Variable, initial: Argument): void {
    this.append({ kind: "let", variable, initial, location: undefined });
  }

  read(variable: Variable): Value {
    const result = this.freshValue(variable.type);
    const statement: ReadStatement = { kind: "read", variable, result, location: undefined };
    this.append(statement);
    return result;
  }

  write(variable: Variable, value: Argument): void {
    this.append({ kind: "write", variable, value, location: undefined });
  }

  #appendOp(op: Op, operands: readonly Argument[], ...results: readonly Value[]): void {
    this.append({ kind: "op", op, operands, options: {}, results, location: undefined });
  }

  value<const Operands extends readonly Argument[]>(
    type: Type,
    build: OpPrinter<Operands>,
    ...operands: Operands
  ): Value {
    const result = this.freshValue(type);
    this.#appendOp(this.#op("pure", build, operands), operands, result);
    return result;
  }

  /** Appends an op with several results. `names` lists their names. */
  appendUnpacked<const Operands extends readonly Argument[]>(
    names: string,
    results: readonly Value[],
    build: OpPrinter<Operands>,
    ...operands: Operands
  ): void {
    this.#appendOp(this.#op("pure", build, operands, names), operands, ...results);
  }

  /** Appends a statement that computes the results of one of the author's exactly here. */
  assign<const Operands extends readonly Argument[]>(
    name: string,
    { results, location }: OpStatement,
    build: OpPrinter<Operands>,
    ...operands: Operands
  ): void {
    const op = this.#op("write", build, operands, name);
    this.append({ kind: "op", op, operands, options: {}, results, location });
  }

  /** Appends a named value. It has an effect, so that it is computed exactly here. */
  namedValue<const Operands extends readonly Argument[]>(
    name: string,
    type: Type,
    build: OpPrinter<Operands>,
    ...operands: Operands
  ): Value {
    const result = this.freshValue(type);
    this.#appendOp(this.#op("write", build, operands, name), operands, result);
    return result;
  }

  /** Appends an op with an effect and no result. */
  appendEffect<const Operands extends readonly Argument[]>(build: OpPrinter<Operands>, ...operands: Operands): void {
    this.#appendOp(this.#op("write", build, operands), operands);
  }

  appendIf(condition: Argument, body: () => void): void {
    const otherwise: Block = { statements: [], yields: [] };
    this.append({ kind: "if", condition, then: this.block(body), otherwise, results: [], location: undefined });
  }

  /** Appends `for index in range(end)`, unless `loop` has another range. */
  appendFor(index: Value, end: Argument, body: () => void, loop: Partial<ForStatement> = {}): void {
    const start: Argument = { kind: "literal", value: 0 };
    const step: Argument = { kind: "literal", value: 1 };
    const range = { kind: "for", index, start, end, step, options: {}, unrolled: false, location: undefined } as const;
    this.append({ ...range, ...loop, body: this.block(body) });
  }
}
