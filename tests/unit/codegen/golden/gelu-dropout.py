"""Dropout of gelu(x), with its gradient: each element stays with probability 1 - p,
divided by it.

Written by TileScript; edit the TypeScript source instead of this file.
"""

import torch
import triton
import triton.language as tl

# Whether Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20
# Binaries and grids of earlier launches.
_LAUNCHES = {}


def _first_config(_call, quantiles):
    """What no config takes longer than: Triton's interpreter has no clock."""
    return [0.0, 0.0, 0.0]


def _refuse_recording(operator):
    """Refuses calls of an operator whose gradient PyTorch would leave out."""
    label = operator._name

    def checked(keyset, *args):
        wanted = [x.requires_grad for x in args if isinstance(x, torch.Tensor)]
        if torch.is_grad_enabled() and any(wanted):
            raise RuntimeError(
                f"{label}: what is written to a given tensor has no gradient; "
                "call it under torch.no_grad()"
            )
        with torch._C._AutoDispatchBelowAutograd():
            others = keyset & torch._C._after_autograd_keyset
            return operator._opoverload.redispatch(others, *args)

    for device in ("CPU", "CUDA", "Meta"):
        key = f"Autograd{device}"
        operator._lib.impl(label, checked, key, with_keyset=True)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=2),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=4),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def gelu_dropout_forward(
    x: torch.Tensor, p: float = 0.5, seed: int = 0, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """gelu(x) / (1 - p) where a random number of the element is at least p, else 0.

    Args:
        x: [N] float16 or bfloat16 or float32, contiguous.
        p: a number, passed as float32.
        seed: a number, passed as int32.
        out: where to write [N] float16 or bfloat16 or float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_float("gelu_dropout_forward: p", p, torch.float32)
    _check_int("gelu_dropout_forward: seed", seed, torch.int32)
    _check_tensor("gelu_dropout_forward: x", x)
    if x.ndim != 1:
        raise ValueError(
            f"gelu_dropout_forward: x must have shape [N], got {list(x.shape)}"
        )
    N = x.shape[0]
    if not x.is_contiguous():
        raise ValueError(
            "gelu_dropout_forward: x must be contiguous, got strides "
            f"{x.stride()}; call .contiguous() first"
        )
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "gelu_dropout_forward: x must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {x.dtype}"
        )
    if _records_gradient("gelu_dropout_forward", x, out):
        return _without_gradient(gelu_dropout_forward, (x, p, seed), given=(out,))
    device = x.device
    if x.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return gelu_dropout_forward(x, p, seed, out=out)
    elif not (x.is_cpu and _INTERPRETED):
        raise ValueError(
            f"gelu_dropout_forward: x must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        y = torch.empty_like(x)
    else:
        y = _check_out(
            "gelu_dropout_forward: out", out, (N,), x.dtype, device, {"x": x}
        )
        if not y.is_contiguous():
            raise ValueError(
                "gelu_dropout_forward: out must be contiguous, got strides "
                f"{y.stride()}; call .contiguous() first"
            )
    if N == 0:
        return y

    if N >= _INT32_REACH:
        raise _beyond_int32("gelu_dropout_forward: x")
    if not p >= 0.0:
        raise ValueError(
            f"gelu_dropout_forward: a requirement does not hold: p >= 0.0 with p = {p}"
        )
    if not p < 1.0:
        raise ValueError(
            f"gelu_dropout_forward: a requirement does not hold: p < 1.0 with p = {p}"
        )
    if _INTERPRETED:
        _check_bfloat16("gelu_dropout_forward", x.dtype)

    def grid(meta):
        return (triton.cdiv(triton.cdiv(N, 4), meta["BLOCK"]),)

    _launch(gelu_dropout_forward_kernel, grid, (x, y), (p, seed, N), device, x.dtype)
    return y


def _gelu_dropout_forward_fake(x, p=0.5, seed=0):
    """What torch.compile sees of gelu_dropout_forward: shapes and dtypes."""
    N = x.shape[0]
    return torch.empty((N,), device=x.device, dtype=x.dtype)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=2),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=4),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def gelu_dropout_gradient(
    dy: torch.Tensor,
    x: torch.Tensor,
    p: float = 0.5,
    seed: int = 0,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """dy times the slope of GELU, scaled, where the element stayed, else 0.

    Args:
        dy: [N] float16 or bfloat16 or float32, contiguous.
        x: [N] float16 or bfloat16 or float32, contiguous.
        p: a number, passed as float32.
        seed: a number, passed as int32.
        out: where to write [N] float16 or bfloat16 or float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_float("gelu_dropout_gradient: p", p, torch.float32)
    _check_int("gelu_dropout_gradient: seed", seed, torch.int32)
    _check_tensor("gelu_dropout_gradient: dy", dy)
    _check_tensor("gelu_dropout_gradient: x", x)
    if dy.ndim != 1:
        raise ValueError(
            f"gelu_dropout_gradient: dy must have shape [N], got {list(dy.shape)}"
        )
    N = dy.shape[0]
    if not dy.is_contiguous():
        raise ValueError(
            "gelu_dropout_gradient: dy must be contiguous, got strides "
            f"{dy.stride()}; call .contiguous() first"
        )
    if dy.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "gelu_dropout_gradient: dy must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {dy.dtype}"
        )
    if x.shape != (N,):
        raise ValueError(
            f"gelu_dropout_gradient: x must have shape [N={N}], got {list(x.shape)}"
        )
    if not x.is_contiguous():
        raise ValueError(
            "gelu_dropout_gradient: x must be contiguous, got strides "
            f"{x.stride()}; call .contiguous() first"
        )
    if x.dtype != dy.dtype:
        raise TypeError(
            f"gelu_dropout_gradient: x must be {dy.dtype} as dy is, got {x.dtype}"
        )
    if _records_gradient("gelu_dropout_gradient", dy, x, out):
        return _without_gradient(gelu_dropout_gradient, (dy, x, p, seed), given=(out,))
    device = dy.device
    if x.device != device:
        raise ValueError(
            f"gelu_dropout_gradient: x must be on {device} as dy is, got {x.device}"
        )
    if dy.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return gelu_dropout_gradient(dy, x, p, seed, out=out)
    elif not (dy.is_cpu and _INTERPRETED):
        raise ValueError(
            f"gelu_dropout_gradient: dy must be on a GPU, got {device}; "
            "the CPU needs TRITON_INTERPRET=1, set before triton is "
            "imported"
        )

    if out is None:
        dx = torch.empty_like(dy)
    else:
        dx = _check_out(
            "gelu_dropout_gradient: out",
            out,
            (N,),
            dy.dtype,
            device,
            {"dy": dy, "x": x},
        )
        if not dx.is_contiguous():
            raise ValueError(
                "gelu_dropout_gradient: out must be contiguous, got strides "
                f"{dx.stride()}; call .contiguous() first"
            )
    if N == 0:
        return dx

    if N >= _INT32_REACH:
        raise _beyond_int32("gelu_dropout_gradient: dy")
    if not p >= 0.0:
        raise ValueError(
            f"gelu_dropout_gradient: a requirement does not hold: p >= 0.0 with p = {p}"
        )
    if not p < 1.0:
        raise ValueError(
            f"gelu_dropout_gradient: a requirement does not hold: p < 1.0 with p = {p}"
        )
    if _INTERPRETED:
        _check_bfloat16("gelu_dropout_gradient", dy.dtype)

    def grid(meta):
        return (triton.cdiv(triton.cdiv(N, 4), meta["BLOCK"]),)

    _launch(
        gelu_dropout_gradient_kernel, grid, (dy, x, dx), (p, seed, N), device, dy.dtype
    )
    return dx


