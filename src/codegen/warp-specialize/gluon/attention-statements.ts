/**
 * The author's statements in the partitions of warp-specialized attention: restricted to a consumer's rows, with
 * layouts, in one or two copies.
 */
import {
  type Argument,
  type Block,
  type IfStatement,
  isList,
  isValue,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
} from "../../../ir/nodes.js";
import { reducesAccumulator, shapeOf } from "../pattern/attention-layouts.js";
import { axisOf } from "../pattern/tile-schedule.js";
import { isRowMaximum, type ScaledScores } from "../pattern/scaled-scores.js";
import { constexprType } from "../../../types/types.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { ScoresContext } from "./partition-context.js";

export class AttentionStatements {
  /** Replacements of the author's values in the loop that is being emitted. */
  #substitutions = new Map<Value, Argument>();
  /** True while the second copy of a loop is emitted, which has its own values. */
  #isSecondCopy = false;
  /** The author's statements that the partition computes. */
  readonly #partitionStatements: ReadonlySet<Statement>;

  /** The variables that the partition changes, and those that the pipeline changes. */
  readonly #states: ReadonlySet<Variable>;
  readonly #sums: ReadonlySet<Variable>;

  constructor(readonly context: ScoresContext) {
    const { specialized, isConsumer } = context;
    const { pattern } = specialized;
    const isStreamed = "sums" in pattern;
    this.#states = new Set((isStreamed ? [] : pattern.variables).map(({ variable }) => variable));
    this.#sums = new Set((isStreamed ? pattern.sums : [pattern.accumulator]).map(({ variable }) => variable));
    this.#partitionStatements = isConsumer ? specialized.consumerStatements : specialized.producerStatements;
  }

  /** Emits a loop with replacements of the author's values. */
  withSubstitutions(substitutions: ReadonlyMap<Value, Argument>, body: () => void): void {
    this.#substitutions = new Map(substitutions);
    body();
    this.#substitutions = new Map();
  }

  /** Emits the second copy of a loop. */
  inSecondCopy(body: () => void): void {
    this.#isSecondCopy = true;
    this.withSubstitutions(new Map(), body);
    this.#isSecondCopy = false;
  }

