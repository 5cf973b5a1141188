/** What the parts of a warp-specialized kernel call the things that they share. */
import type { TensorParam } from "../../../ir/nodes.js";
import type { BarrierName } from "../pattern/pipeline.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression, Name } from "../../syntax/py.js";

/** A tensor's descriptor, and the shared memory that its blocks pass through. */
export interface Staged {
  readonly tensor: TensorParam;
  /** Which of its axes is the first of a block's two. */
  readonly first: number;
  readonly descriptor: Name;
  readonly blocks: Name;
}

export interface PipelineNames {
  /** Constexprs: slots of the ring, and consumers. */
  readonly stages: Name;
  readonly consumers: Name;
  /** The number of a consumer. */
  readonly part: Name;
  /** The rows of a tile. */
  readonly rows: Name;
  readonly barriers: ReadonlyMap<BarrierName, Name>;
  readonly outputs: ReadonlyMap<TensorParam, Staged>;
}

/** For a product. */
export interface PartNames extends PipelineNames {
  /** The rows' operand of the product, then the columns'. */
  readonly operands: readonly [Staged, Staged];
  /** Constexprs: pieces of a stored tile, and how many of them at a time. */
  readonly pieces: Name;
  readonly depth: Name;
  /** The layout of the products, in a consumer. */
  readonly layout: Name;
}

/** For attention. */
export interface AttentionNames extends PipelineNames {
  readonly queries: Staged;
  readonly keys: Staged;
  readonly values: Staged;
  /** The layouts of scores and of the sum. */
  readonly scoresLayout: Name;
  readonly sumLayout: Name;
}

export type SizeOf = (dim: Dim) => Expression;