def _gelu_dropout_gradient_fake(dy, x, p=0.5, seed=0):
    """What torch.compile sees of gelu_dropout_gradient: shapes and dtypes."""
    N = dy.shape[0]
    return torch.empty((N,), device=dy.device, dtype=dy.dtype)


@torch.library.custom_op("tilescript::gelu_dropout", mutates_args=())
def gelu_dropout_op(x: torch.Tensor, p: float = 0.5, seed: int = 0) -> torch.Tensor:
    """torch.ops.tilescript.gelu_dropout."""
    _refuse_forward_mode("gelu_dropout", x)
    return gelu_dropout_forward(x, p, seed)


@gelu_dropout_op.register_fake
def _gelu_dropout_op_fake(x, p=0.5, seed=0):
    """What torch.compile sees of gelu_dropout_op: shapes and dtypes."""
    return _gelu_dropout_forward_fake(x, p, seed)


@torch.library.custom_op("tilescript::gelu_dropout_backward", mutates_args=())
def gelu_dropout_backward_op(
    grad_y: torch.Tensor, x: torch.Tensor, p: float, seed: int
) -> torch.Tensor:
    """torch.ops.tilescript.gelu_dropout_backward."""
    _refuse_forward_mode("gelu_dropout_backward", grad_y, x)
    grad_y = grad_y.contiguous()
    x = x.contiguous()
    return gelu_dropout_gradient(grad_y, x, p, seed)


