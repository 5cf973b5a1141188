/** What a module with a warp-specialized kernel has besides: imports, and the functions that its parts share. */
import type { Block, FromImport, FunctionDef, Statement } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { helper } from "../../syntax/helper-function.js";

/** The copies of blocks, which Triton 3.6 and 3.9 name differently. */
export const LOAD_BLOCK = "_load_block";
export const STORE_BLOCK = "_store_block";
/** Writes a tile of a consumer in pieces. */
export const WRITE_PIECES = "_write_pieces";
/** Writes a tile of a consumer as a whole. */
export const WRITE_BLOCK = "_write_block";
const PIECES_OF = "_pieces_of";
export const DESCRIBED = "_described";
export const IS_SPECIALISED = "_is_specialized";
const IS_MOVABLE = "_is_movable";
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

/** `tma.async_load`, or what Triton 3.6 calls it. */
const copyOf = (target: string, now: string, before: string): Statement =>
  py.assign(
    py.name(target),
    py.conditional(
      py.dotted(`tma.${now}`),
      py.call("hasattr", py.name("tma"), py.string(now)),
      py.dotted(`tma.${before}`),
    ),
  );

export const copyNames: Block = [
  py.comment("Triton 3.6 has other names for what the copy engine does."),
  copyOf(LOAD_BLOCK, "async_load", "async_copy_global_to_shared"),
  copyOf(STORE_BLOCK, "async_store", "async_copy_shared_to_global"),
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

/** What a product calls; blocks of more axes than a tile's are seen as tiles. */
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

/** What attention calls. */
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

/** The functions for the GPU that the parts of a kernel call. */
export const deviceHelpers = { gemm: pieceHelpers(false), batch: pieceHelpers(true), attention: blockHelpers };

export const hostHelpers: readonly FunctionDef[] = [
  helper(
    IS_SPECIALISED,
    "*tensors",
    "Whether the GPU and the layouts of the tensors suit the warp-specialized kernel.",
    `if _INTERPRETED or torch.compiler.is_compiling() or torch.version.hip:
    return False
if torch.cuda.get_device_capability() != (9, 0):
    return False
return all(map(${IS_MOVABLE}, tensors))`,
  ),
  helper(
    IS_MOVABLE,
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
  helper(
    DESCRIBED,
    "tensor",
    "A descriptor of the tensor, whose block the config sets.",
    `size = tensor.element_size()
layout = gl.NVMMASharedLayout(0, 8 * size, rank=tensor.ndim)
block = [1] * (tensor.ndim - 1) + [16 // size]
return ${GLUON_DESCRIPTOR}.from_tensor(tensor, block, layout)`,
  ),
  helper(
    SET_BLOCK,
    "desc block",
    "Gives a descriptor the block of the config that is to run.",
    `dtype = getattr(gl, str(desc.base.dtype).removeprefix("torch."))
desc.block_shape = block
desc.layout = gl.NVMMASharedLayout.get_default_for(block, dtype)`,
  ),
];
