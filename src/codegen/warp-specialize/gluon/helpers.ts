/** Names that modules with a warp-specialized kernel take from Gluon and from the library. */
import type { FromImport } from "../../syntax/py.js";

/** Copies of blocks from and to global memory. */
export const LOAD_BLOCK = "_load_block";
export const STORE_BLOCK = "_store_block";
/** Stores a consumer's tile in pieces. */
export const WRITE_PIECES = "_write_pieces";
/** Triton's function, which Gluon lacks. */
export const SWIZZLE_2D = "_swizzle2d";
/** Promoted sums: the split into pieces, the addition of a product, and the whole. */
export const SPLIT_SUM = "_split_sum";
export const ADD_PRODUCT = "_add_product";
export const JOIN_SUM = "_join_sum";
/** Stores a consumer's tile as a whole. */
export const WRITE_BLOCK = "_write_block";
const FENCE = "fence_async_shared";
export const MAKE_DESCRIPTOR = "_described";
export const CAN_SPECIALIZE = "_is_specialized";
export const SET_BLOCK = "_set_block";

/** The imports of partitions. */
export const gluonImports = (isMentioned: (name: string) => boolean): readonly FromImport[] => [
  { kind: "fromImport", module: "triton.experimental", names: [{ name: "gluon" }] },
  { kind: "fromImport", module: "triton.experimental.gluon", names: [{ name: "language", as: "gl" }] },
  {
    kind: "fromImport",
    module: "triton.experimental.gluon.language.nvidia.hopper",
    names: [FENCE, "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait"]
      .filter((name) => name !== FENCE || [FENCE, WRITE_BLOCK, WRITE_PIECES].some(isMentioned))
      .map((name) => ({ name })),
  },
];