@gelu_dropout_backward_op.register_fake
def _gelu_dropout_backward_op_fake(grad_y, x, p, seed):
    """What torch.compile sees of gelu_dropout_backward_op: shapes and dtypes."""
    return _gelu_dropout_gradient_fake(grad_y, x, p, seed)


def _gelu_dropout_setup_context(ctx, inputs, output):
    """Keeps what the gradient of gelu_dropout needs."""
    x, p, seed = inputs
    ctx.save_for_backward(x)
    ctx.p = p
    ctx.seed = seed


def _gelu_dropout_backward(ctx, grad_y):
    """The gradients of the inputs of gelu_dropout."""
    (x,) = ctx.saved_tensors
    grad_x = gelu_dropout_backward_op(grad_y, x, ctx.p, ctx.seed)
    return grad_x, None, None


gelu_dropout_op.register_autograd(
    _gelu_dropout_backward, setup_context=_gelu_dropout_setup_context
)


@torch.library.custom_op("tilescript::gelu_dropout_out", mutates_args=("out",))
def gelu_dropout_out_op(
    x: torch.Tensor, out: torch.Tensor, p: float = 0.5, seed: int = 0
) -> None:
    """gelu_dropout into tensors of the caller, as
    torch.ops.tilescript.gelu_dropout_out.
    """
    _refuse_forward_mode("gelu_dropout_out", x, out)
    if x.ndim != 1:
        raise ValueError(f"gelu_dropout: x must have shape [N], got {list(x.shape)}")
    N = x.shape[0]
    if not x.is_contiguous():
        raise ValueError(
            f"gelu_dropout: x must be contiguous, got strides {x.stride()}; "
            "call .contiguous() first"
        )
    device = x.device
    _check_out("gelu_dropout: out", out, (N,), x.dtype, device, {"x": x})
    if not out.is_contiguous():
        raise ValueError(
            "gelu_dropout: out must be contiguous, got strides "
            f"{out.stride()}; call .contiguous() first"
        )
    gelu_dropout_forward(x, p, seed, out=out)


_refuse_recording(gelu_dropout_out_op)


def gelu_dropout(
    x: torch.Tensor, p: float = 0.5, seed: int = 0, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Dropout of gelu(x), with its gradient: each element stays with probability 1 -
    p, divided by it.

    Args:
        x: [N] float16 or bfloat16 or float32, contiguous.
        p: a number, passed as float32.
        seed: a number, passed as int32.
        out: where to write [N] float16 or bfloat16 or float32; allocated if None.

    Returns:
        y: [N] float16 or bfloat16 or float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        return gelu_dropout_op(x, p, seed)
    _refuse_gradient("gelu_dropout", x, out)
    gelu_dropout_out_op(x, out, p, seed)
    return out


def reference_fn(x: torch.Tensor, p: float = 0.5, seed: int = 0):
    """What gelu_dropout computes, in PyTorch."""
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


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"N": 100003}, {"N": 67108864}]


