"""Rotary position embedding: the pair (x[i], x[i + D/2]) of each head turns by the
angle of its token and of i.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# The maximum number of elements of a tile.
_MAX_TILE = 2**20
# The maximum number of programs along each axis of a grid.
_MAX_GRID = (2**31 - 1, 65535, 65535)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_H": 4}, num_warps=2),
        triton.Config({"BLOCK_H": 8}, num_warps=4),
        triton.Config({"BLOCK_H": 16}, num_warps=4),
        triton.Config({"BLOCK_H": 32}, num_warps=8),
    ],
    key=["H", "D"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def rotate_kernel(
    x_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    H,
    D,
    HALF,
    stride_xs,
    stride_xh,
    stride_xd,
    stride_cos_s,
    stride_cos_half,
    stride_sin_s,
    stride_sin_half,
    stride_ys,
    stride_yh,
    stride_yd,
    BACK: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
):
    token = tl.program_id(0)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    i = tl.arange(0, BLOCK_HALF)
    # Lanes past the first half of a head would reach into the second, and past its end.
    mask = i < HALF
    mask_1 = mask[None, :]
    partner = i + HALF
    c = tl.load(
        cos_ptr + token * stride_cos_s + i * stride_cos_half, mask=mask, other=0.0
    )[None, :]
    s = tl.load(
        sin_ptr + token * stride_sin_s + i * stride_sin_half, mask=mask, other=0.0
    )[None, :]
    turned: tl.constexpr = -1 if BACK else 1
    x_base = x_ptr + token * stride_xs
    mask_2 = (head[:, None] < H) & mask_1
    left = tl.load(
        x_base + (head[:, None] * stride_xh + i[None, :] * stride_xd),
        mask=mask_2,
        other=0.0,
    ).to(tl.float32)
    right = tl.load(
        x_base + (head[:, None] * stride_xh + partner[None, :] * stride_xd),
        mask=mask_2,
        other=0.0,
    ).to(tl.float32)
    y_base = y_ptr + token * stride_ys
    tl.store(
        y_base + (head[:, None] * stride_yh + i[None, :] * stride_yd),
        (left * c - right * s * turned).to(y_ptr.dtype.element_ty),
        mask=mask_2,
    )
    tl.store(
        y_base + (head[:, None] * stride_yh + partner[None, :] * stride_yd),
        (right * c + left * s * turned).to(y_ptr.dtype.element_ty),
        mask=mask_2,
    )


def _rotate_meta(x, cos, sin, BACK):
    """Checks the arguments of rotate, and allocates its results."""
    _check_operands("rotate", x=x, cos=cos, sin=sin)
    if (
        x.ndim != 3
        or cos.ndim != 2
        or cos.shape[0] != x.shape[0]
        or sin.shape != cos.shape
    ):
        raise ValueError(
            "rotate: x, cos and sin must have shapes [S, H, D], [S, "
            f"HALF] and [S, HALF], got {list(x.shape)}, {list(cos.shape)} "
            f"and {list(sin.shape)}"
        )
    S = x.shape[0]
    H = x.shape[1]
    HALF = cos.shape[1]
    D = HALF * 2
    if x.shape[2] != D:
        raise ValueError(
            f"rotate: x must have shape [S={S}, H={H}, D={D}], got {list(x.shape)}"
        )
    _check_dtypes("rotate", (torch.float16, torch.bfloat16, torch.float32), x=x)
    _check_dtypes("rotate", (torch.float32,), cos=cos, sin=sin)
    return x.new_empty((S, H, D))


def _rotate(x, cos, sin, BACK):
    """Turns each pair (x[i], x[i + D/2]) of a head by the angle of its token and of
    i, or back.
    """
    y = _rotate_meta(x, cos, sin, BACK)
    _check_type("rotate: BACK", BACK, bool)
    S = x.shape[0]
    H = x.shape[1]
    HALF = cos.shape[1]
    D = HALF * 2
    if S * H * D == 0:
        return y

    _check_reach("rotate", x=x, cos=cos, sin=sin, out=y)
    BLOCK_HALF = triton.next_power_of_2(HALF)
    if BLOCK_HALF > _MAX_TILE:
        raise ValueError(
            f"rotate: BLOCK_HALF would be {BLOCK_HALF}; a tile holds at "
            f"most {_MAX_TILE} elements"
        )
    if BLOCK_HALF < 1 or (BLOCK_HALF & (BLOCK_HALF - 1)) != 0:
        raise ValueError(
            f"rotate: BLOCK_HALF would be {BLOCK_HALF}, and a tile's "
            "dimension is a power of two"
        )
    if not BLOCK_HALF >= HALF:
        raise ValueError(
            "rotate: a requirement does not hold: BLOCK_HALF >= HALF "
            f"with BLOCK_HALF = {BLOCK_HALF}, HALF = {HALF}"
        )
    _check_bfloat16("rotate", x.dtype)

    def grid(meta):
        return _checked_grid(
            "rotate", (S, triton.cdiv(H, meta["BLOCK_H"])), {1: "cdiv(H, BLOCK_H)"}
        )

    with torch.cuda.device(x.get_device()):
        rotate_kernel[grid](
            x,
            cos,
            sin,
            y,
            H,
            D,
            HALF,
            *x.stride(),
            *cos.stride(),
            *sin.stride(),
            *y.stride(),
            BACK=BACK,
            BLOCK_HALF=BLOCK_HALF,
        )
    return y


@torch.library.custom_op("tilescript::rotary", mutates_args=())
def rotary_op(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """torch.ops.tilescript.rotary."""
    return _rotate(x, cos, sin, False)


@rotary_op.register_fake
def _(x, cos, sin):
    return _rotate_meta(x, cos, sin, False)


@torch.library.custom_op("tilescript::rotary_backward", mutates_args=())
def rotary_backward_op(
    grad_y: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    """torch.ops.tilescript.rotary_backward."""
    return _rotate(grad_y, cos, sin, True)


@rotary_backward_op.register_fake
def _(grad_y, cos, sin):
    return _rotate_meta(grad_y, cos, sin, True)


def _rotary_setup_context(ctx, inputs, output):
    """Keeps what the gradient of rotary needs."""
    _, cos, sin = inputs
    ctx.save_for_backward(cos, sin)


def _rotary_backward(ctx, grad_y):
    """The gradients of the inputs of rotary."""
    if ctx.needs_input_grad[1]:
        raise RuntimeError("rotary has no gradient of cos; call it with cos.detach()")
    if ctx.needs_input_grad[2]:
        raise RuntimeError("rotary has no gradient of sin; call it with sin.detach()")
    cos, sin = ctx.saved_tensors
    grad_x = rotary_backward_op(grad_y, cos, sin)
    return grad_x, None, None


rotary_op.register_autograd(_rotary_backward, setup_context=_rotary_setup_context)


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding: the pair (x[i], x[i + D/2]) of each head turns by
    the angle of its token and of i.

    Args:
        x: [S, H, D] float16 or bfloat16 or float32.
        cos, sin: [S, HALF] float32.

    Returns:
        y: [S, H, D] float16 or bfloat16 or float32.
    """
    _refuse_tangents("rotary", x, cos, sin)
    return rotary_op(x, cos, sin)


