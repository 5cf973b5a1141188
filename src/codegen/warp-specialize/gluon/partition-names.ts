/** Names that the partitions of a warp-specialized kernel share. */
import type { TensorParam } from "../../../ir/nodes.js";
import type { BlockAccess } from "../pattern/block-access.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression, Name } from "../../syntax/py.js";

/** A tensor's descriptor, and the shared memory that buffers its blocks. */
export interface StagedTensor {
  readonly tensor: TensorParam;
  /** The tensor axis that is the first of a block's two axes. */
  readonly firstAxis: number;
  readonly descriptor: Name;
  readonly blocks: Name;
}

/** An output, with its first store. */
export interface StagedOutput extends StagedTensor {
  readonly store: BlockAccess;
}

export interface PipelineNames {
  /** Constexprs: slots of the ring buffer, and number of consumers. */
  readonly stages: Name;
  readonly consumers: Name;
  /** The index of a consumer. */
  readonly consumerIndex: Name;
  /** The number of rows of a tile. */
  readonly rows: Name;
  readonly barriers: ReadonlyMap<string, Name>;
  readonly outputs: ReadonlyMap<TensorParam, StagedOutput>;
}

export function barrierName(barriers: PipelineNames["barriers"], barrier: string): Name {
  const name = barriers.get(barrier);
  if (!name) throw new Error(`the pipeline has no barrier ${barrier}`);
  return name;
}

/** The names of a GEMM. */
export interface GemmNames extends PipelineNames {
  /** The operand with the rows, then the operand with the columns. */
  readonly operands: readonly [StagedTensor, StagedTensor];
  /** Constexprs: pieces of a stored tile, and number of piece buffers. */
  readonly pieces: Name;
  readonly depth: Name;
  /** The layout of the sum of products in a consumer, and of the packed block in the widener. */
  readonly layout: Name;
  /** The blocks of the second factor, if the widener computes them. */
  readonly widenedBlocks?: Name;
  /** The scales of the rows, and a constexpr: the number of products in flight. */
  readonly rowScales?: StagedTensor;
  readonly inFlight: Name;
  /** For promoted sums: a constexpr, the number of products that make a tile's width, and the layout of one. */
  readonly products: Name;
  readonly productLayout: Name;
}

/** The names of a form with scores and sums: the layouts of both. */
export interface ScoresNames extends PipelineNames {
  readonly scoresLayout: Name;
  readonly accumulatorLayout: Name;
}

/** The names of attention. */
export interface AttentionNames extends ScoresNames {
  readonly queries: StagedTensor;
  readonly keys: StagedTensor;
  readonly values: StagedTensor;
  /** A constexpr, if a config has long heads: the pieces in which a consumer stores its rows. */
  readonly pieces?: Name;
}

/** The names of streamed products. */
export interface StreamedNames extends ScoresNames {
  /** The blocks that a program keeps, those that it loads, and vectors. */
  readonly residents: readonly StagedTensor[];
  readonly streams: readonly StagedTensor[];
  readonly vectors: readonly StagedTensor[];
}

export type SizeOf = (dim: Dim) => Expression;
