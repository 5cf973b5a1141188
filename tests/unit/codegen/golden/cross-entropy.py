"""The cross-entropy of each row with its label, with its gradient.

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
        triton.Config({"LANES": 128, "ROUNDS": 2}, num_warps=4),
        triton.Config({"LANES": 128, "ROUNDS": 4}, num_warps=4),
        triton.Config({"LANES": 256, "ROUNDS": 2}, num_warps=8),
        triton.Config({"LANES": 256, "ROUNDS": 4}, num_warps=8),
        triton.Config({"LANES": 512, "ROUNDS": 2}, num_warps=16),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def cross_entropy_forward(
    logits: torch.Tensor,
    labels: torch.Tensor,
    *,
    loss: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """loss = lse - logits[row, label], with lse the logarithm of the row's sum of
    exponentials.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).
        loss: where to write [M] float32; allocated if None.
        lse: where to write [M] float32; allocated if None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("cross_entropy_forward: logits", logits)
    _check_tensor("cross_entropy_forward: labels", labels)
    if logits.ndim != 2:
        raise ValueError(
            "cross_entropy_forward: logits must have shape [M, N], got "
            f"{list(logits.shape)}"
        )
    M, N = logits.shape
    if logits.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "cross_entropy_forward: logits must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {logits.dtype}"
        )
    if labels.shape != (M,):
        raise ValueError(
            f"cross_entropy_forward: labels must have shape [M={M}], "
            f"got {list(labels.shape)}"
        )
    if labels.dtype != torch.int64:
        raise TypeError(
            f"cross_entropy_forward: labels must be torch.int64, got {labels.dtype}"
        )
    if _records_gradient("cross_entropy_forward", logits, loss, lse):
        return _without_gradient(
            cross_entropy_forward, (logits, labels), given=(loss, lse)
        )
    device = logits.device
    if labels.device != device:
        raise ValueError(
            f"cross_entropy_forward: labels must be on {device} as "
            f"logits is, got {labels.device}"
        )
    if logits.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return cross_entropy_forward(logits, labels, loss=loss, lse=lse)
    elif not (logits.is_cpu and _INTERPRETED):
        raise ValueError(
            "cross_entropy_forward: logits must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if loss is None:
        loss = logits.new_empty((M,), dtype=torch.float32)
    else:
        _check_out(
            "cross_entropy_forward: loss",
            loss,
            (M,),
            torch.float32,
            device,
            {"logits": logits, "labels": labels},
        )
    if lse is None:
        lse = logits.new_empty((M,), dtype=torch.float32)
    else:
        _check_out(
            "cross_entropy_forward: lse",
            lse,
            (M,),
            torch.float32,
            device,
            {"logits": logits, "labels": labels, "loss": loss},
        )
    if M == 0:
        return loss, lse

    stride_logits_m, stride_logits_n = logits.stride()
    stride_labels_m = labels.stride(0)
    stride_loss_m = loss.stride(0)
    stride_lse_m = lse.stride(0)
    if (M - 1) * stride_labels_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_forward: labels")
    if (M - 1) * stride_loss_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_forward: loss")
    if (M - 1) * stride_lse_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_forward: lse")
    if N >= _INT32_REACH:
        raise _uncountable("cross_entropy_forward", N=N)
    if _INTERPRETED:
        _check_bfloat16("cross_entropy_forward", logits.dtype)

    _launch(
        cross_entropy_forward_kernel,
        (M,),
        (logits, labels, loss, lse),
        (
            N,
            stride_logits_m,
            stride_logits_n,
            stride_labels_m,
            stride_loss_m,
            stride_lse_m,
        ),
        device,
        logits.dtype,
        M,
    )
    return loss, lse


def _cross_entropy_forward_fake(logits, labels):
    """What torch.compile sees of cross_entropy_forward: shapes and dtypes."""
    M = logits.shape[0]
    return (
        torch.empty((M,), device=logits.device, dtype=torch.float32),
        torch.empty((M,), device=logits.device, dtype=torch.float32),
    )


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 2048}, num_warps=4),
        triton.Config({"BLOCK_N": 4096}, num_warps=8),
    ],
    key=["N"],
    do_bench=_first_config if _INTERPRETED else None,
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


