/**
 * The loop of the widener, which computes the second factor of a mixed product: it reads a packed block from shared memory,
 * and stores the block that the consumers multiply.
 */
import type { OpStatement } from "../../../ir/nodes.js";
import type { WideningStatements } from "../pattern/gemm-plan.js";
import type { PipelineStep } from "../pattern/pipeline.js";
import type { Widening } from "../pattern/widening.js";
import type { Expression, Name, Statement } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { AheadLoads, IterationCopies, substituted, type Values } from "./ahead-loads.js";
import type { GemmContext } from "./partition-context.js";
import { bufferAt, operandTile, transposed } from "./staged-blocks.js";

/** The partition's part in the emission of the loop. */
interface PartitionSteps {
  readonly run: (steps: readonly PipelineStep[]) => void;
  readonly append: (statement: OpStatement) => void;
}

export class WideningLoop {
  readonly #copies: IterationCopies;
  readonly #ahead: AheadLoads;
  #values: Values = new Map();

  constructor(
    readonly context: GemmContext,
    readonly widening: Widening,
    readonly statements: WideningStatements,
    readonly partition: PartitionSteps,
  ) {
    this.#copies = new IterationCopies(context, partition.append);
    this.#ahead = new AheadLoads(this.#copies, statements.ahead, undefined, 1);
  }

  run(body: readonly PipelineStep[]): void {
    const { builder, pipeline, specialized } = this.context;
    const { kLoop } = specialized.pattern;
    this.#ahead.loadFirst(kLoop.start, 0);
    const block = builder.block(() => {
      const next = this.#ahead.loadNext(kLoop.index, 1);
      this.#values = this.#ahead.valuesOf(kLoop.index, 0);
      for (const statement of this.statements.early) this.#copies.append(statement, this.#values);
      pipeline.declareSlot();
      this.partition.run(body);
      this.#ahead.keep(next);
    });
    builder.append({ ...kLoop, options: {}, body: block });
  }

  /** Reads the packed block, computes the factor and stores it. */
  widen(): void {
    const { builder, pipeline, names } = this.context;
    const { widenedBlocks } = names;
    const { packed, tile, packing, isSwapped } = this.widening;
    const { results, location } = packed.statement;
    const [result] = results;
    if (!result || !widenedBlocks) throw new Error("a mixed product has no packed block");
    const block = builder.copyOf(result);
    const read = (slot: Expression) => py.call(py.attribute(this.#packedBlock(slot), "load"), names.layout);
    builder.assign("packed", { ...packed.statement, results: [block], location }, read, pipeline.readSlot());
    this.#values.set(result, block);
    for (const statement of this.statements.late) this.#copies.append(statement, this.#values);
    const store = (value: Expression, slot: Expression) => {
      const buffer = bufferAt({ blocks: widenedBlocks }, slot);
      return py.call(py.attribute(packing > 1 === isSwapped ? buffer : transposed(buffer), "store"), value);
    };
    builder.appendEffect(store, substituted(tile, this.#values), pipeline.readSlot());
  }

  #packedBlock(slot: Expression): Expression {
    const { names, size, specialized } = this.context;
    const [, columns, inner] = specialized.pattern.shape;
    return operandTile(names.operands[1], false, [rowsOfPacked(size(inner), this.widening), size(columns)], slot);
  }
}

/** The rows of a packed block, for a factor of so many. */
export const rowsOfPacked = (rows: Expression, { packing }: Widening): Expression =>
  packing > 1 ? py.binary(rows, "//", py.number(String(packing))) : rows;

/**
 * The registers of a packed block. Each thread has a column, whose numbers it widens to whole rows of the factor's memory.
 * Of a block with one number per element of the factor, it has vectors of eight columns, which it stores at once.
 */
export function wideningLayout(name: Name, { packing }: Widening): Statement {
  const list = (...items: readonly number[]) => py.list(...items.map((item) => py.number(String(item))));
  const [vector, threads, warps] =
    packing > 1
      ? [
          [1, 1],
          [1, 32],
          [1, 4],
        ]
      : [
          [1, 16],
          [4, 8],
          [4, 1],
        ];
  const layout = py.call("gl.BlockedLayout", list(...vector), list(...threads), list(...warps), list(1, 0));
  return py.assign(name, layout, py.dotted("gl.constexpr"));
}
