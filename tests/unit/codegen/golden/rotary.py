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
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_H": BLOCK_H}, num_warps=num_warps)
        for BLOCK_H, num_warps in [(4, 2), (8, 4), (16, 4), (32, 8)]
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
            "rotate: x, cos and sin must have shapes [S, H, D], [S, HALF] and "
            f"[S, HALF], got {x.shape}, {cos.shape} and {sin.shape}"
        )
    S = x.shape[0]
    H = x.shape[1]
    HALF = cos.shape[1]
    D = HALF * 2
    if x.shape[2] != D:
        raise ValueError(
            f"rotate: x must have shape [S={S}, H={H}, D={D}], got {x.shape}"
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

    tensors = {"x": x, "cos": cos, "sin": sin, "out": y}
    _check_reach("rotate", **tensors)
    BLOCK_HALF = triton.next_power_of_2(HALF)
    if BLOCK_HALF < 1 or (BLOCK_HALF & (BLOCK_HALF - 1)) != 0 or BLOCK_HALF > 2**20:
        raise ValueError(
            "rotate: BLOCK_HALF must be a power of two, at most 2**20, got "
            f"{BLOCK_HALF}"
        )

    def grid(meta):
        return _checked_grid("rotate", (S, triton.cdiv(H, meta["BLOCK_H"])))

    with torch.cuda.device(x.get_device()):
        rotate_kernel[grid](
            *tensors.values(),
            H,
            D,
            HALF,
            *_strides(tensors),
            BACK=BACK,
            BLOCK_HALF=BLOCK_HALF,
        )
    return y


@torch.library.custom_op("tilescript::rotary", mutates_args=())
def rotary_op(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _rotate(x, cos, sin, False)


@rotary_op.register_fake
def _(x, cos, sin):
    return _rotate_meta(x, cos, sin, False)


@torch.library.custom_op("tilescript::rotary_backward", mutates_args=())
def rotary_backward_op(
    grad_y: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> torch.Tensor:
    return _rotate(grad_y, cos, sin, True)


@rotary_backward_op.register_fake
def _(grad_y, cos, sin):
    return _rotate_meta(grad_y, cos, sin, True)


def _rotary_setup_context(ctx, inputs, output):
    _, cos, sin = inputs
    ctx.save_for_backward(cos, sin)


def _rotary_backward(ctx, grad_y):
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


def reference_fn(x, cos, sin):
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
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_reach(name, /, **tensors):
    """Refuses tensors whose offsets do not fit int32, with a tile behind them."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _checked_grid(name, grid, /):
    """The grid, unless it has more programs along an axis than a GPU launches."""
    most = (2**31 - 1, 65535, 65535)
    if any(count > limit for count, limit in zip(grid, most)):
        raise ValueError(f"{name}: a GPU launches at most {most} programs, got {grid}")
    return grid


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _check_type(label, value, *types):
    """Refuses a value of another type; True and False are not integers here."""
    if type(value) not in types:
        kind = types[0].__name__
        raise TypeError(f"{label} must be of type {kind}, got {value!r:.80}")


def _check_operands(name, /, **tensors):
    """Refuses tensors that are not on one GPU. They may be traced."""
    device = None
    for key, x in tensors.items():
        if x is None:
            continue
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        is_traced = type(x) not in (torch.Tensor, torch.nn.Parameter)
        if x.device != device or not (x.is_cuda or _INTERPRETED or is_traced):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )


def _refuse_tangents(name, *tensors):
    """Refuses tensors with tangents, which a PyTorch operator drops."""
    for x in tensors:
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError(f"{name} has no forward-mode gradient")


kernel_fn = rotary