def cross_entropy_gradients(
    logits: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
    dloss: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """dlogits = (softmax(logits) - onehot(label)) * dloss of the row.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).
        lse: [M] float32.
        dloss: [M] float32.
        out: where to write [M, N] float16 or bfloat16 or float32; allocated if
            None.

    Raises:
        ValueError: a shape, stride, device or size that the kernel cannot take.
        TypeError: a dtype that the kernel cannot take.
    """
    _check_tensor("cross_entropy_gradients: logits", logits)
    _check_tensor("cross_entropy_gradients: labels", labels)
    _check_tensor("cross_entropy_gradients: lse", lse)
    _check_tensor("cross_entropy_gradients: dloss", dloss)
    if logits.ndim != 2:
        raise ValueError(
            "cross_entropy_gradients: logits must have shape [M, N], got "
            f"{list(logits.shape)}"
        )
    M, N = logits.shape
    if logits.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(
            "cross_entropy_gradients: logits must be torch.float16 or "
            f"torch.bfloat16 or torch.float32, got {logits.dtype}"
        )
    if labels.shape != (M,):
        raise ValueError(
            f"cross_entropy_gradients: labels must have shape [M={M}], "
            f"got {list(labels.shape)}"
        )
    if labels.dtype != torch.int64:
        raise TypeError(
            f"cross_entropy_gradients: labels must be torch.int64, got {labels.dtype}"
        )
    if lse.shape != (M,):
        raise ValueError(
            f"cross_entropy_gradients: lse must have shape [M={M}], "
            f"got {list(lse.shape)}"
        )
    if lse.dtype != torch.float32:
        raise TypeError(
            f"cross_entropy_gradients: lse must be torch.float32, got {lse.dtype}"
        )
    if dloss.shape != (M,):
        raise ValueError(
            f"cross_entropy_gradients: dloss must have shape [M={M}], "
            f"got {list(dloss.shape)}"
        )
    if dloss.dtype != torch.float32:
        raise TypeError(
            f"cross_entropy_gradients: dloss must be torch.float32, got {dloss.dtype}"
        )
    if _records_gradient("cross_entropy_gradients", logits, lse, dloss, out):
        return _without_gradient(
            cross_entropy_gradients, (logits, labels, lse, dloss), given=(out,)
        )
    device = logits.device
    if labels.device != device:
        raise ValueError(
            f"cross_entropy_gradients: labels must be on {device} as "
            f"logits is, got {labels.device}"
        )
    if lse.device != device:
        raise ValueError(
            f"cross_entropy_gradients: lse must be on {device} as "
            f"logits is, got {lse.device}"
        )
    if dloss.device != device:
        raise ValueError(
            f"cross_entropy_gradients: dloss must be on {device} as "
            f"logits is, got {dloss.device}"
        )
    if logits.is_cuda:
        if device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return cross_entropy_gradients(logits, labels, lse, dloss, out=out)
    elif not (logits.is_cpu and _INTERPRETED):
        raise ValueError(
            "cross_entropy_gradients: logits must be on a GPU, got "
            f"{device}; the CPU needs TRITON_INTERPRET=1, set before "
            "triton is imported"
        )

    if out is None:
        dlogits = logits.new_empty((M, N))
    else:
        dlogits = _check_out(
            "cross_entropy_gradients: out",
            out,
            (M, N),
            logits.dtype,
            device,
            {"logits": logits, "labels": labels, "lse": lse, "dloss": dloss},
        )
    if M * N == 0:
        return dlogits

    stride_logits_m, stride_logits_n = logits.stride()
    stride_labels_m = labels.stride(0)
    stride_lse_m = lse.stride(0)
    stride_dloss_m = dloss.stride(0)
    stride_dlogits_m, stride_dlogits_n = dlogits.stride()
    if (M - 1) * stride_labels_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_gradients: labels")
    if (M - 1) * stride_lse_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_gradients: lse")
    if (M - 1) * stride_dloss_m >= _INT32_REACH:
        raise _beyond_int32("cross_entropy_gradients: dloss")
    if M >= _INT32_REACH or N >= _INT32_REACH:
        raise _uncountable("cross_entropy_gradients", M=M, N=N)
    if _INTERPRETED:
        _check_bfloat16("cross_entropy_gradients", logits.dtype)

    def grid(meta):
        return (M * triton.cdiv(N, meta["BLOCK_N"]),)

    _launch(
        cross_entropy_gradients_kernel,
        grid,
        (logits, labels, lse, dloss, dlogits),
        (
            N,
            stride_logits_m,
            stride_logits_n,
            stride_labels_m,
            stride_lse_m,
            stride_dloss_m,
            stride_dlogits_m,
            stride_dlogits_n,
        ),
        device,
        logits.dtype,
        M,
    )
    return dlogits


def _cross_entropy_gradients_fake(logits, labels, lse, dloss):
    """What torch.compile sees of cross_entropy_gradients: shapes and dtypes."""
    M = logits.shape[0]
    N = logits.shape[1]
    return torch.empty((M, N), device=logits.device, dtype=logits.dtype)


@torch.library.custom_op("tilescript::cross_entropy", mutates_args=())
def cross_entropy_op(
    logits: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """torch.ops.tilescript.cross_entropy."""
    _refuse_forward_mode("cross_entropy", logits, labels)
    return cross_entropy_forward(logits, labels)


@cross_entropy_op.register_fake
def _cross_entropy_op_fake(logits, labels):
    """What torch.compile sees of cross_entropy_op: shapes and dtypes."""
    return _cross_entropy_forward_fake(logits, labels)


@torch.library.custom_op("tilescript::cross_entropy_backward", mutates_args=())
def cross_entropy_backward_op(
    grad_loss: torch.Tensor,
    logits: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
) -> torch.Tensor:
    """torch.ops.tilescript.cross_entropy_backward."""
    _refuse_forward_mode("cross_entropy_backward", grad_loss, logits, labels, lse)
    return cross_entropy_gradients(logits, labels, lse, grad_loss)


@cross_entropy_backward_op.register_fake
def _cross_entropy_backward_op_fake(grad_loss, logits, labels, lse):
    """What torch.compile sees of cross_entropy_backward_op: shapes and dtypes."""
    return _cross_entropy_gradients_fake(logits, labels, lse, grad_loss)


def _cross_entropy_setup_context(ctx, inputs, output):
    """Keeps what the gradient of cross_entropy needs."""
    logits, labels = inputs
    _, lse = output
    ctx.save_for_backward(logits, labels, lse)
    ctx.mark_non_differentiable(lse)


def _cross_entropy_backward(ctx, grad_loss, *_):
    """The gradients of the inputs of cross_entropy."""
    logits, labels, lse = ctx.saved_tensors
    grad_logits = cross_entropy_backward_op(grad_loss, logits, labels, lse)
    return grad_logits, None


cross_entropy_op.register_autograd(
    _cross_entropy_backward, setup_context=_cross_entropy_setup_context
)


@torch.library.custom_op("tilescript::cross_entropy_out", mutates_args=("out",))
def cross_entropy_out_op(
    logits: torch.Tensor, labels: torch.Tensor, out: torch.Tensor
) -> None:
    """cross_entropy into tensors of the caller, as
    torch.ops.tilescript.cross_entropy_out.
    """
    _refuse_forward_mode("cross_entropy_out", logits, labels, out)
    if logits.ndim != 2:
        raise ValueError(
            f"cross_entropy: logits must have shape [M, N], got {list(logits.shape)}"
        )
    M, _ = logits.shape
    if labels.shape != (M,):
        raise ValueError(
            f"cross_entropy: labels must have shape [M={M}], got {list(labels.shape)}"
        )
    device = logits.device
    _check_out(
        "cross_entropy: out",
        out,
        (M,),
        torch.float32,
        device,
        {"logits": logits, "labels": labels},
    )
    cross_entropy_forward(logits, labels, loss=out)


_refuse_recording(cross_entropy_out_op)


def cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The cross-entropy of each row with its label, with its gradient.

    Args:
        logits: [M, N] float16 or bfloat16 or float32.
        labels: [M] int64 in [0, N).
        out: where to write [M] float32; allocated if None.

    Returns:
        loss: [M] float32.

    Raises:
        ValueError: a shape, stride, device or size that a kernel cannot take.
        TypeError: a dtype that a kernel cannot take.
        RuntimeError: an output is given where there would be a gradient.
    """
    if out is None:
        loss, _ = cross_entropy_op(logits, labels)
        return loss
    _refuse_gradient("cross_entropy", logits, labels, out)
    cross_entropy_out_op(logits, labels, out)
    return out


def reference_fn(logits: torch.Tensor, labels: torch.Tensor):
    """What cross_entropy computes, in PyTorch."""
    return torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")


# Sizes to verify and to measure with, as in get_inputs(**SHAPES[0]).
SHAPES = [{"M": 64, "N": 1000}, {"M": 4096, "N": 128256}]


def get_inputs(M=64, N=1000):
    """Fresh arguments for cross_entropy, of a typical size."""
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, N), device=device, dtype=torch.float16),
        torch.randint(0, N, (M,), device=device, dtype=torch.int64),
    ]


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


def _uncountable(label, **sizes):
    """The error for a size that the kernel does not count up to."""
    name = max(sizes, key=sizes.get)
    return ValueError(
        f"{label}: {name} is {sizes[name]}, and the kernel "
        "counts up to it in int32; compute the indices in tl.int64: "
        "tl.programId(0).to(tl.int64), and sizes likewise"
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


kernel_fn = cross_entropy
