/** The author's statements in the parts of warp-specialized attention: on a consumer's rows, with layouts, once or twice. */
import {
  type Argument,
  type Block,
  type IfStatement,
  isList,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { reducesAccumulator, shapeOf } from "../pattern/attention-layouts.js";
import { axisOf } from "../pattern/tile-schedule.js";
import { isLargestOfRows, type ScaledScores } from "../pattern/scaled-scores.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { constexprType } from "../../../types/types.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { AttentionNames } from "./partition-names.js";
import { PersistentPartition } from "./persistent-partition.js";

export class AttentionStatements extends PersistentPartition {
  /** What values of the author's are in the loop that is being written. */
  stands = new Map<Value, Argument>();
  /** Whether it is written a second time, with values of its own. */
  isAgain = false;
  /** The author's statements that the part computes. */
  readonly needed: ReadonlySet<Statement>;

  constructor(
    readonly specialized: SpecializedAttention,
    readonly names: AttentionNames,
    readonly isConsumer: boolean,
  ) {
    const { accumulator, shape } = specialized.form;
    super(accumulator.variable.scope, shape[0], names);
    this.needed = isConsumer ? specialized.consumed : specialized.produced;
  }

  appendNeeded(statements: readonly Statement[]): void {
    const { form } = this.specialized;
    const kept = new Set([form.accumulator, ...form.states].map(({ variable }) => variable));
    for (const statement of statements)
      if (statement.kind === "let") {
        if (this.isConsumer && kept.has(statement.variable)) this.append(statement);
      } else if (statement.kind === "write") {
        if (this.isConsumer && kept.has(statement.variable) && statement.variable !== form.accumulator.variable)
          this.append({ ...statement, value: this.now(statement.value) });
      } else if (this.needed.has(statement)) this.#appendOwn(statement);
  }

  /** A statement of the author's, with the layouts of its tiles. */
  #appendOwn(statement: Statement): void {
    if (statement.kind === "if") return this.#appendBranch(statement);
    if (statement.kind === "read") return this.append({ ...statement, result: this.anew([statement.result])[0]! });
    if (statement.kind !== "op") return this.append(statement);
    if (statement.op.facts.queries === "program")
      return this.appendProgram(statement, axisOf(statement) === this.specialized.longestLast);
    if (!this.isConsumer) return this.append(this.inRows(statement));
    if (!statement.results.some((value) => this.stands.has(value))) this.#appendOp(statement);
  }

  #appendBranch(statement: IfStatement): void {
    const arms = [statement.then, statement.otherwise].map(({ statements, yields }): Block => {
      const block = this.block(() => {
        for (const inner of statements) this.#appendOwn(inner);
      });
      return { ...block, yields: yields.map((value) => this.now(value)) };
    });
    const [then, otherwise] = arms as [Block, Block];
    // Without their masks both arms may be the same.
    const isSame = this.stands.size > 0 && then.yields.every((value, i) => value === otherwise.yields[i]);
    if (isSame) return statement.results.forEach((value, i) => void this.stands.set(value, then.yields[i]!));
    const condition = this.now(statement.condition);
    this.append({ ...statement, condition, then, otherwise, results: this.anew(statement.results) });
  }

  /** What an argument is in the loop that is being written. */
  now(argument: Argument): Argument {
    if (isList(argument)) return argument.map((item) => this.now(item));
    const other = isValue(argument) ? this.stands.get(argument) : undefined;
    return other === undefined ? argument : this.now(other);
  }

  /** The results of a statement in the loop that is being written. */
  anew(values: readonly Value[]): readonly Value[] {
    if (!this.isAgain) return values;
    return values.map((value) => {
      const other = this.again(value);
      this.stands.set(value, other);
      return other;
    });
  }

  /** The largest of scaled scores, as the largest product, scaled. */
  #appendLargest(statement: OpStatement, { products, factor }: ScaledScores): void {
    const largest = statement.results.map(({ type }) => this.fresh(type));
    this.append({ ...statement, operands: [products, ...statement.operands.slice(1)], results: largest });
    const op = this.op("pure", (x, by) => py.binary(x!, "*", by!), 2);
    const operands = [largest[0]!, this.now(factor)];
    this.append({ ...statement, op, operands, options: {}, results: this.anew(statement.results) });
  }

  #appendOp(statement: OpStatement): void {
    const { sides, dims, scaled } = this.specialized;
    const folded = statement.operands[0] && this.now(statement.operands[0]);
    const found = isLargestOfRows(statement) && isValue(folded!) ? scaled.get(folded) : undefined;
    if (found) return this.#appendLargest(statement, found);
    const [result] = statement.results;
    const taken = statement.operands.filter((each): each is Value => each !== undefined && isValue(each));
    const isMade =
      result !== undefined && shapeOf(result).length > 0 && taken.every((each) => shapeOf(each).length === 0);
    const layout = isMade ? this.#layoutOf(shapeOf(result)) : undefined;
    const own = this.inRows(statement, layout);
    const operands = own.operands.map((each) => each && this.now(each));
    const laid = layout && own.op === statement.op ? { layout: this.#said(layout) } : {};
    const given = Object.entries(own.options).map(([name, value]) => [name, this.now(value)] as const);
    const options = { ...Object.fromEntries(given), ...laid };
    if (result && statement.op.spelling.form === "expand" && sides.get(result) === "sum" && this.#isOfRows(taken[0]!))
      operands[0] = this.#converted(operands[0] as Value, this.#sliceOf(this.names.sumLayout));
    if (!reducesAccumulator(statement, dims))
      return this.append({ ...own, operands, options, results: this.anew(statement.results) });
    const partial = statement.results.map(({ type }) => this.fresh(type));
    this.append({ ...own, operands, options, results: partial });
    const rows = this.#sliceOf(this.names.scoresLayout);
    this.anew(statement.results).forEach((value, i) => {
      const op = this.op("pure", (x) => py.call("gl.convert_layout", x!, rows), 1);
      this.append({ ...own, op, operands: [partial[i]!], options: {}, results: [value] });
    });
  }

  #isOfRows(value: Value): boolean {
    return shapeOf(value)[0] === this.specialized.dims.rows;
  }

  /** How a number for each row lies. */
  #sliceOf(layout: Expression): Expression {
    return py.call("gl.SliceLayout", py.number("1"), layout);
  }

  #converted(value: Value, layout: Expression): Value {
    return this.value(value.type, (x) => py.call("gl.convert_layout", x!, layout), value);
  }

  #said(expression: Expression): Value {
    return this.value(constexprType("int", "layout"), () => expression);
  }

  #layoutOf(shape: readonly Dim[]): Expression | undefined {
    const { rows, columns, width } = this.specialized.dims;
    const { scoresLayout, sumLayout } = this.names;
    const slice = (of: Expression) => py.call("gl.SliceLayout", py.number("0"), of);
    const [first, second] = shape;
    if (shape.length === 1)
      return first === rows ? this.#sliceOf(scoresLayout) : first === columns ? slice(scoresLayout) : slice(sumLayout);
    return second === columns ? scoresLayout : second === width ? sumLayout : undefined;
  }
}
