/** Builds a program statement by statement, from the author's statements and synthetic ops. */
import {
  type Argument,
  type Block,
  type ForStatement,
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

/** Prints an op as Python, given its printed operands. */
export type OpPrinter = (...operands: readonly Expression[]) => Expression;

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

  variable(hint: string, type: Type = INTEGER): Variable {
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
  op(effect: Effect, build: OpPrinter, count: number, name = "index"): Op {
    const op: Op = {
      name,
      operands: Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, "index" as const])),
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

  appendOp(op: Op, operands: readonly Argument[], ...results: readonly Value[]): void {
    this.append({ kind: "op", op, operands, options: {}, results, location: undefined });
  }

  value(type: Type, build: OpPrinter, ...operands: readonly Argument[]): Value {
    const result = this.freshValue(type);
    this.appendOp(this.op("pure", build, operands.length), operands, result);
    return result;
  }

  /** Appends a named value. It has an effect, so that it is computed exactly here. */
  namedValue(name: string, type: Type, build: OpPrinter, ...operands: readonly Argument[]): Value {
    const result = this.freshValue(type);
    this.appendOp(this.op("write", build, operands.length, name), operands, result);
    return result;
  }

  /** Appends an op with an effect and no result. */
  appendEffect(build: OpPrinter, ...operands: readonly Argument[]): void {
    this.appendOp(this.op("write", build, operands.length), operands);
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
