/** What the parts of a warp-specialised kernel call the things that they share. */
import type { TensorParam } from "../../ir/nodes.js";
import type { Name } from "../python/py.js";

/** A tensor's descriptor, and the shared memory that its blocks pass through. */
export interface Staged {
  readonly tensor: TensorParam;
  readonly descriptor: Name;
  readonly blocks: Name;
}

export interface PartNames {
  /** The rows' operand of the product, then the columns'. */
  readonly operands: readonly [Staged, Staged];
  readonly outputs: ReadonlyMap<TensorParam, Staged>;
  readonly filled: Name;
  readonly emptied: Name;
  /** Constexprs: slots of the ring, consumers, pieces of a stored tile. */
  readonly stages: Name;
  readonly consumers: Name;
  readonly pieces: Name;
  readonly depth: Name;
  /** The number of a consumer. */
  readonly part: Name;
  /** The rows of a tile. */
  readonly rows: Name;
  /** The layout of the products, in a consumer. */
  readonly layout: Name;
}
