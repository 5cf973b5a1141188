/** Additions to a module with a warp-specialized kernel: imports, and helper functions of its partitions. */
import type { Block, FromImport, FunctionDef, Statement } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { helperFunction } from "../../syntax/py-build.js";

/** Copies of blocks between global and shared memory. Triton 3.6 and 3.9 name them differently. */
export const LOAD_BLOCK = "_load_block";
export const STORE_BLOCK = "_store_block";
/** Stores a consumer's tile in pieces. */
export const WRITE_PIECES = "_write_pieces";
/** Stores a consumer's tile as a whole. */
export const WRITE_BLOCK = "_write_block";
const PIECES_OF = "_pieces_of";
export const MAKE_DESCRIPTOR = "_described";
export const CAN_SPECIALIZE = "_is_specialized";
const IS_TMA_COMPATIBLE = "_is_movable";
export const SET_BLOCK = "_set_block";
export const GLUON_DESCRIPTOR = "_GluonDescriptor";

const HOPPER = "triton.experimental.gluon.language.nvidia.hopper";

export const gluonImports: readonly FromImport[] = [
  { kind: "fromImport", module: "triton.experimental", names: [{ name: "gluon" }] },
  { kind: "fromImport", module: "triton.experimental.gluon", names: [{ name: "language", as: "gl" }] },
  {
    kind: "fromImport",
    module: HOPPER,
    names: ["fence_async_shared", "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait"].map((name) => ({ name })),
  },
  {
    kind: "fromImport",
    module: "triton.experimental.gluon.nvidia.hopper",
    names: [{ name: "TensorDescriptor", as: GLUON_DESCRIPTOR }],
  },
];

/** Assigns `tma.async_load`, or its name in Triton 3.6. */
const copyAlias = (target: string, name: string, oldName: string): Statement =>
  py.assign(
    py.name(target),
    py.conditional(
      py.dotted(`tma.${name}`),
      py.call("hasattr", py.name("tma"), py.string(name)),
      py.dotted(`tma.${oldName}`),
    ),
  );

export const copyAliases: Block = [
  py.comment("Triton 3.6 has other names for what the copy engine does."),
  copyAlias(LOAD_BLOCK, "async_load", "async_copy_global_to_shared"),
  copyAlias(STORE_BLOCK, "async_store", "async_copy_shared_to_global"),
];

function gluonFunction(name: string, params: string, docstring: string, text: string): FunctionDef {
  return {
    kind: "function",
    name,
    decorators: [py.dotted("gluon.jit")],
    params: params.split(" ").map((each) => {
      const [id = "", annotation] = each.split(":");
      return { name: id, ...(annotation !== undefined && { annotation: py.dotted(annotation) }) };
    }),
    docstring,
    body: [{ kind: "verbatim", text }],
  };
}

/** Helpers of a GEMM. A block with more than two axes is reshaped to a tile. */
const pieceHelpers = (hasLead: boolean): readonly FunctionDef[] => [
  gluonFunction(
    PIECES_OF,
    "tile count:gl.constexpr",
    "The tile's columns in so many pieces, from left to right.",
    `if count == 1:
    return (tile,)
else:
    halves = tile.reshape([tile.shape[0], 2, tile.shape[1] // 2])
    left, right = halves.permute(0, 2, 1).split()
    return ${PIECES_OF}(left, count // 2) + ${PIECES_OF}(right, count // 2)`,
  ),
  gluonFunction(
    WRITE_PIECES,
    "tile desc start blocks part:gl.constexpr count:gl.constexpr depth:gl.constexpr",
    "Writes a tile in pieces, each by way of one of depth blocks of shared memory.",
    `pieces = ${PIECES_OF}(tile, count)
for i in gl.static_range(count):
    block = blocks.index(part * depth + i % depth)
    tma.store_wait(depth - 1)
    ${hasLead ? "block.reshape(pieces[i].shape)" : "block"}.store(pieces[i])
    fence_async_shared()
    columns = start[${hasLead ? -1 : 1}] + i * (tile.shape[1] // count)
    ${STORE_BLOCK}(desc, ${hasLead ? "start[:-1] + [columns]" : "[start[0], columns]"}, block)`,
  ),
];

/** Helpers of attention. */
const blockHelpers: readonly FunctionDef[] = [
  gluonFunction(
    WRITE_BLOCK,
    "tile desc start block",
    "Writes a tile by way of a block of shared memory.",
    `tma.store_wait(0)
block.reshape(tile.shape).store(tile)
fence_async_shared()
${STORE_BLOCK}(desc, start, block)`,
  ),
];

/** The device functions that a kernel's partitions call. */
export const deviceHelpers = { gemm: pieceHelpers(false), batch: pieceHelpers(true), attention: blockHelpers };

export const hostHelpers: readonly FunctionDef[] = [
  helperFunction(
    CAN_SPECIALIZE,
    "*tensors",
    "Whether the GPU and the layouts of the tensors suit the warp-specialized kernel.",
    `if _INTERPRETED or torch.compiler.is_compiling() or torch.version.hip:
    return False
if torch.cuda.get_device_capability() != (9, 0):
    return False
return all(map(${IS_TMA_COMPATIBLE}, tensors))`,
  ),
  helperFunction(
    IS_TMA_COMPATIBLE,
    "tensor",
    "Whether the copy engine can move blocks of the tensor.",
    `steps = [step * tensor.element_size() for step in tensor.stride()[:-1]]
return (
    tensor.stride(-1) == 1
    and all(step % 16 == 0 and 0 < step < 2**40 for step in steps)
    and tensor.data_ptr() % 16 == 0
    and tensor.numel() > 0
)`,
  ),
  helperFunction(
    MAKE_DESCRIPTOR,
    "tensor",
    "A descriptor of the tensor, whose block the config sets.",
    `size = tensor.element_size()
layout = gl.NVMMASharedLayout(0, 8 * size, rank=tensor.ndim)
block = [1] * (tensor.ndim - 1) + [16 // size]
return ${GLUON_DESCRIPTOR}.from_tensor(tensor, block, layout)`,
  ),
  helperFunction(
    SET_BLOCK,
    "desc block",
    "Gives a descriptor the block of the config that is to run.",
    `dtype = getattr(gl, str(desc.base.dtype).removeprefix("torch."))
desc.block_shape = block
desc.layout = gl.NVMMASharedLayout.get_default_for(block, dtype)`,
  ),
];
