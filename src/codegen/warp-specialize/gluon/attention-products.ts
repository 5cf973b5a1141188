/** The products of an attention consumer: queries by keys, and weights by values. */
import type { Value, Variable } from "../../../ir/nodes.js";
import { hasLongHeads } from "../pattern/attention-configs.js";
import type { AttentionLoop } from "../pattern/attention-pattern.js";
import { SPILL_QUERIES_CONSUMERS } from "../pattern/pipeline.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { AttentionStatements } from "./attention-statements.js";
import type { AttentionContext } from "./partition-context.js";
import { operandTile } from "./staged-blocks.js";

export class AttentionProducts {
  /** The weights of the previous iteration, in the layout of a product's operand. */
  readonly #weights: Variable;
  #queries: Value | undefined;
  /** Products in flight. */
  #pendingScores: Value | undefined;
  #pendingAccumulator: Value | undefined;

  constructor(
    readonly context: AttentionContext,
    readonly statements: AttentionStatements,
  ) {
    const { builder, specialized } = context;
    this.#weights = builder.variable("weights_before", specialized.pattern.loops[0].weights.type);
  }

  /**
   * Loads queries into registers, except in configs that have too few. Initializes the previous iteration's weights to
   * zero.
   */
  loadQueries(): void {
    const { builder, rows, specialized, names, size } = this.context;
    const { queries, shape } = specialized.pattern;
    const [, columns, inner] = shape;
    const tile = operandTile(names.queries, false, [rows.count(), size(inner)], names.consumerIndex);
    const loaded = py.call(py.attribute(tile, "load"), operandLayout(names.scoresLayout));
    const isSpilled = spillCondition(this.context, true);
    const always = isSpilled === true ? tile : loaded;
    const operand = typeof isSpilled === "boolean" ? always : py.conditional(tile, isSpilled, loaded);
    this.#queries = builder.namedValue("queries", queries.value.type, () => operand);
    const { type } = this.#weights;
    if (type.kind !== "tile") return;
    const zeros = py.list(rows.count(), size(columns));
    const initial = builder.value(
      type,
      (dtype) => py.call("gl.zeros", zeros, dtype, operandLayout(names.accumulatorLayout)),
      { kind: "dtype", dtype: type.dtype },
    );
    builder.let(this.#weights, initial);
  }

  multiplyKeys({ scores, keys }: AttentionLoop): void {
    const { builder, pipeline, rows, specialized, names, size } = this.context;
    const [, columns, inner] = specialized.pattern.shape;
    const shape = py.list(rows.count(), size(columns));
    const zeros = py.call("gl.zeros", shape, py.dotted("gl.float32"), names.scoresLayout);
    this.#pendingScores = builder.namedValue(
      "scoring",
      scores.results[0].type,
      (queries, slot) => {
        const tile = operandTile(names.keys, keys.isSwapped, [size(inner), size(columns)], slot);
        const keywords = py.keywords({ use_acc: py.boolean(false), is_async: py.boolean(true) });
        return py.call("warpgroup_mma", queries, tile, zeros, ...keywords);
      },
      resultOfStep(this.#queries),
      pipeline.readSlot(),
    );
  }

  multiplyValues({ values, accumulator }: AttentionLoop): void {
    const { builder, pipeline, specialized, names, size } = this.context;
    const [, columns, , width] = specialized.pattern.shape;
    this.#pendingAccumulator = builder.namedValue(
      "adding",
      accumulator.type,
      (weights, sum, slot) => {
        const tile = operandTile(names.values, values.isSwapped, [size(columns), size(width)], slot);
        return py.call("warpgroup_mma", weights, tile, sum, py.keyword("is_async", py.boolean(true)));
      },
      builder.read(this.#weights),
      builder.read(accumulator),
      pipeline.readSlot(),
    );
  }

  awaitScores({ scores, accumulator }: AttentionLoop): void {
    const { builder } = this.context;
    const accumulatorResult = builder.freshValue(accumulator.type);
    builder.appendUnpacked(
      "products, sums",
      [...this.statements.currentResults(scores.results), accumulatorResult],
      (...pending) => py.call("warpgroup_mma_wait", py.number("1"), py.keyword("deps", py.tuple(...pending))),
      resultOfStep(this.#pendingScores),
      resultOfStep(this.#pendingAccumulator),
    );
    this.#pendingAccumulator = accumulatorResult;
  }

  awaitAccumulator({ accumulator }: AttentionLoop): void {
    const { builder } = this.context;
    const sum = builder.value(
      accumulator.type,
      (pending) => py.call("warpgroup_mma_wait", py.number("0"), py.keyword("deps", py.tuple(pending))),
      resultOfStep(this.#pendingAccumulator),
    );
    builder.write(accumulator, sum);
  }

  /** Sets the operands of the next iteration's product of weights and values. */
  updateOperands({ weights, accumulator, carried }: AttentionLoop): void {
    const { builder, names } = this.context;
    const operand = builder.value(
      this.#weights.type,
      (value) => py.call("gl.convert_layout", value, operandLayout(names.accumulatorLayout)),
      this.statements.currentArgument(weights),
    );
    builder.write(this.#weights, operand);
    builder.write(accumulator, this.statements.currentArgument(carried));
  }
}

/** The result of an earlier step of the pipeline. */
function resultOfStep(result: Value | undefined): Value {
  if (!result) throw new Error("a step of the pipeline comes before the one that it depends on");
  return result;
}

/**
 * The condition on a config's constexprs that products read queries from shared memory, or from registers. A truth value
 * if it is the same for all configs.
 */
export function spillCondition(
  { specialized: { configs }, names: { consumers, pieces } }: AttentionContext,
  isSpilled: boolean,
): Expression | boolean {
  if (configs.every(hasLongHeads)) return isSpilled;
  const mayHaveThree = configs.some((config) => config.consumers === SPILL_QUERIES_CONSUMERS);
  const three = py.compare(consumers, [isSpilled ? "==" : "<", py.number(String(SPILL_QUERIES_CONSUMERS))]);
  const tests = [
    ...(mayHaveThree ? [three] : []),
    ...(pieces ? [py.compare(pieces, [isSpilled ? ">" : "==", py.number("1")])] : []),
  ];
  return tests.length > 0 ? py.boolOp(isSpilled ? "or" : "and", ...tests) : !isSpilled;
}

/** The layout of a product's first operand in registers. */
const operandLayout = (parent: Expression): Expression =>
  py.call("gl.DotOperandLayout", py.number("0"), parent, py.number("2"));