def get_inputs(N=100003):
    """Fresh arguments for gelu_dropout, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [torch.randn((N,), device=device, dtype=torch.float16), 0.5, 0]


def _launch(kernel, grid, tensors, numbers, /, *others, **options):
    """Launches kernel[grid](*tensors, *numbers, **options).

    Triton takes long to find the binary for a call. This function remembers the
    binary and the grid of each call, and uses them again for calls alike. others
    tell such calls apart beside the arguments: the device, the dtypes, and the
    sizes that set the grid but are not passed to the kernel.
    """
    if _INTERPRETED or torch.compiler.is_compiling():
        kernel[grid](*tensors, *numbers, **options)
        return None
    key = id(kernel), *others, *_launch_key(tensors, numbers, options)
    found = _LAUNCHES.get(key)
    if found:
        binary, place, constants = found
        binary[place](*tensors, *numbers, *constants)
        return found
    chosen = {}

    def chosen_grid(meta):
        chosen.update(meta)
        return grid(meta) if callable(grid) else grid

    binary = kernel[chosen_grid](*tensors, *numbers, **options)
    constants = tuple(chosen.values())[len(tensors) + len(numbers) :]
    found = binary, (*chosen_grid(chosen), 1, 1)[:3], constants
    if len(_LAUNCHES) >= 4096:
        _LAUNCHES.clear()
    _LAUNCHES[key] = found
    return found


def _launch_key(tensors, numbers, options):
    """What Triton compiles for, given dtypes: equal keys are launches of one binary."""
    places = [x if x is None else x.data_ptr() % 16 for x in tensors]
    numbers = [float if type(number) is float else number for number in numbers]
    return *places, *numbers, *options.values()


def _records_gradient(label, *tensors):
    """Whether PyTorch would record a gradient of one of these."""
    if torch.autograd.forward_ad._current_level >= 0:
        _refuse_tangents(label, tensors)
    if torch.is_grad_enabled():
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                return True
    return False


def _refuse_forward_mode(label, *tensors):
    """Refuses a call whose results would have tangents, which an operator has not."""
    if torch.autograd.forward_ad._current_level < 0:
        return
    if torch._functorch.eager_transforms.JVP_NESTING > 0:
        raise NotImplementedError(f"{label} has no forward-mode gradient")
    _refuse_tangents(label, tensors)


def _refuse_tangents(label, tensors):
    """Refuses tensors with a tangent, which a kernel would drop."""
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            continue
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(f"{label} has no forward-mode gradient")


def _without_gradient(kernel, inputs, updated=(), given=(), **options):
    """Calls the kernel; a backward through its results is an error."""
    if any(isinstance(tensor, torch.Tensor) for tensor in given):
        _refuse_gradient(kernel.__name__, *inputs, *given)
    for tensor in updated:
        if tensor is not None and tensor.is_leaf and tensor.requires_grad:
            raise RuntimeError(
                f"{kernel.__name__}: a leaf that requires grad is updated in place; "
                "call it under torch.no_grad()"
            )
    return _WithoutGradient.apply(kernel, updated, options, *inputs)


class _WithoutGradient(torch.autograd.Function):
    """A kernel whose gradient nobody has written."""

    @staticmethod
    def forward(kernel, updated, options, *inputs):
        return kernel(*inputs, **options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        kernel, updated, *_ = inputs
        ctx.name = kernel.__name__
        ctx.mark_dirty(*(tensor for tensor in updated if tensor is not None))

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            f"{ctx.name} has no backward; call it under torch.no_grad(), or inside a "
            "torch.autograd.Function that has one"
        )


def _refuse_gradient(label, *tensors):
    """Refuses to write where PyTorch would record a gradient."""
    wanted = [x.requires_grad for x in tensors if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled() and any(wanted):
        raise RuntimeError(
            f"{label}: a result that is written to a given tensor has no gradient; "
            "give none, or call it under torch.no_grad()"
        )


def _check_tensor(label, tensor):
    """Refuses what does not lie in memory as its shape and strides say."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{label} must be a tensor, got {tensor!r:.80}")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        kind = type(tensor).__name__
        raise TypeError(f"{label} must be a plain tensor, got one of type {kind}")
    if tensor.is_nested or tensor.layout != torch.strided:
        kind = "a nested one" if tensor.is_nested else tensor.layout
        raise TypeError(f"{label} must be a dense tensor, got {kind}")
    if not torch.compiler.is_dynamo_compiling() and tensor.is_neg():
        raise ValueError(f"{label} is a lazily negated view; call .resolve_neg() first")