  appendNeeded(statements: readonly Statement[]): void {
    const { builder, isConsumer } = this.context;
    for (const statement of statements)
      if (statement.kind === "let") {
        if (isConsumer && (this.#states.has(statement.variable) || this.#sums.has(statement.variable)))
          builder.append(statement);
      } else if (statement.kind === "write") {
        if (isConsumer && this.#states.has(statement.variable))
          builder.append({ ...statement, value: this.currentArgument(statement.value) });
      } else if (this.#partitionStatements.has(statement)) this.#appendStatement(statement);
  }

  /** Appends an author's statement, with the layouts of its tiles. */
  #appendStatement(statement: Statement): void {
    const { builder, rows, specialized, tileLoop, isConsumer } = this.context;
    if (statement.kind === "if") return this.#appendBranch(statement);
    if (statement.kind === "read")
      return builder.append({ ...statement, result: this.currentResult(statement.result) });
    if (statement.kind !== "op") return builder.append(statement);
    if (statement.op.facts.queries === "program")
      return tileLoop.appendProgramId(statement, axisOf(statement) === specialized.longestLast?.axis);
    if (!isConsumer) return builder.append(rows.restrict(statement));
    if (!statement.results.some((value) => this.#substitutions.has(value))) this.#appendOp(statement);
  }

  #appendBranch(statement: IfStatement): void {
    const { builder } = this.context;
    const currentBlock = ({ statements, yields }: Block): Block => {
      const block = builder.block(() => {
        for (const inner of statements) this.#appendStatement(inner);
      });
      return { ...block, yields: yields.map((value) => this.currentArgument(value)) };
    };
    const then = currentBlock(statement.then);
    const otherwise = currentBlock(statement.otherwise);
    // Without their masks, both branches may be identical.
    const isIdentical = this.#substitutions.size > 0 && then.yields.every((value, i) => value === otherwise.yields[i]);
    if (isIdentical)
      return statement.results.forEach((value, i) => void this.#substitutions.set(value, then.yields[i]!));
    const condition = this.currentArgument(statement.condition);
    builder.append({ ...statement, condition, then, otherwise, results: this.currentResults(statement.results) });
  }

  /** The replacement of an argument in the loop that is being emitted. */
  currentArgument(argument: Argument): Argument {
    if (isList(argument)) return argument.map((item) => this.currentArgument(item));
    const replacement = isValue(argument) ? this.#substitutions.get(argument) : undefined;
    return replacement === undefined ? argument : this.currentArgument(replacement);
  }

  /** The results of a statement in the loop that is being emitted. */
  currentResults(values: readonly Value[]): readonly Value[] {
    return values.map((value) => this.currentResult(value));
  }

  currentResult(value: Value): Value {
    if (!this.#isSecondCopy) return value;
    const copy = this.context.builder.copyOf(value);
    this.#substitutions.set(value, copy);
    return copy;
  }

  /** Appends the maximum of scaled scores as the scaled maximum of the products. */
  #appendRowMaximum(statement: OpStatement, { products, factor }: ScaledScores): void {
    const { builder } = this.context;
    for (const result of statement.results) {
      const maximum = builder.freshValue(result.type);
      builder.append({ ...statement, operands: [products, ...statement.operands.slice(1)], results: [maximum] });
      const scaled = builder.replaceOp(
        statement,
        (x, multiplier) => py.binary(x, "*", multiplier),
        maximum,
        this.currentArgument(factor),
      );
      builder.append({ ...scaled, results: [this.currentResult(result)] });
    }
  }

  #appendOp(statement: OpStatement): void {
    const { builder, rows, specialized, names } = this.context;
    const { sides, dims, scaled } = specialized;
    const operand = statement.operands[0] && this.currentArgument(statement.operands[0]);
    const scaledScores = isRowMaximum(statement) && isValue(operand) ? scaled.get(operand) : undefined;
    if (scaledScores) return this.#appendRowMaximum(statement, scaledScores);
    const [result] = statement.results;
    const values = statement.operands.filter((each): each is Value => each !== undefined && isValue(each));
    const isNewTile =
      result !== undefined && shapeOf(result).length > 0 && values.every((each) => shapeOf(each).length === 0);
    const layout = isNewTile ? this.#layoutOf(shapeOf(result)) : undefined;
    const consumerStatement = rows.restrict(statement, layout);
    const operands = consumerStatement.operands.map((each) => each && this.currentArgument(each));
    const layoutOption = layout && consumerStatement.op === statement.op ? { layout: this.#layoutValue(layout) } : {};
    const currentOptions = Object.entries(consumerStatement.options).map(
      ([name, value]) => [name, this.currentArgument(value)] as const,
    );
    const options = { ...Object.fromEntries(currentOptions), ...layoutOption };
    const isExpanded = result && statement.op.spelling.form === "expand" && sides.get(result) === "sum";
    const [expanded] = values;
    if (isExpanded && expanded && shapeOf(expanded)[0] === dims.rows)
      operands[0] = this.#convertLayout(operands[0] as Value, rowLayout(names.accumulatorLayout));
    if (!reducesAccumulator(statement, dims))
      return builder.append({
        ...consumerStatement,
        operands,
        options,
        results: this.currentResults(statement.results),
      });
    const reduced = statement.results.map((value) => ({
      partial: builder.freshValue(value.type),
      result: this.currentResult(value),
    }));
    builder.append({ ...consumerStatement, operands, options, results: reduced.map(({ partial }) => partial) });
    const scoresRowLayout = rowLayout(names.scoresLayout);
    const convert = (x: Expression) => py.call("gl.convert_layout", x, scoresRowLayout);
    for (const { partial, result } of reduced)
      builder.append({ ...builder.replaceOp(consumerStatement, convert, partial), results: [result] });
  }

  #convertLayout(value: Value, layout: Expression): Value {
    return this.context.builder.value(value.type, (x) => py.call("gl.convert_layout", x, layout), value);
  }

  #layoutValue(expression: Expression): Value {
    return this.context.builder.value(constexprType("int", "layout"), () => expression);
  }

  #layoutOf(shape: readonly Dim[]): Expression | undefined {
    const { rows, columns, width } = this.context.specialized.dims;
    const { scoresLayout, accumulatorLayout } = this.context.names;
    const slice = (parent: Expression) => py.call("gl.SliceLayout", py.number("0"), parent);
    const [first, second] = shape;
    if (shape.length === 1) {
      if (first === rows) return rowLayout(scoresLayout);
      return slice(first === columns ? scoresLayout : accumulatorLayout);
    }
    if (second === columns) return scoresLayout;
    return second === width ? accumulatorLayout : undefined;
  }
}

/** The layout of one number per row. */
const rowLayout = (layout: Expression): Expression => py.call("gl.SliceLayout", py.number("1"), layout);