def reference_fn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
    HALF = cos.shape[1]
    left = x.narrow(2, 0, HALF)
    c = cos.unsqueeze(1)
    right = x.narrow(2, HALF, HALF)
    s = sin.unsqueeze(1)
    return torch.cat(
        [left.mul(c).sub(right.mul(s)), right.mul(c).add(left.mul(s))], -1
    ).to(x.dtype)


SHAPES = [{"S": 20, "H": 6, "HALF": 40}, {"S": 4096, "H": 32, "HALF": 64}]


def get_inputs(S=20, H=6, HALF=40):
    device = "cpu" if _INTERPRETED else "cuda"
    D = HALF * 2
    return [
        torch.randn((S, H, D), device=device, dtype=torch.float16),
        torch.randn((S, HALF), device=device, dtype=torch.float32),
        torch.randn((S, HALF), device=device, dtype=torch.float32),
    ]


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    (first, x), *others = tensors.items()
    if x.dtype not in expected:
        dtypes = " or ".join(map(str, expected))
        raise TypeError(f"{name}: {first} must be {dtypes}, got {x.dtype}")
    for key, y in others:
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name}: {key} must be {x.dtype} as {first} is, got {y.dtype}"
            )


def _check_reach(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors whose offsets do not fit int32."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= _INT32_REACH:
            raise ValueError(
                f"{name}: {key} spans more elements than int32 offsets reach; "
                "build the kernel with { offsets: tl.int64 } for it"
            )


def _checked_grid(name, grid, lengths, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    for axis, length in lengths.items():
        if grid[axis] > _MAX_GRID[axis]:
            raise ValueError(
                f"{name}: axis {axis} of the grid has {length} = {grid[axis]} programs "
                f"and a GPU launches at most {_MAX_GRID[axis]}; pass the tensors in "
                "parts, or give the kernel a grid with a shorter axis"
            )
    return grid


def _is_traced(tensor: torch.Tensor) -> bool:
    """True if PyTorch is making a graph, whose tensors have no addresses."""
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter)


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


def _check_bfloat16(name, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    if not (torch.bfloat16 in dtypes and triton.knobs.runtime.interpret):
        return
    from triton.runtime.interpreter import InterpreterBuilder

    # TileScript's runner corrects the interpreter, and says so here.
    if not hasattr(InterpreterBuilder, "has_bfloat16"):
        raise NotImplementedError(
            f"{name}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not dense, or not on one device.

    It reads no memory, so that it serves traced tensors too. What else a launch would
    misread, such as lazily negated views, PyTorch resolves before it calls an operator.
    """
    first, device = "", None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if x.is_cpu and not (_INTERPRETED or _is_traced(x)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = rotary
