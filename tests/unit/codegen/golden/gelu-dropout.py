"""Dropout of gelu(x), with its gradient: each element stays with probability 1 - p,
divided by it.

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
        triton.Config({"BLOCK": BLOCK}, num_warps=num_warps)
        for BLOCK, num_warps in [(512, 2), (512, 4), (1024, 4), (2048, 4)]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit(do_not_specialize=["seed"])
def gelu_dropout_forward_kernel(
    x_ptr, y_ptr, p: tl.float32, seed: tl.int32, N, BLOCK: tl.constexpr
):
    # Triton's interpreter ignores these annotations.
    p = tl.full([], p, tl.float32)
    quarter = tl.cdiv(N, 4)
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    least = (tl.full([], 4294967296.0, dtype=tl.float32) * p).to(tl.uint32)
    scale = 1.0 / (1.0 - p)
    random, random_1, random_2, random_3 = tl.randint4x(seed, lanes, 10)
    places = lanes + quarter * 0
    mask = lanes < quarter
    mask_1 = (places < N) & mask
    v = tl.load(x_ptr + places, mask=mask_1, other=0.0).to(tl.float32)
    scaled = tl.abs(v) * 0.30405591591021547
    # Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also
    # serves divisors below 1.
    root = tl.rsqrt(scaled + 1.0)
    t = root * root
    tail = (
        (
            (
                (
                    (
                        (
                            ((t * 0.0364728579 + -0.153639839) * t + 0.189250165) * t
                            + -0.0405197663
                        )
                        * t
                        + 0.122209569
                    )
                    * t
                    + 0.102834351
                )
                * t
                + 0.122131788
            )
            * t
            + 0.121260838
        )
        * t
        * tl.exp2(v * v * -0.7213475204444817)
    )
    scaled_1 = v * tl.where(v < 0.0, tail, 1.0 - tail) * scale
    tl.store(
        y_ptr + places,
        tl.where(random >= least, scaled_1, 0.0).to(y_ptr.dtype.element_ty),
        mask=mask_1,
    )
    places_1 = lanes + quarter * 1
    mask_2 = (places_1 < N) & mask
    v_1 = tl.load(x_ptr + places_1, mask=mask_2, other=0.0).to(tl.float32)
    scaled_2 = tl.abs(v_1) * 0.30405591591021547
    root_1 = tl.rsqrt(scaled_2 + 1.0)
    t_1 = root_1 * root_1
    tail_1 = (
        (
            (
                (
                    (
                        (
                            ((t_1 * 0.0364728579 + -0.153639839) * t_1 + 0.189250165)
                            * t_1
                            + -0.0405197663
                        )
                        * t_1
                        + 0.122209569
                    )
                    * t_1
                    + 0.102834351
                )
                * t_1
                + 0.122131788
            )
            * t_1
            + 0.121260838
        )
        * t_1
        * tl.exp2(v_1 * v_1 * -0.7213475204444817)
    )
    scaled_3 = v_1 * tl.where(v_1 < 0.0, tail_1, 1.0 - tail_1) * scale
    tl.store(
        y_ptr + places_1,
        tl.where(random_1 >= least, scaled_3, 0.0).to(y_ptr.dtype.element_ty),
        mask=mask_2,
    )
    places_2 = lanes + quarter * 2
    mask_3 = (places_2 < N) & mask
    v_2 = tl.load(x_ptr + places_2, mask=mask_3, other=0.0).to(tl.float32)
    scaled_4 = tl.abs(v_2) * 0.30405591591021547
    root_2 = tl.rsqrt(scaled_4 + 1.0)
    t_2 = root_2 * root_2
    tail_2 = (
        (
            (
                (
                    (
                        (
                            ((t_2 * 0.0364728579 + -0.153639839) * t_2 + 0.189250165)
                            * t_2
                            + -0.0405197663
                        )
                        * t_2
                        + 0.122209569
                    )
                    * t_2
                    + 0.102834351
                )
                * t_2
                + 0.122131788
            )
            * t_2
            + 0.121260838
        )
        * t_2
        * tl.exp2(v_2 * v_2 * -0.7213475204444817)
    )
    scaled_5 = v_2 * tl.where(v_2 < 0.0, tail_2, 1.0 - tail_2) * scale
    tl.store(
        y_ptr + places_2,
        tl.where(random_2 >= least, scaled_5, 0.0).to(y_ptr.dtype.element_ty),
        mask=mask_3,
    )
    places_3 = lanes + quarter * 3
    mask_4 = (places_3 < N) & mask
    v_3 = tl.load(x_ptr + places_3, mask=mask_4, other=0.0).to(tl.float32)
    scaled_6 = tl.abs(v_3) * 0.30405591591021547
    root_3 = tl.rsqrt(scaled_6 + 1.0)
    t_3 = root_3 * root_3
    tail_3 = (
        (
            (
                (
                    (
                        (
                            ((t_3 * 0.0364728579 + -0.153639839) * t_3 + 0.189250165)
                            * t_3
                            + -0.0405197663
                        )
                        * t_3
                        + 0.122209569
                    )
                    * t_3
                    + 0.102834351
                )
                * t_3
                + 0.122131788
            )
            * t_3
            + 0.121260838
        )
        * t_3
        * tl.exp2(v_3 * v_3 * -0.7213475204444817)
    )
    scaled_7 = v_3 * tl.where(v_3 < 0.0, tail_3, 1.0 - tail_3) * scale
    tl.store(
        y_ptr + places_3,
        tl.where(random_3 >= least, scaled_7, 0.0).to(y_ptr.dtype.element_ty),
        mask=mask_4,
    )


def _gelu_dropout_forward_meta(x, p=0.5, seed=0):
    """Checks the arguments of gelu_dropout_forward, and allocates its results."""
    _check_operands("gelu_dropout_forward", x=x)
    if x.ndim != 1:
        raise ValueError(f"gelu_dropout_forward: x must have shape [N], got {x.shape}")
    _check_dtypes(
        "gelu_dropout_forward", (torch.float16, torch.bfloat16, torch.float32), x=x
    )
    _check_contiguous("gelu_dropout_forward", x=x)
    return torch.empty_like(x)


def _gelu_dropout_forward(x, p=0.5, seed=0):
    """gelu(x) / (1 - p) where a random number of the element is at least p, else 0."""
    y = _gelu_dropout_forward_meta(x, p, seed)
    _check_float("gelu_dropout_forward: p", p, torch.float32)
    _check_int("gelu_dropout_forward: seed", seed, -(2**31), 2**31 - 1)
    N = x.shape[0]
    if N == 0:
        return y

    _check_reach("gelu_dropout_forward", x=x)
    if not (p >= 0.0 and p < 1.0):
        raise ValueError(
            "gelu_dropout_forward: a requirement does not hold: p >= 0.0 and p < "
            f"1.0 with p = {p}"
        )

    def grid(meta):
        return (triton.cdiv(triton.cdiv(N, 4), meta["BLOCK"]),)

    with torch.cuda.device(x.get_device()):
        gelu_dropout_forward_kernel[grid](x, y, p, seed, N)
    return y


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": BLOCK}, num_warps=num_warps)
        for BLOCK, num_warps in [(512, 2), (512, 4), (1024, 4), (2048, 4)]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit(do_not_specialize=["seed"])
def gelu_dropout_gradient_kernel(
    dy_ptr, x_ptr, dx_ptr, p: tl.float32, seed: tl.int32, N, BLOCK: tl.constexpr
):
    # Triton's interpreter ignores these annotations.
    p = tl.full([], p, tl.float32)
    quarter = tl.cdiv(N, 4)
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    least = (tl.full([], 4294967296.0, dtype=tl.float32) * p).to(tl.uint32)
    scale = 1.0 / (1.0 - p)
    random, random_1, random_2, random_3 = tl.randint4x(seed, lanes, 10)
    places = lanes + quarter * 0
    mask = lanes < quarter
    mask_1 = (places < N) & mask
    v = tl.load(x_ptr + places, mask=mask_1, other=0.0).to(tl.float32)
    # The slope of x · Φ(x): Φ(x) + x · exp(-x² / 2) / √(2π).
    density = tl.exp(v * v * -0.5) * 0.3989422804014327
    scaled = tl.abs(v) * 0.30405591591021547
    # Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also
    # serves divisors below 1.
    root = tl.rsqrt(scaled + 1.0)
    t = root * root
    tail = (
        (
            (
                (
                    (
                        (
                            ((t * 0.0364728579 + -0.153639839) * t + 0.189250165) * t
                            + -0.0405197663
                        )
                        * t
                        + 0.122209569
                    )
                    * t
                    + 0.102834351
                )
                * t
                + 0.122131788
            )
            * t
            + 0.121260838
        )
        * t
        * tl.exp2(v * v * -0.7213475204444817)
    )
    slope = tl.where(v < 0.0, tail, 1.0 - tail) + v * density
    scaled_1 = (
        tl.load(dy_ptr + places, mask=mask_1, other=0.0).to(tl.float32) * slope * scale
    )
    tl.store(
        dx_ptr + places,
        tl.where(random >= least, scaled_1, 0.0).to(dx_ptr.dtype.element_ty),
        mask=mask_1,
    )
    places_1 = lanes + quarter * 1
    mask_2 = (places_1 < N) & mask
    v_1 = tl.load(x_ptr + places_1, mask=mask_2, other=0.0).to(tl.float32)
    density_1 = tl.exp(v_1 * v_1 * -0.5) * 0.3989422804014327
    scaled_2 = tl.abs(v_1) * 0.30405591591021547
    root_1 = tl.rsqrt(scaled_2 + 1.0)
    t_1 = root_1 * root_1
    tail_1 = (
        (
            (
                (
                    (
                        (
                            ((t_1 * 0.0364728579 + -0.153639839) * t_1 + 0.189250165)
                            * t_1
                            + -0.0405197663
                        )
                        * t_1
                        + 0.122209569
                    )
                    * t_1
                    + 0.102834351
                )
                * t_1
                + 0.122131788
            )
            * t_1
            + 0.121260838
        )
        * t_1
        * tl.exp2(v_1 * v_1 * -0.7213475204444817)
    )
    slope_1 = tl.where(v_1 < 0.0, tail_1, 1.0 - tail_1) + v_1 * density_1
    scaled_3 = (
        tl.load(dy_ptr + places_1, mask=mask_2, other=0.0).to(tl.float32)
        * slope_1
        * scale
    )
    tl.store(
        dx_ptr + places_1,
        tl.where(random_1 >= least, scaled_3, 0.0).to(dx_ptr.dtype.element_ty),
        mask=mask_2,
    )
    places_2 = lanes + quarter * 2
    mask_3 = (places_2 < N) & mask
    v_2 = tl.load(x_ptr + places_2, mask=mask_3, other=0.0).to(tl.float32)
    density_2 = tl.exp(v_2 * v_2 * -0.5) * 0.3989422804014327
    scaled_4 = tl.abs(v_2) * 0.30405591591021547
    root_2 = tl.rsqrt(scaled_4 + 1.0)
    t_2 = root_2 * root_2
    tail_2 = (
        (
            (
                (
                    (
                        (
                            ((t_2 * 0.0364728579 + -0.153639839) * t_2 + 0.189250165)
                            * t_2
                            + -0.0405197663
                        )
                        * t_2
                        + 0.122209569
                    )
                    * t_2
                    + 0.102834351
                )
                * t_2
                + 0.122131788
            )
            * t_2
            + 0.121260838
        )
        * t_2
        * tl.exp2(v_2 * v_2 * -0.7213475204444817)
    )
    slope_2 = tl.where(v_2 < 0.0, tail_2, 1.0 - tail_2) + v_2 * density_2
    scaled_5 = (
        tl.load(dy_ptr + places_2, mask=mask_3, other=0.0).to(tl.float32)
        * slope_2
        * scale
    )
    tl.store(
        dx_ptr + places_2,
        tl.where(random_2 >= least, scaled_5, 0.0).to(dx_ptr.dtype.element_ty),
        mask=mask_3,
    )
    places_3 = lanes + quarter * 3
    mask_4 = (places_3 < N) & mask
    v_3 = tl.load(x_ptr + places_3, mask=mask_4, other=0.0).to(tl.float32)
    density_3 = tl.exp(v_3 * v_3 * -0.5) * 0.3989422804014327
    scaled_6 = tl.abs(v_3) * 0.30405591591021547
    root_3 = tl.rsqrt(scaled_6 + 1.0)
    t_3 = root_3 * root_3
    tail_3 = (
        (
            (
                (
                    (
                        (
                            ((t_3 * 0.0364728579 + -0.153639839) * t_3 + 0.189250165)
                            * t_3
                            + -0.0405197663
                        )
                        * t_3
                        + 0.122209569
                    )
                    * t_3
                    + 0.102834351
                )
                * t_3
                + 0.122131788
            )
            * t_3
            + 0.121260838
        )
        * t_3
        * tl.exp2(v_3 * v_3 * -0.7213475204444817)
    )
    slope_3 = tl.where(v_3 < 0.0, tail_3, 1.0 - tail_3) + v_3 * density_3
    scaled_7 = (
        tl.load(dy_ptr + places_3, mask=mask_4, other=0.0).to(tl.float32)
        * slope_3
        * scale
    )
    tl.store(
        dx_ptr + places_3,
        tl.where(random_3 >= least, scaled_7, 0.0).to(dx_ptr.dtype.element_ty),
        mask=mask_4,
    )


def _gelu_dropout_gradient_meta(dy, x, p=0.5, seed=0):
    """Checks the arguments of gelu_dropout_gradient, and allocates its results."""
    _check_operands("gelu_dropout_gradient", dy=dy, x=x)
    if dy.ndim != 1 or x.shape != dy.shape:
        raise ValueError(
            f"gelu_dropout_gradient: dy and x must have shape [N], got {dy.shape} "
            f"and {x.shape}"
        )
    _check_dtypes(
        "gelu_dropout_gradient",
        (torch.float16, torch.bfloat16, torch.float32),
        dy=dy,
        x=x,
    )
    _check_contiguous("gelu_dropout_gradient", dy=dy, x=x)
    return torch.empty_like(dy)


def _gelu_dropout_gradient(dy, x, p=0.5, seed=0):
    """dy times the slope of GELU, scaled, where the element stayed, else 0."""
    dx = _gelu_dropout_gradient_meta(dy, x, p, seed)
    _check_float("gelu_dropout_gradient: p", p, torch.float32)
    _check_int("gelu_dropout_gradient: seed", seed, -(2**31), 2**31 - 1)
    N = dy.shape[0]
    if N == 0:
        return dx

    _check_reach("gelu_dropout_gradient", dy=dy)
    if not (p >= 0.0 and p < 1.0):
        raise ValueError(
            "gelu_dropout_gradient: a requirement does not hold: p >= 0.0 and p "
            f"< 1.0 with p = {p}"
        )

    def grid(meta):
        return (triton.cdiv(triton.cdiv(N, 4), meta["BLOCK"]),)

    with torch.cuda.device(dy.get_device()):
        gelu_dropout_gradient_kernel[grid](dy, x, dx, p, seed, N)
    return dx


@torch.library.custom_op("tilescript::gelu_dropout", mutates_args=())
def gelu_dropout_op(x: torch.Tensor, p: float = 0.5, seed: int = 0) -> torch.Tensor:
    return _gelu_dropout_forward(x, p, seed)


@gelu_dropout_op.register_fake
def _(x, p=0.5, seed=0):
    return _gelu_dropout_forward_meta(x, p, seed)


@torch.library.custom_op("tilescript::gelu_dropout_backward", mutates_args=())
def gelu_dropout_backward_op(
    grad_y: torch.Tensor, x: torch.Tensor, p: float, seed: int
) -> torch.Tensor:
    grad_y = grad_y.contiguous()
    x = x.contiguous()
    return _gelu_dropout_gradient(grad_y, x, p, seed)


@gelu_dropout_backward_op.register_fake
def _(grad_y, x, p, seed):
    grad_y = grad_y.contiguous()
    x = x.contiguous()
    return _gelu_dropout_gradient_meta(grad_y, x, p, seed)


def _gelu_dropout_setup_context(ctx, inputs, output):
    x, p, seed = inputs
    ctx.save_for_backward(x)
    ctx.p = p
    ctx.seed = seed


def _gelu_dropout_backward(ctx, grad_y):
    (x,) = ctx.saved_tensors
    grad_x = gelu_dropout_backward_op(grad_y, x, ctx.p, ctx.seed)
    return grad_x, None, None


gelu_dropout_op.register_autograd(
    _gelu_dropout_backward, setup_context=_gelu_dropout_setup_context
)


def gelu_dropout(x: torch.Tensor, p: float = 0.5, seed: int = 0) -> torch.Tensor:
    """Dropout of gelu(x), with its gradient: each element stays with probability 1 -
    p, divided by it.

    Args:
        x: [N] float16 or bfloat16 or float32, contiguous.
        p: a number, passed as float32.
        seed: a number, passed as int32.

    Returns:
        y: [N] float16 or bfloat16 or float32.
    """
    _refuse_tangents("gelu_dropout", x)
    return gelu_dropout_op(x, p, seed)


def reference_fn(x, p=0.5, seed=0):
    low = 0xFFFFFFFF
    quarter = (x.numel() + 3) // 4
    c0 = torch.arange(quarter, device=x.device)
    c1 = c2 = c3 = torch.zeros_like(c0)
    k0, k1 = seed & low, 0
    for _ in range(10):
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = (b >> 32 & low) ^ c1 ^ k0, (a >> 32 & low) ^ c3 ^ k1
        c1, c3 = b & low, a & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    bits = torch.cat([c0, c1, c2, c3])[: x.numel()]
    least = int(torch.tensor(p, dtype=torch.float32).double() * 2**32)
    return torch.where(bits >= least, torch.nn.functional.gelu(x) / (1 - p), 0)


SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float16), 0.5, 0]


def _check_dtypes(name, expected, /, **tensors):
    """Refuses tensors that are not all of one of the expected dtypes."""
    found = {key: x.dtype for key, x in tensors.items()}
    if set(found.values()) not in [{dtype} for dtype in expected]:
        raise TypeError(f"{name}: needs one dtype of {expected}, got {found}")
    is_wrong = _INTERPRETED and not hasattr(triton, "has_bfloat16")
    if is_wrong and torch.bfloat16 in found.values():
        raise TypeError(f"{name}: Triton's interpreter computes bfloat16 wrongly")


def _check_contiguous(name, /, **tensors):
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(f"{name}: {key} must be contiguous; call .contiguous()")


def _check_reach(name, /, **tensors):
    """Refuses tensors whose offsets do not fit int32, with a tile behind them."""
    for key, x in tensors.items():
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    if torch.finfo(dtype).max < abs(value) < float("inf"):
        raise ValueError(f"{label} must fit {dtype}, got {value}")


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


kernel_fn = gelu_dropout
