"""One step of AdamW, in place; the parameters are rounded stochastically, by the
seed and each one's place.

Written by TileScript; edit the TypeScript source instead of this file.
Made for torch 2.11 to 2.15 and Triton 3.6 to 3.9.
"""

# PLR0124: NaN alone differs from itself.
# ruff: noqa: PLR0124

import torch
import triton
import triton.language as tl
from torch.autograd import forward_ad

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
    raise ImportError(f"Triton 3.6 or later is needed, got {triton.__version__}")

_INTERPRETED = triton.knobs.runtime.interpret


@triton.jit
def round_stochastically(x, random):
    """bfloat16 is the upper half of float32: random bits added to the lower half
    carry as often as it is large.
    """
    carried = x.to(tl.uint32, bitcast=True) + (random >> 16)
    rounded = (carried & 0xFFFF0000).to(tl.float32, bitcast=True)
    # A carry out of NaN's bits would make a number of it.
    return tl.where(x == x, rounded, x).to(tl.bfloat16)


@triton.jit(do_not_specialize=["seed"])
def adamw_stochastic_kernel(
    p_ptr,
    grad_ptr,
    exp_avg_ptr,
    exp_avg_sq_ptr,
    lr: tl.float32,
    beta1: tl.float32,
    beta2: tl.float32,
    eps: tl.float32,
    weight_decay: tl.float32,
    bias_correction1: tl.float32,
    bias_correction2: tl.float32,
    seed: tl.int32,
    N,
    BLOCK: tl.constexpr,
):
    # Triton's interpreter ignores these annotations.
    lr = tl.full([], lr, tl.float32)
    beta1 = tl.full([], beta1, tl.float32)
    beta2 = tl.full([], beta2, tl.float32)
    weight_decay = tl.full([], weight_decay, tl.float32)
    bias_correction1 = tl.full([], bias_correction1, tl.float32)
    bias_correction2 = tl.full([], bias_correction2, tl.float32)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < N
    g = tl.load(grad_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    old_mean = tl.load(exp_avg_ptr + offsets, mask=mask, other=0.0)
    old_square = tl.load(exp_avg_sq_ptr + offsets, mask=mask, other=0.0)
    weights = tl.load(p_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = old_mean * beta1 + g * (1.0 - beta1)
    square = old_square * beta2 + g * g * (1.0 - beta2)
    denominator = tl.sqrt(square * (1.0 / bias_correction2)) + eps
    decayed = weights * (1.0 - lr * weight_decay)
    updated = decayed - mean * (lr / bias_correction1) / denominator
    quads = tl.program_id(0) * (BLOCK // 4) + tl.arange(0, BLOCK // 4)
    first, second, third, fourth = tl.randint4x(seed, quads)
    random = tl.reshape(
        tl.join(tl.join(first, third), tl.join(second, fourth)), [BLOCK]
    )
    tl.store(p_ptr + offsets, round_stochastically(updated, random), mask=mask)
    tl.store(exp_avg_ptr + offsets, mean, mask=mask)
    tl.store(exp_avg_sq_ptr + offsets, square, mask=mask)


def adamw_stochastic(
    p: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
    bias_correction1: float = 1.0,
    bias_correction2: float = 1.0,
    seed: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """One step of AdamW, in place; the parameters are rounded stochastically, by the
    seed and each one's place.

    Args:
        p: [N] bfloat16, contiguous; updated in place.
        grad: [N] bfloat16, contiguous.
        exp_avg, exp_avg_sq: [N] float32, contiguous; updated in place.
        lr: a number, passed as float32.
        beta1: a number, passed as float32.
        beta2: a number, passed as float32.
        eps: a number, passed as float32.
        weight_decay: a number, passed as float32.
        bias_correction1: a number, passed as float32.
        bias_correction2: a number, passed as float32.
        seed: a number, passed as int32.
    """
    _check_float("adamw_stochastic: lr", lr, torch.float32)
    _check_float("adamw_stochastic: beta1", beta1, torch.float32)
    _check_float("adamw_stochastic: beta2", beta2, torch.float32)
    _check_float("adamw_stochastic: eps", eps, torch.float32)
    _check_float("adamw_stochastic: weight_decay", weight_decay, torch.float32)
    _check_float("adamw_stochastic: bias_correction1", bias_correction1, torch.float32)
    _check_float("adamw_stochastic: bias_correction2", bias_correction2, torch.float32)
    _check_int("adamw_stochastic: seed", seed, -(2**31), 2**31 - 1)
    if (
        p.ndim != 1
        or grad.shape != p.shape
        or exp_avg.shape != p.shape
        or exp_avg_sq.shape != p.shape
    ):
        raise ValueError(
            "adamw_stochastic: p, grad, exp_avg and exp_avg_sq must have shape "
            f"[N], got {p.shape}, {grad.shape}, {exp_avg.shape} and "
            f"{exp_avg_sq.shape}"
        )
    N = p.shape[0]
    _check_dtypes("adamw_stochastic", (torch.bfloat16,), p=p, grad=grad)
    _check_dtypes(
        "adamw_stochastic", (torch.float32,), exp_avg=exp_avg, exp_avg_sq=exp_avg_sq
    )
    _check_contiguous(
        "adamw_stochastic", p=p, grad=grad, exp_avg=exp_avg, exp_avg_sq=exp_avg_sq
    )
    _check_tensors(
        "adamw_stochastic", p=p, grad=grad, exp_avg=exp_avg, exp_avg_sq=exp_avg_sq
    )
    _check_written("adamw_stochastic: p", p, grad=grad)
    _check_written("adamw_stochastic: exp_avg", exp_avg, p=p, grad=grad)
    _check_written(
        "adamw_stochastic: exp_avg_sq", exp_avg_sq, p=p, grad=grad, exp_avg=exp_avg
    )
    if N == 0:
        return p, exp_avg, exp_avg_sq

    with torch.cuda.device(p.get_device()):
        adamw_stochastic_kernel[(triton.cdiv(N, 512),)](
            p,
            grad,
            exp_avg,
            exp_avg_sq,
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
            bias_correction1,
            bias_correction2,
            seed,
            N,
            BLOCK=512,
            num_warps=4,
        )
    return p, exp_avg, exp_avg_sq


def reference_fn(
    p,
    grad,
    exp_avg,
    exp_avg_sq,
    lr=0.001,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.01,
    bias_correction1=1.0,
    bias_correction2=1.0,
    seed=0,
):
    decayed = p.sub(p.mul(lr * weight_decay))
    mean = torch.lerp(grad, exp_avg, beta1)
    square = torch.lerp(grad.square(), exp_avg_sq, beta2)
    denominator = torch.sqrt(square.div(bias_correction2)).add(eps)
    return (
        decayed.sub(mean.div(bias_correction1).mul(lr).div(denominator)),
        mean,
        square,
    )


def draw_inputs(N, device):
    """exp_avg_sq of adamw_stochastic, at random."""
    exp_avg_sq = torch.randn([N], device=device).square()
    return exp_avg_sq.to(torch.float32)


SHAPES = [{"N": 100003}, {"N": 67108864}]
IN_PLACE = ["p", "exp_avg", "exp_avg_sq"]


def get_inputs(N=100003):
    device = "cpu" if _INTERPRETED else "cuda"
    exp_avg_sq = draw_inputs(N, device)
    return [
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.bfloat16),
        torch.randn((N,), device=device, dtype=torch.float32),
        exp_avg_sq,
        0.001,
        0.9,
        0.999,
        1e-8,
        0.01,
        1.0,
        1.0,
        0,
    ]


def _check_tensors(name, wide=(), /, **tensors):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    plain, device = torch.Tensor.__torch_dispatch__, None
    for key, x in tensors.items():
        if x is None:
            continue
        if getattr(type(x), "__torch_dispatch__", None) is not plain:
            raise TypeError(f"{name}: {key} must be a plain tensor, got {type(x)}")
        if x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        device = x.device if device is None else device
        if x.device != device or not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: needs one GPU, or TRITON_INTERPRET=1, got {key} on {x.device}"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(f"{name}: {key} is lazily negated; call .resolve_neg()")
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(f"{name} has no gradient for {key}; use torch.no_grad()")
        # Masked lanes may lie up to a tile behind the last element.
        last = sum(step * (size - 1) for step, size in zip(x.stride(), x.shape))
        if last >= 2**31 - 2**20 and key not in wide:
            raise ValueError(f"{name}: {key} spans more than int32 offsets reach")


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


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        first, last = (0, 0) if x is None else (x.data_ptr(), x.data_ptr() + x.nbytes)
        if max(start, first) < min(end, last):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


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


kernel_fn = adamw_stochastic
