"""The cross-entropy of each row with its label, with its gradient.

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
        triton.Config({"LANES": LANES, "ROUNDS": ROUNDS}, num_warps=num_warps)
        for LANES, ROUNDS, num_warps in [
            (128, 2, 4),
            (128, 4, 4),
            (256, 2, 8),
            (256, 4, 8),
            (512, 2, 16),
        ]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def cross_entropy_forward_kernel(
    logits_ptr,
    labels_ptr,
    loss_ptr,
    lse_ptr,
    N,
    stride_logits_m,
    stride_logits_n,
    stride_labels_m,
    stride_loss_m,
    stride_lse_m,
    LANES: tl.constexpr,
    ROUNDS: tl.constexpr,
):
    row = tl.program_id(0)
    best = tl.full([LANES], float("-inf"), dtype=tl.float32)
    total = tl.zeros([LANES], dtype=tl.float32)
    offsets = tl.arange(0, ROUNDS * LANES * 8)
    step: tl.constexpr = ROUNDS * LANES * 8
    whole = (N // step) * step
    logits_base = logits_ptr + row.to(tl.int64) * stride_logits_m
    for start in range(0, whole, step):
        loaded = tl.load(
            logits_base + (start + offsets).to(tl.int64) * stride_logits_n
        ).to(tl.float32)
        values = tl.reshape(loaded, [ROUNDS, LANES, 8]) * 1.4426950408889634
        new_best = tl.maximum(best, tl.max(tl.max(values, axis=2), axis=0))
        # A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
        shift = tl.where(new_best == float("-inf"), 0.0, new_best)
        powers = tl.exp2(values - shift[None, :, None])
        total = total * tl.exp2(best - shift) + tl.sum(tl.sum(powers, axis=2), axis=0)
        best = new_best
    if whole < N:
        offsets_1 = whole + offsets
        loaded = tl.load(
            logits_base + offsets_1.to(tl.int64) * stride_logits_n,
            mask=offsets_1 < N,
            other=float("-inf"),
        ).to(tl.float32)
        values = tl.reshape(loaded, [ROUNDS, LANES, 8]) * 1.4426950408889634
        new_best = tl.maximum(best, tl.max(tl.max(values, axis=2), axis=0))
        shift = tl.where(new_best == float("-inf"), 0.0, new_best)
        powers = tl.exp2(values - shift[None, :, None])
        total = total * tl.exp2(best - shift) + tl.sum(tl.sum(powers, axis=2), axis=0)
        best = new_best
    top = tl.max(best, axis=0)
    shift_1 = tl.where(top == float("-inf"), 0.0, top)
    sum_ = tl.sum(total * tl.exp2(best - shift_1), axis=0)
    log2_sum = tl.log2(sum_)
    label = tl.load(labels_ptr + row * stride_labels_m)
    tl.store(lse_ptr + row * stride_lse_m, (shift_1 + log2_sum) * 0.6931471805599453)
    tl.store(
        loss_ptr + row * stride_loss_m,
        (
            log2_sum
            + (
                shift_1
                - tl.minimum(
                    tl.load(
                        logits_base + label.to(tl.int64) * stride_logits_n,
                        mask=label < N,
                        other=0.0,
                    ).to(tl.float32)
                    * 1.4426950408889634,
                    shift_1,
                )
            )
        )
        * 0.6931471805599453,
    )


def _cross_entropy_forward_meta(logits, labels):
    """Checks the arguments of cross_entropy_forward, and allocates its results."""
    _check_operands("cross_entropy_forward", logits=logits, labels=labels)
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(
            "cross_entropy_forward: logits and labels must have shapes [M, N] "
            f"and [M], got {logits.shape} and {labels.shape}"
        )
    M, _ = logits.shape
    _check_dtypes(
        "cross_entropy_forward",
        (torch.float16, torch.bfloat16, torch.float32),
        logits=logits,
    )
    _check_dtypes("cross_entropy_forward", (torch.int64,), labels=labels)
    return (
        logits.new_empty((M,), dtype=torch.float32),
        logits.new_empty((M,), dtype=torch.float32),
    )


def _cross_entropy_forward(logits, labels):
    """loss = lse - logits[row, label], with lse the logarithm of the row's sum of
    exponentials.
    """
    loss, lse = _cross_entropy_forward_meta(logits, labels)
    M, N = logits.shape
    if M == 0:
        return loss, lse

    tensors = {"logits": logits, "labels": labels, "loss": loss, "lse": lse}
    _check_reach("cross_entropy_forward", labels=labels, loss=loss, lse=lse)
    if N >= 2**31 - 2**20:
        raise ValueError(
            f"cross_entropy_forward: N is {N}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )

    with torch.cuda.device(logits.get_device()):
        cross_entropy_forward_kernel[(M,)](*tensors.values(), N, *_strides(tensors))
    return loss, lse


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 2048}, num_warps=4),
        triton.Config({"BLOCK_N": 4096}, num_warps=8),
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def cross_entropy_gradients_kernel(
    logits_ptr,
    labels_ptr,
    lse_ptr,
    dloss_ptr,
    dlogits_ptr,
    N,
    stride_logits_m,
    stride_logits_n,
    stride_labels_m,
    stride_lse_m,
    stride_dloss_m,
    stride_dlogits_m,
    stride_dlogits_n,
    BLOCK_N: tl.constexpr,
):
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = cols < N
    values = tl.load(
        logits_ptr
        + row.to(tl.int64) * stride_logits_m
        + cols.to(tl.int64) * stride_logits_n,
        mask=mask,
        other=0.0,
    ).to(tl.float32)
    probabilities = tl.exp2(
        (values - tl.load(lse_ptr + row * stride_lse_m)) * 1.4426950408889634
    )
    hit = cols == tl.load(labels_ptr + row * stride_labels_m).to(tl.int32)
    change = tl.where(hit, probabilities - 1.0, probabilities)
    tl.store(
        dlogits_ptr
        + row.to(tl.int64) * stride_dlogits_m
        + cols.to(tl.int64) * stride_dlogits_n,
        (change * tl.load(dloss_ptr + row * stride_dloss_m)).to(
            dlogits_ptr.dtype.element_ty
        ),
        mask=mask,
    )


def _cross_entropy_gradients_meta(logits, labels, lse, dloss):
    """Checks the arguments of cross_entropy_gradients, and allocates its results."""
    _check_operands(
        "cross_entropy_gradients", logits=logits, labels=labels, lse=lse, dloss=dloss
    )
    if (
        logits.ndim != 2
        or labels.shape != logits.shape[:1]
        or lse.shape != labels.shape
        or dloss.shape != labels.shape
    ):
        raise ValueError(
            "cross_entropy_gradients: logits, labels, lse and dloss must have "
            f"shapes [M, N], [M], [M] and [M], got {logits.shape}, "
            f"{labels.shape}, {lse.shape} and {dloss.shape}"
        )
    M, N = logits.shape
    _check_dtypes(
        "cross_entropy_gradients",
        (torch.float16, torch.bfloat16, torch.float32),
        logits=logits,
    )
    _check_dtypes("cross_entropy_gradients", (torch.int64,), labels=labels)
    _check_dtypes("cross_entropy_gradients", (torch.float32,), lse=lse, dloss=dloss)
    return logits.new_empty((M, N))


def _cross_entropy_gradients(logits, labels, lse, dloss):
    """dlogits = (softmax(logits) - onehot(label)) * dloss of the row."""
    dlogits = _cross_entropy_gradients_meta(logits, labels, lse, dloss)
    M, N = logits.shape
    if M * N == 0:
        return dlogits

    tensors = {
        "logits": logits,
        "labels": labels,
        "lse": lse,
        "dloss": dloss,
        "out": dlogits,
    }
    _check_reach("cross_entropy_gradients", labels=labels, lse=lse, dloss=dloss)
    if M >= 2**31 - 2**20:
        raise ValueError(
            f"cross_entropy_gradients: M is {M}, and the kernel counts up to it "
            "in int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    if N >= 2**31 - 2**20:
        raise ValueError(
            f"cross_entropy_gradients: N is {N}, and the kernel counts up to it "
            "in int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )

    def grid(meta):
        return _checked_grid(
            "cross_entropy_gradients", (M * triton.cdiv(N, meta["BLOCK_N"]),)
        )

    with torch.cuda.device(logits.get_device()):
        cross_entropy_gradients_kernel[grid](*tensors.values(), N, *_strides(tensors))
    return dlogits


@torch.library.custom_op("tilescript::cross_entropy", mutates_args=())
def cross_entropy_op(
    logits: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return _cross_entropy_forward(logits, labels)


@cross_entropy_op.register_fake
def _(logits, labels):
    return _cross_entropy_forward_meta(logits, labels)


@torch.library.custom_op("tilescript::cross_entropy_backward", mutates_args=())
def cross_entropy_backward_op(
    grad_loss: torch.Tensor,
    logits: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
) -> torch.Tensor:
    return _cross_entropy_gradients(logits, labels, lse, grad_loss)


@cross_entropy_backward_op.register_fake
def _(grad_loss, logits, labels, lse):
    return _cross_entropy_gradients_meta(logits, labels, lse, grad_loss)


def _cross_entropy_setup_context(ctx, inputs, output):
    logits, labels = inputs
    _, lse = output
    ctx.save_for_backward(logits, labels, lse)
    ctx.mark_non_differentiable(lse)


def _cross_entropy_backward(ctx, grad_loss, *_):
    logits, labels, lse = ctx.saved_tensors
    grad_logits = cross_entropy_backward_op(grad_loss, logits, labels, lse)
    return grad_logits, None


cross_entropy_op.register_autograd(
    _cross_entropy_backward, setup_context=_cross_entropy_setup_context
)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of each row with its label, with its gradient.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).

    Returns:
        loss: [M] float32.
    """
    _refuse_tangents("cross_entropy", logits)
    loss, _ = cross_entropy_op(logits, labels)
    return loss


def reference_fn(logits, labels):
    return torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")


SHAPES = [{"M": 64, "N": 1000}, {"M": 4096, "N": 128256}]


def get_inputs(M=64, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randint(0, N, (M,), device=device, dtype=torch.int64),
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


kernel_fn = cross_entropy
