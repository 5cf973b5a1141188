"""The loss of each row times scale, and the gradient of their sum, reading logits
from memory once.

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
# The properties of the GPU that Triton's interpreter stands for, if not an H200's.
_INTERPRETED_GPU = {}


@triton.autotune(
    configs=[
        triton.Config(
            {"KEPT": KEPT, "LANES": LANES, "ROUNDS": ROUNDS, "RESIDENT": RESIDENT},
            num_warps=num_warps,
        )
        for KEPT, LANES, ROUNDS, RESIDENT, num_warps in [
            (32768, 512, 4, 1, 16),
            (32768, 1024, 1, 1, 32),
            (16384, 1024, 2, 1, 32),
            (32768, 512, 2, 2, 16),
        ]
    ],
    key=["N"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def cross_entropy_with_gradient_kernel(
    logits_ptr,
    labels_ptr,
    loss_ptr,
    dlogits_ptr,
    scale: tl.float32,
    M,
    N,
    stride_logits_m,
    stride_logits_n,
    stride_labels_m,
    stride_loss_m,
    stride_dlogits_m,
    stride_dlogits_n,
    KEPT: tl.constexpr,
    LANES: tl.constexpr,
    ROUNDS: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    step: tl.constexpr = ROUNDS * LANES * 8
    for m in range(tl.program_id(0), M, tl.num_programs(0)):
        offsets = tl.arange(0, KEPT)
        logits_base = logits_ptr + tl.cast(m, tl.int64) * stride_logits_m
        kept = tl.load(
            logits_base + offsets.to(tl.int64) * stride_logits_n,
            mask=offsets < N,
            other=float("-inf"),
            eviction_policy="evict_first",
        )
        first = (
            tl.reshape(kept.to(tl.float32), [KEPT // (LANES * 8), LANES, 8])
            * 1.4426950408889634
        )
        # Each lane has a maximum and a sum of its own, so that no lane waits for
        # another inside the loop.
        best = tl.max(tl.max(first, axis=2), axis=0)
        # A lane that has seen nothing but -∞ has a sum of 0; -∞ less -∞ would be NaN.
        first_shift = tl.where(best == float("-inf"), 0.0, best)
        total = tl.sum(
            tl.sum(tl.exp2(first - first_shift[None, :, None]), axis=2), axis=0
        )
        for start in range(KEPT, N, step):
            offsets_1 = start + tl.arange(0, step)
            loaded = tl.load(
                logits_base + offsets_1.to(tl.int64) * stride_logits_n,
                mask=offsets_1 < N,
                other=float("-inf"),
                eviction_policy="evict_last",
            )
            values = (
                tl.reshape(loaded.to(tl.float32), [ROUNDS, LANES, 8])
                * 1.4426950408889634
            )
            new_best = tl.maximum(best, tl.max(tl.max(values, axis=2), axis=0))
            shift = tl.where(new_best == float("-inf"), 0.0, new_best)
            powers = tl.exp2(values - shift[None, :, None])
            total = total * tl.exp2(best - shift) + tl.sum(
                tl.sum(powers, axis=2), axis=0
            )
            best = new_best
        top = tl.max(best, axis=0)
        shift = tl.where(top == float("-inf"), 0.0, top)
        sum_ = tl.sum(total * tl.exp2(best - shift), axis=0)
        log2_sum = tl.log2(sum_)
        label = tl.load(labels_ptr + m * stride_labels_m).to(tl.int32)
        tl.store(
            loss_ptr + m * stride_loss_m,
            (
                log2_sum
                + (
                    shift
                    - tl.minimum(
                        tl.load(
                            logits_base + label.to(tl.int64) * stride_logits_n,
                            mask=(label >= 0) & (label < N),
                            other=0.0,
                        ).to(tl.float32)
                        * 1.4426950408889634,
                        shift,
                    )
                )
            )
            * 0.6931471805599453
            * scale,
        )

        log2_sum_1 = shift + log2_sum
        first_cols = tl.arange(0, KEPT)
        p0 = tl.exp2(kept.to(tl.float32) * 1.4426950408889634 - log2_sum_1)
        dlogits_base = dlogits_ptr + tl.cast(m, tl.int64) * stride_dlogits_m
        tl.store(
            dlogits_base + first_cols.to(tl.int64) * stride_dlogits_n,
            (tl.where(first_cols == label, p0 - 1.0, p0) * scale).to(
                dlogits_ptr.dtype.element_ty
            ),
            mask=first_cols < N,
            eviction_policy="evict_first",
        )
        # Backwards: the end of the row was read last, and is the likeliest to lie in
        # the cache still.
        steps = tl.cdiv(tl.maximum(N - KEPT, 0), step)
        for i in range(steps):
            cols = KEPT + (steps - 1 - i) * step + tl.arange(0, step)
            mask = cols < N
            logit = tl.load(
                logits_base + cols.to(tl.int64) * stride_logits_n,
                mask=mask,
                other=0.0,
                eviction_policy="evict_first",
            ).to(tl.float32)
            p = tl.exp2(logit * 1.4426950408889634 - log2_sum_1)
            tl.store(
                dlogits_base + cols.to(tl.int64) * stride_dlogits_n,
                (tl.where(cols == label, p - 1.0, p) * scale).to(
                    dlogits_ptr.dtype.element_ty
                ),
                mask=mask,
                eviction_policy="evict_first",
            )


def cross_entropy_with_gradient(
    logits: torch.Tensor,
    labels: torch.Tensor,
    scale: float = 1.0,
    *,
    loss: torch.Tensor | None = None,
    dlogits: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of each row times scale, and the gradient of their sum, reading
    logits from memory once.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).
        scale: a number, passed as float32.
        loss: where to write [M] float32; allocated if None.
        dlogits: where to write [M, N] float16 or bfloat16 or float32; allocated
            if None.
    """
    _check_float("cross_entropy_with_gradient: scale", scale, torch.float32)
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(
            "cross_entropy_with_gradient: logits and labels must have shapes [M, "
            f"N] and [M], got {logits.shape} and {labels.shape}"
        )
    M, N = logits.shape
    loss = logits.new_empty((M,), dtype=torch.float32) if loss is None else loss
    dlogits = logits.new_empty((M, N)) if dlogits is None else dlogits
    if loss.shape != (M,) or dlogits.shape != (M, N):
        raise ValueError(
            "cross_entropy_with_gradient: loss and dlogits must have shapes "
            f"[M={M}] and [M={M}, N={N}], got {loss.shape} and {dlogits.shape}"
        )
    tensors = {"logits": logits, "labels": labels, "loss": loss, "dlogits": dlogits}
    _check_dtypes(
        "cross_entropy_with_gradient",
        (torch.float16, torch.bfloat16, torch.float32),
        logits=logits,
    )
    _check_dtypes("cross_entropy_with_gradient", (torch.int64,), labels=labels)
    _check_dtypes("cross_entropy_with_gradient", (torch.float32,), loss=loss)
    _check_dtypes("cross_entropy_with_gradient", (logits.dtype,), dlogits=dlogits)
    _check_tensors("cross_entropy_with_gradient", ("logits", "dlogits"), **tensors)
    _check_strided(
        "cross_entropy_with_gradient: loss", loss, logits=logits, labels=labels
    )
    _check_strided(
        "cross_entropy_with_gradient: dlogits",
        dlogits,
        logits=logits,
        labels=labels,
        loss=loss,
    )
    if M == 0:
        return loss, dlogits

    if N >= 2**31 - 2**20:
        raise ValueError(
            f"cross_entropy_with_gradient: N is {N}, and the kernel counts up to "
            "it in int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    multi_processor_count = _gpu_property(logits.device, "multi_processor_count", 132)

    def grid(meta):
        return (
            triton.cdiv(
                M, max(triton.cdiv(M, multi_processor_count * meta["RESIDENT"]), 1)
            ),
        )

    with torch.cuda.device(logits.get_device()):
        cross_entropy_with_gradient_kernel[grid](
            *tensors.values(), scale, M, N, *_strides(tensors)
        )
    return loss, dlogits


def reference_fn(logits, labels, scale=1.0):
    N = logits.shape[1]
    x = logits.float()
    loss = torch.nn.functional.cross_entropy(x, labels, reduction="none")
    change = torch.softmax(x, -1).sub(torch.nn.functional.one_hot(labels, N))
    return loss.mul(scale), change.mul(scale).to(logits.dtype)


SHAPES = [{"M": 64, "N": 1000}, {"M": 2, "N": 40001}, {"M": 4096, "N": 128256}]


def get_inputs(M=64, N=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randint(0, N, (M,), device=device, dtype=torch.int64),
        1.0,
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


def _check_strided(label, written, /, **others):
    """Refuses to write elements that share memory, with each other or with others."""
    if written is None:
        return
    reach = 0
    for step, size in sorted(zip(written.stride(), written.shape)):
        if size > 1 and step <= reach:
            raise ValueError(f"{label} has elements that share memory")
        reach += step * (size - 1)
    for key, x in others.items():
        if x is not None and _may_overlap(written, x):
            raise ValueError(f"{label} shares memory with {key}; give one of its own")
    torch.autograd.graph.increment_version(written)


def _may_overlap(x, y):
    """True unless x and y lie apart, at least modulo a stride that divides the rest."""
    if x.numel() == 0 or y.numel() == 0:
        return False
    x_axes, y_axes = (
        [(s * z.itemsize, n - 1) for s, n in zip(z.stride(), z.shape)] for z in (x, y)
    )
    steps = {step for step, last in x_axes + y_axes if step * last > 0}
    for period in (2**63, *steps):
        gap = (y.data_ptr() - x.data_ptr()) % period
        x_end = x.itemsize + sum(s * n for s, n in x_axes if s < period)
        y_end = y.itemsize + sum(s * n for s, n in y_axes if s < period)
        is_nested = not any(step % period for step in steps if step > period)
        if is_nested and x_end <= gap <= period - y_end:
            return False
    return True


def _strides(tensors):
    """The strides of all tensors, one after another."""
    return [step for x in tensors.values() for step in x.stride()]


def _gpu_property(device, name, interpreted):
    """A property of the GPU that a launch is for, or what stands for it."""
    if _INTERPRETED:
        return _INTERPRETED_GPU.get(name, interpreted)
    return getattr(torch.cuda.get_device_properties(device), name)


def _check_float(label, value, dtype):
    """Refuses a value that is no number, or that the dtype would make infinite."""
    if type(value) is bool or not isinstance(value, (float, int)):
        raise TypeError(f"{label} must be of type float, got {value!r:.80}")
    if torch.finfo(dtype).max < abs(value) < float("inf"):
        raise ValueError(f"{label} must fit {dtype}, got {value}")


kernel_fn = cross_entropy_with_gradient