def _check_int(label, value, dtype, least=None):
    """Refuses what is no integer, and what its dtype does not hold."""
    if type(value) is not int:
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_float(label, value, dtype):
    """Refuses what is no number, and what its dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


def _check_bfloat16(label, *dtypes):
    """Refuses bfloat16 where Triton's interpreter would compute with its bits."""
    from triton.runtime.interpreter import InterpreterBuilder

    is_right = hasattr(InterpreterBuilder, "has_bfloat16")
    if torch.bfloat16 in dtypes and triton.knobs.runtime.interpret and not is_right:
        raise NotImplementedError(
            f"{label}: Triton's interpreter computes bfloat16 wrongly; "
            "use another dtype, a GPU, or TileScript's runner, which corrects it"
        )


def _beyond_int32(label):
    """The error for a tensor whose offsets do not fit int32."""
    return ValueError(
        f"{label} spans more elements than int32 offsets reach; "
        "build the kernel with { offsets: tl.int64 } for it"
    )


def _check_out(label, out, shape, dtype, device, others):
    """The tensor that a result is to be written to, if it can be."""
    _check_tensor(label, out)
    if out.shape != shape:
        raise ValueError(
            f"{label} must have shape {list(shape)}, got {list(out.shape)}"
        )
    if out.dtype != dtype:
        raise TypeError(f"{label} must be {dtype}, got {out.dtype}")
    if out.device != device:
        raise ValueError(f"{label} must be on {device}, got {out.device}")
    _check_memory(label, out, others)
    return out


def _check_memory(label, written, others):
    """Refuses to write what overlaps itself or another tensor; tells autograd of it."""
    start = written.data_ptr()
    if written.is_contiguous():
        end = start + written.nbytes
    elif _nest(_axes(written.stride(), written.shape)):
        end = _end(written)
    else:
        raise ValueError(
            f"{label} has elements that share memory, with shape {list(written.shape)} "
            f"and strides {list(written.stride())}; give a tensor of its own"
        )
    for name, other in others.items():
        if other is None or other.data_ptr() >= end or _end(other) <= start:
            continue
        if _overlaps(written, other, other.data_ptr() - start):
            raise ValueError(
                f"{label} shares memory with {name}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _overlaps(x, y, distance):
    """Whether x and y, distance bytes apart, may have elements in common."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    axes = _axes(x.stride(), x.shape, y.shape)
    steps, rest = divmod(distance, x.element_size())
    alike = x.stride() == y.stride() and x.element_size() == y.element_size()
    return not alike or rest > 0 or not _nest(axes) or _reaches(steps, axes)


def _end(x):
    """The address of the byte after the last of x."""
    if x.is_contiguous():
        return x.data_ptr() + x.nbytes
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape))
    return x.data_ptr() + (last + 1) * x.element_size()


def _axes(strides, *shapes):
    """Axes longer than 1, each as (stride, *lengths), in falling order."""
    axes = zip(strides, *shapes)
    return sorted((axis for axis in axes if max(axis[1:]) > 1), reverse=True)


def _nest(axes):
    """Whether each stride steps over all that the axes inside it reach."""
    reach = 0
    for stride, *lengths in reversed(axes):
        if stride <= reach:
            return False
        reach += stride * (max(lengths) - 1)
    return True


def _reaches(distance, axes):
    """Whether elements of two equally strided tensors lie this far apart."""
    if not axes:
        return distance == 0
    (stride, before, after), *inner = axes
    steps = (-distance // stride, -distance // stride + 1)
    return any(
        -before < step < after and _reaches(distance + step * stride, inner)
        for step in steps
    )


kernel_fn = gelu_dropout
