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
    raise ImportError(
        f"Triton 3.6 or later is needed, got {triton.__version__}; upgrade it and torch"
    )

# True if Triton's interpreter runs kernels on the CPU.
_INTERPRETED = triton.knobs.runtime.interpret
# Offsets are int32, and masked lanes may lie up to one tile behind the last element.
_INT32_REACH = 2**31 - 2**20


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
    _check_int("adamw_stochastic: seed", seed, torch.int32)
    _check_tensors(
        "adamw_stochastic",
        {"p": p, "grad": grad, "exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq},
    )
    _check_written("adamw_stochastic: p", p, grad=grad)
    _check_written("adamw_stochastic: exp_avg", exp_avg, p=p, grad=grad)
    _check_written(
        "adamw_stochastic: exp_avg_sq", exp_avg_sq, p=p, grad=grad, exp_avg=exp_avg
    )
    if (
        p.ndim != 1
        or grad.shape != p.shape
        or exp_avg.shape != p.shape
        or exp_avg_sq.shape != p.shape
    ):
        raise ValueError(
            "adamw_stochastic: p, grad, exp_avg and exp_avg_sq must have "
            f"shape [N], got {list(p.shape)}, {list(grad.shape)}, "
            f"{list(exp_avg.shape)} and {list(exp_avg_sq.shape)}"
        )
    N = p.shape[0]
    _check_dtypes("adamw_stochastic", (torch.bfloat16,), p=p, grad=grad)
    _check_dtypes(
        "adamw_stochastic", (torch.float32,), exp_avg=exp_avg, exp_avg_sq=exp_avg_sq
    )
    _check_contiguous(
        "adamw_stochastic", p=p, grad=grad, exp_avg=exp_avg, exp_avg_sq=exp_avg_sq
    )
    if N == 0:
        return p, exp_avg, exp_avg_sq

    _check_reach("adamw_stochastic", p=p)
    _check_bfloat16("adamw_stochastic", torch.bfloat16)

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


def _check_tensors(name, required, /, **optional):
    """Refuses tensors that are not on one GPU, or that a launch would misread."""
    first, device = "", None
    for key, x in {**required, **optional}.items():
        if x is None and key in optional:
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: {key} must be a tensor, got {x!r:.80}")
        if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            kind = type(x).__name__
            raise TypeError(f"{name}: {key} must be a plain tensor, got a {kind}")
        if x.is_nested or x.layout != torch.strided:
            raise TypeError(f"{name}: {key} must be a dense tensor, got {x.layout}")
        if device is None:
            first, device = key, x.device
        if x.device != device:
            raise ValueError(
                f"{name}: {key} must be on {device} as {first} is, got {x.device}"
            )
        if not (x.is_cuda or (x.is_cpu and _INTERPRETED)):
            raise ValueError(
                f"{name}: {key} must be on a GPU, got {device}; the CPU "
                "needs TRITON_INTERPRET=1, set before triton is imported"
            )
        if not torch.compiler.is_dynamo_compiling() and x.is_neg():
            raise ValueError(
                f"{name}: {key} is a lazily negated view; call .resolve_neg() first"
            )
        tangent = forward_ad.unpack_dual(x).tangent
        if tangent is not None or (x.requires_grad and torch.is_grad_enabled()):
            raise RuntimeError(
                f"{name} has no gradient for {key}; "
                "call it under torch.no_grad(), or with .detach()"
            )


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


def _check_contiguous(name: str, /, **tensors: torch.Tensor) -> None:
    """Refuses tensors that are not contiguous."""
    for key, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{name}: {key} must be contiguous, got strides {x.stride()}; "
                "call .contiguous() first"
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


def _check_written(label, written, /, **others):
    """Refuses to write where another tensor lies; tells autograd of the write."""
    if written is None:
        return
    start, end = written.data_ptr(), written.data_ptr() + written.nbytes
    for key, x in others.items():
        if x is not None and max(start, x.data_ptr()) < min(
            end, x.data_ptr() + x.nbytes
        ):
            raise ValueError(
                f"{label} shares memory with {key}; give a tensor of its own"
            )
    torch.autograd.graph.increment_version(written)


def _check_int(label, value, dtype, least=None):
    """Refuses a value that is no integer, or that the dtype cannot hold."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    info = torch.iinfo(dtype)
    least = info.min if least is None else least
    if not least <= value <= info.max:
        raise ValueError(f"{label} must be from {least} to {info.max}, got {value}")


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    # 65504 is the largest float16, the smallest maximum of all dtypes.
    is_large = 65504 < abs(value) < float("inf")
    if is_large and torch.tensor(float(value), dtype=dtype, device="cpu").isinf():
        raise ValueError(f"{label} must fit {dtype}, got {value}")


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


kernel_fn = adamw_stochastic
