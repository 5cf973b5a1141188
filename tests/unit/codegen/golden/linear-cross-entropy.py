"""The cross-entropy of each row of x @ weight.T with its label, with gradients.

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
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_K": BLOCK_K},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_K, num_warps, num_stages in [
            (128, 64, 8, 3),
            (128, 64, 8, 4),
            (64, 64, 4, 4),
            (32, 32, 4, 4),
        ]
    ],
    key=["M", "V", "K"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def log_sum_exps_kernel(
    x_ptr,
    weight_ptr,
    best_ptr,
    total_ptr,
    M,
    K,
    V,
    stride_xm,
    stride_xk,
    stride_weight_v,
    stride_weight_k,
    stride_best_tiles,
    stride_best_m,
    stride_total_tiles,
    stride_total_m,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Programs that run at one time share a tile of the vocabulary.
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tile = tl.program_id(1)
    rv = tile * 256 + tl.arange(0, 256)
    # Rows and words wrap instead of being masked inside the loop.
    xm = rm % M
    wv = rv % V
    acc = tl.zeros([BLOCK_M, 256], dtype=tl.float32)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (xm[:, None] * stride_xm + rk[None, :] * stride_xk)
    weight_ptrs = weight_ptr + (
        wv[:, None].to(tl.int64) * stride_weight_v
        + rk[None, :].to(tl.int64) * stride_weight_k
    )
    for k in range(0, K, BLOCK_K):
        mask = rk[None, :] < K - k
        acc = tl.dot(
            tl.load(x_ptrs, mask=mask, other=0.0),
            tl.trans(tl.load(weight_ptrs, mask=mask, other=0.0)),
            acc,
        )
        x_ptrs += BLOCK_K * stride_xk
        weight_ptrs += BLOCK_K * tl.cast(stride_weight_k, tl.int64)
    logits = tl.where(rv[None, :] < V, acc * 1.4426950408889634, float("-inf"))
    top = tl.max(logits, axis=1)
    mask = rm < M
    tl.store(best_ptr + tile * stride_best_tiles + rm * stride_best_m, top, mask=mask)
    tl.store(
        total_ptr + tile * stride_total_tiles + rm * stride_total_m,
        tl.sum(tl.exp2(logits - top[:, None]), axis=1),
        mask=mask,
    )


def _log_sum_exps_meta(x, weight):
    """Checks the arguments of log_sum_exps, and allocates its results."""
    _check_operands("log_sum_exps", x=x, weight=weight)
    if x.ndim != 2 or weight.ndim != 2 or weight.shape[1] != x.shape[1]:
        raise ValueError(
            "log_sum_exps: x and weight must have shapes [M, K] and [V, K], got "
            f"{x.shape} and {weight.shape}"
        )
    M, _ = x.shape
    V = weight.shape[0]
    TILES = triton.cdiv(V, 256)
    _check_dtypes("log_sum_exps", (torch.float16, torch.bfloat16), x=x, weight=weight)
    return (
        x.new_empty((TILES, M), dtype=torch.float32),
        x.new_empty((TILES, M), dtype=torch.float32),
    )


def _log_sum_exps(x, weight):
    """The greatest logit of each row in each tile of the vocabulary, and the tile's
    sum of exponentials, to base 2.
    """
    best, total = _log_sum_exps_meta(x, weight)
    M, K = x.shape
    V = weight.shape[0]
    TILES = triton.cdiv(V, 256)
    if TILES * M == 0:
        return best, total

    tensors = {"x": x, "weight": weight, "best": best, "total": total}
    _check_reach("log_sum_exps", x=x, best=best, total=total)
    if V >= 2**31 - 2**20:
        raise ValueError(
            f"log_sum_exps: V is {V}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"log_sum_exps: K is {K}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )

    def grid(meta):
        return _checked_grid(
            "log_sum_exps", (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(V, 256))
        )

    with torch.cuda.device(x.get_device()):
        log_sum_exps_kernel[grid](*tensors.values(), M, K, V, *_strides(tensors))
    return best, total


@triton.jit
def loss_of_tiles_kernel(
    x_ptr,
    weight_ptr,
    labels_ptr,
    best_ptr,
    total_ptr,
    loss_ptr,
    lse_ptr,
    K,
    TILES,
    stride_xm,
    stride_xk,
    stride_weight_v,
    stride_weight_k,
    stride_labels_m,
    stride_best_tiles,
    stride_best_m,
    stride_total_tiles,
    stride_total_m,
    stride_loss_m,
    stride_lse_m,
    BLOCK_T: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    row = tl.program_id(0)
    tiles = tl.arange(0, BLOCK_T)
    mask = tiles < TILES
    tops = tl.load(
        best_ptr + row * stride_best_m + tiles * stride_best_tiles,
        mask=mask,
        other=float("-inf"),
    )
    top = tl.max(tops, axis=0)
    sum_ = tl.sum(
        tl.load(
            total_ptr + row * stride_total_m + tiles * stride_total_tiles,
            mask=mask,
            other=0.0,
        )
        * tl.exp2(tops - top),
        axis=0,
    )
    log2_sum = top + tl.log2(sum_)
    label = tl.load(labels_ptr + row * stride_labels_m)
    products = tl.zeros([BLOCK_K], dtype=tl.float32)
    x_base = x_ptr + row * stride_xm
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        mask_1 = rk < K
        word = tl.load(
            weight_ptr
            + label.to(tl.int64) * stride_weight_v
            + rk.to(tl.int64) * stride_weight_k,
            mask=mask_1,
            other=0.0,
        ).to(tl.float32)
        products += (
            tl.load(x_base + rk * stride_xk, mask=mask_1, other=0.0).to(tl.float32)
            * word
        )
    tl.store(lse_ptr + row * stride_lse_m, log2_sum)
    tl.store(
        loss_ptr + row * stride_loss_m,
        log2_sum * 0.6931471805599453 - tl.sum(products, axis=0),
    )


def _loss_of_tiles_meta(x, weight, labels, best, total):
    """Checks the arguments of loss_of_tiles, and allocates its results."""
    _check_operands(
        "loss_of_tiles", x=x, weight=weight, labels=labels, best=best, total=total
    )
    if (
        x.ndim != 2
        or weight.ndim != 2
        or weight.shape[1] != x.shape[1]
        or labels.shape != x.shape[:1]
        or best.ndim != 2
        or best.shape[1] != x.shape[0]
        or total.shape != best.shape
    ):
        raise ValueError(
            "loss_of_tiles: x, weight, labels, best and total must have shapes "
            f"[M, K], [V, K], [M], [TILES, M] and [TILES, M], got {x.shape}, "
            f"{weight.shape}, {labels.shape}, {best.shape} and {total.shape}"
        )
    M, _ = x.shape
    _check_dtypes("loss_of_tiles", (torch.float16, torch.bfloat16), x=x, weight=weight)
    _check_dtypes("loss_of_tiles", (torch.int64,), labels=labels)
    _check_dtypes("loss_of_tiles", (torch.float32,), best=best, total=total)
    return (
        x.new_empty((M,), dtype=torch.float32),
        x.new_empty((M,), dtype=torch.float32),
    )


def _loss_of_tiles(x, weight, labels, best, total):
    """loss = lse - logit of the label, and lse to base 2, from the tiles' maxima and
    sums.
    """
    loss, lse = _loss_of_tiles_meta(x, weight, labels, best, total)
    M, K = x.shape
    TILES = best.shape[0]
    if M == 0:
        return loss, lse

    tensors = {
        "x": x,
        "weight": weight,
        "labels": labels,
        "best": best,
        "total": total,
        "loss": loss,
        "lse": lse,
    }
    _check_reach(
        "loss_of_tiles", x=x, labels=labels, best=best, total=total, loss=loss, lse=lse
    )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"loss_of_tiles: K is {K}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )
    BLOCK_T = triton.next_power_of_2(TILES)
    if BLOCK_T < 1 or (BLOCK_T & (BLOCK_T - 1)) != 0 or BLOCK_T > 2**20:
        raise ValueError(
            "loss_of_tiles: BLOCK_T must be a power of two, at most 2**20, got "
            f"{BLOCK_T}"
        )

    with torch.cuda.device(x.get_device()):
        loss_of_tiles_kernel[(M,)](
            *tensors.values(),
            K,
            TILES,
            *_strides(tensors),
            BLOCK_T=BLOCK_T,
            BLOCK_K=1024,
            num_warps=4,
        )
    return loss, lse


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages in [
            (128, 256, 64, 8, 3),
            (128, 128, 64, 8, 3),
            (64, 64, 64, 4, 4),
            (32, 32, 32, 4, 4),
        ]
    ],
    key=["M", "PART", "K"],
    restore_value=["dlogits_ptr"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def logit_gradients_kernel(
    x_ptr,
    weight_ptr,
    labels_ptr,
    lse_ptr,
    dloss_ptr,
    dlogits_ptr,
    part: tl.int32,
    M,
    K,
    V,
    PART,
    stride_xm,
    stride_xk,
    stride_weight_v,
    stride_weight_k,
    stride_labels_m,
    stride_lse_m,
    stride_dloss_m,
    stride_dlogits_m,
    stride_dlogits_part,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(PART, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(
        pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, 8
    )
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    words = rn + part * PART
    xm = rm % M
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (xm[:, None] * stride_xm + rk[None, :] * stride_xk)
    weight_ptrs = weight_ptr + (
        words[:, None].to(tl.int64) * stride_weight_v
        + rk[None, :].to(tl.int64) * stride_weight_k
    )
    for k in range(0, K, BLOCK_K):
        mask = rk[None, :] < K - k
        acc = tl.dot(
            tl.load(x_ptrs, mask=mask, other=0.0),
            tl.trans(tl.load(weight_ptrs, mask=(words[:, None] < V) & mask, other=0.0)),
            acc,
        )
        x_ptrs += BLOCK_K * stride_xk
        weight_ptrs += BLOCK_K * tl.cast(stride_weight_k, tl.int64)
    mask = rm < M
    probabilities = tl.exp2(
        acc * 1.4426950408889634
        - tl.load(lse_ptr + rm * stride_lse_m, mask=mask, other=0.0)[:, None]
    )
    is_label = (
        words[None, :]
        == tl.load(labels_ptr + rm * stride_labels_m, mask=mask, other=0).to(tl.int32)[
            :, None
        ]
    )
    change = (
        tl.where(is_label, probabilities - 1.0, probabilities)
        * tl.load(dloss_ptr + rm * stride_dloss_m, mask=mask, other=0.0)[:, None]
    )
    # The last part may be longer than what is left of the vocabulary.
    tl.store(
        dlogits_ptr
        + (rm[:, None] * stride_dlogits_m + rn[None, :] * stride_dlogits_part),
        tl.where(words[None, :] < V, change, 0.0).to(dlogits_ptr.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < PART),
    )


def _logit_gradients_meta(x, weight, labels, lse, dloss, dlogits, part):
    """Checks the arguments of logit_gradients, and allocates its results."""
    _check_operands(
        "logit_gradients",
        x=x,
        weight=weight,
        labels=labels,
        lse=lse,
        dloss=dloss,
        dlogits=dlogits,
    )
    if (
        x.ndim != 2
        or weight.ndim != 2
        or weight.shape[1] != x.shape[1]
        or labels.shape != x.shape[:1]
        or lse.shape != labels.shape
        or dloss.shape != labels.shape
        or dlogits.ndim != 2
        or dlogits.shape[0] != x.shape[0]
    ):
        raise ValueError(
            "logit_gradients: x, weight, labels, lse, dloss and dlogits must "
            "have shapes [M, K], [V, K], [M], [M], [M] and [M, PART], got "
            f"{x.shape}, {weight.shape}, {labels.shape}, {lse.shape}, "
            f"{dloss.shape} and {dlogits.shape}"
        )
    M, _ = x.shape
    V = weight.shape[0]
    if not (part >= 0 and part < 16):
        raise ValueError(
            "logit_gradients: a requirement does not hold: part >= 0 and part < "
            f"16 with part = {part}"
        )
    PART = triton.cdiv(V, 16)
    if dlogits.shape[1] != PART:
        raise ValueError(
            f"logit_gradients: dlogits must have shape [M={M}, PART={PART}], got "
            f"{dlogits.shape}"
        )
    _check_dtypes(
        "logit_gradients",
        (torch.float16, torch.bfloat16),
        x=x,
        weight=weight,
        dlogits=dlogits,
    )
    _check_dtypes("logit_gradients", (torch.int64,), labels=labels)
    _check_dtypes("logit_gradients", (torch.float32,), lse=lse, dloss=dloss)


def _logit_gradients(x, weight, labels, lse, dloss, dlogits, part):
    """(softmax(logits) - onehot(label)) * dloss of the row, for the words of a part
    of the vocabulary.
    """
    _logit_gradients_meta(x, weight, labels, lse, dloss, dlogits, part)
    _check_int("logit_gradients: part", part, -(2**31), 2**31 - 1)
    _check_strided(
        "logit_gradients: dlogits",
        dlogits,
        x=x,
        weight=weight,
        labels=labels,
        lse=lse,
        dloss=dloss,
    )
    M, K = x.shape
    V = weight.shape[0]
    PART = triton.cdiv(V, 16)
    if M * PART == 0:
        return dlogits

    tensors = {
        "x": x,
        "weight": weight,
        "labels": labels,
        "lse": lse,
        "dloss": dloss,
        "dlogits": dlogits,
    }
    _check_reach(
        "logit_gradients", x=x, labels=labels, lse=lse, dloss=dloss, dlogits=dlogits
    )
    if V >= 2**31 - 2**20:
        raise ValueError(
            f"logit_gradients: V is {V}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"logit_gradients: K is {K}, and the kernel counts up to it in int32; "
            "compute the indices in tl.int64: tl.programId(0).to(tl.int64), and "
            "sizes likewise"
        )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(PART, meta["BLOCK_N"]),)

    with torch.cuda.device(x.get_device()):
        logit_gradients_kernel[grid](
            *tensors.values(), part, M, K, V, PART, *_strides(tensors)
        )
    return dlogits


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages in [
            (128, 256, 64, 8, 3),
            (128, 128, 64, 8, 3),
            (64, 64, 64, 4, 4),
            (32, 32, 32, 4, 4),
        ]
    ],
    key=["M", "PART", "K"],
    restore_value=["dx_ptr"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def add_input_gradients_kernel(
    dlogits_ptr,
    weight_ptr,
    dx_ptr,
    part: tl.int32,
    M,
    PART,
    V,
    K,
    stride_dlogits_m,
    stride_dlogits_part,
    stride_weight_v,
    stride_weight_k,
    stride_dx_m,
    stride_dx_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(K, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(
        pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, 8
    )
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    dm = rm % M
    wn = rn % K
    mask = (rm[:, None] < M) & (rn[None, :] < K)
    acc = tl.load(
        dx_ptr + (rm[:, None] * stride_dx_m + rn[None, :] * stride_dx_k),
        mask=mask,
        other=0.0,
    )
    offsets = tl.arange(0, BLOCK_K)
    dlogits_ptrs = dlogits_ptr + (
        dm[:, None] * stride_dlogits_m + offsets[None, :] * stride_dlogits_part
    )
    for v in range(0, PART, BLOCK_K):
        rv = v + offsets
        offsets_1 = rv + part * PART
        acc = tl.dot(
            tl.load(dlogits_ptrs, mask=offsets[None, :] < PART - v, other=0.0),
            tl.load(
                weight_ptr
                + offsets_1[:, None].to(tl.int64) * stride_weight_v
                + wn[None, :].to(tl.int64) * stride_weight_k,
                mask=offsets_1[:, None] < V,
                other=0.0,
            ),
            acc,
        )
        dlogits_ptrs += BLOCK_K * stride_dlogits_part
    tl.store(
        dx_ptr + (rm[:, None] * stride_dx_m + rn[None, :] * stride_dx_k), acc, mask=mask
    )


def _add_input_gradients_meta(dlogits, weight, dx, part):
    """Checks the arguments of add_input_gradients, and allocates its results."""
    _check_operands("add_input_gradients", dlogits=dlogits, weight=weight, dx=dx)
    if (
        dlogits.ndim != 2
        or weight.ndim != 2
        or dx.ndim != 2
        or dx.shape[0] != dlogits.shape[0]
        or dx.shape[1] != weight.shape[1]
    ):
        raise ValueError(
            "add_input_gradients: dlogits, weight and dx must have shapes [M, "
            f"PART], [V, K] and [M, K], got {dlogits.shape}, {weight.shape} and "
            f"{dx.shape}"
        )
    M = dlogits.shape[0]
    V, _ = weight.shape
    if not (part >= 0 and part < 16):
        raise ValueError(
            "add_input_gradients: a requirement does not hold: part >= 0 and "
            f"part < 16 with part = {part}"
        )
    PART = triton.cdiv(V, 16)
    if dlogits.shape[1] != PART:
        raise ValueError(
            f"add_input_gradients: dlogits must have shape [M={M}, PART={PART}], "
            f"got {dlogits.shape}"
        )
    _check_dtypes(
        "add_input_gradients",
        (torch.float16, torch.bfloat16),
        dlogits=dlogits,
        weight=weight,
    )
    _check_dtypes("add_input_gradients", (torch.float32,), dx=dx)


def _add_input_gradients(dlogits, weight, dx, part):
    """dx += dlogits @ W, for the words of a part of the vocabulary."""
    _add_input_gradients_meta(dlogits, weight, dx, part)
    _check_int("add_input_gradients: part", part, -(2**31), 2**31 - 1)
    _check_strided("add_input_gradients: dx", dx, dlogits=dlogits, weight=weight)
    M = dlogits.shape[0]
    V, K = weight.shape
    PART = triton.cdiv(V, 16)
    if M * K == 0:
        return dx

    _check_reach("add_input_gradients", dlogits=dlogits, dx=dx)
    if V >= 2**31 - 2**20:
        raise ValueError(
            f"add_input_gradients: V is {V}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(K, meta["BLOCK_N"]),)

    with torch.cuda.device(dlogits.get_device()):
        add_input_gradients_kernel[grid](
            dlogits,
            weight,
            dx,
            part,
            M,
            PART,
            V,
            K,
            *dlogits.stride(),
            *weight.stride(),
            *dx.stride(),
        )
    return dx


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages in [
            (128, 256, 64, 8, 3),
            (128, 128, 64, 8, 3),
            (64, 64, 64, 4, 4),
            (32, 32, 32, 4, 4),
        ]
    ],
    key=["M", "PART", "K"],
    restore_value=["dw_ptr"],
    do_bench=(lambda *_, **__: [0.0] * 3) if _INTERPRETED else None,
)
@triton.jit
def weight_gradients_kernel(
    dlogits_ptr,
    x_ptr,
    dw_ptr,
    part: tl.int32,
    M,
    PART,
    K,
    V,
    stride_dlogits_m,
    stride_dlogits_part,
    stride_xm,
    stride_xk,
    stride_dw_v,
    stride_dw_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(PART, BLOCK_M)
    num_pid_n = tl.cdiv(K, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(
        pid // num_pid_n, pid % num_pid_n, num_pid_m, num_pid_n, 8
    )
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    dv = rm % PART
    xn = rn % K
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    rm_1 = tl.arange(0, BLOCK_K)
    dlogits_ptrs = dlogits_ptr + (
        rm_1[:, None] * stride_dlogits_m + dv[None, :] * stride_dlogits_part
    )
    x_ptrs = x_ptr + (rm_1[:, None] * stride_xm + xn[None, :] * stride_xk)
    for m in range(0, M, BLOCK_K):
        mask = rm_1[:, None] < M - m
        acc = tl.dot(
            tl.trans(tl.load(dlogits_ptrs, mask=mask, other=0.0)),
            tl.load(x_ptrs, mask=mask, other=0.0),
            acc,
        )
        dlogits_ptrs += BLOCK_K * stride_dlogits_m
        x_ptrs += BLOCK_K * stride_xm
    offsets = rm + part * PART
    tl.store(
        dw_ptr
        + (
            offsets[:, None].to(tl.int64) * stride_dw_v
            + rn[None, :].to(tl.int64) * stride_dw_k
        ),
        acc.to(dw_ptr.dtype.element_ty),
        mask=(offsets[:, None] < V) & (rn[None, :] < K) & (rm < PART)[:, None],
    )


def _weight_gradients_meta(dlogits, x, dw, part):
    """Checks the arguments of weight_gradients, and allocates its results."""
    _check_operands("weight_gradients", dlogits=dlogits, x=x, dw=dw)
    if (
        dlogits.ndim != 2
        or x.ndim != 2
        or x.shape[0] != dlogits.shape[0]
        or dw.ndim != 2
        or dw.shape[1] != x.shape[1]
    ):
        raise ValueError(
            "weight_gradients: dlogits, x and dw must have shapes [M, PART], [M, "
            f"K] and [V, K], got {dlogits.shape}, {x.shape} and {dw.shape}"
        )
    M = dlogits.shape[0]
    V = dw.shape[0]
    if not (part >= 0 and part < 16):
        raise ValueError(
            "weight_gradients: a requirement does not hold: part >= 0 and part < "
            f"16 with part = {part}"
        )
    PART = triton.cdiv(V, 16)
    if dlogits.shape[1] != PART:
        raise ValueError(
            f"weight_gradients: dlogits must have shape [M={M}, PART={PART}], got "
            f"{dlogits.shape}"
        )
    _check_dtypes(
        "weight_gradients", (torch.float16, torch.bfloat16), dlogits=dlogits, x=x, dw=dw
    )


def _weight_gradients(dlogits, x, dw, part):
    """dW = dlogits^T @ x, for the words of a part of the vocabulary."""
    _weight_gradients_meta(dlogits, x, dw, part)
    _check_int("weight_gradients: part", part, -(2**31), 2**31 - 1)
    _check_strided("weight_gradients: dw", dw, dlogits=dlogits, x=x)
    M = dlogits.shape[0]
    K = x.shape[1]
    V = dw.shape[0]
    PART = triton.cdiv(V, 16)
    if V * K == 0:
        return dw

    _check_reach("weight_gradients", dlogits=dlogits, x=x)
    if V >= 2**31 - 2**20:
        raise ValueError(
            f"weight_gradients: V is {V}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )
    if K >= 2**31 - 2**20:
        raise ValueError(
            f"weight_gradients: K is {K}, and the kernel counts up to it in "
            "int32; compute the indices in tl.int64: "
            "tl.programId(0).to(tl.int64), and sizes likewise"
        )

    def grid(meta):
        return _checked_grid(
            "weight_gradients",
            (triton.cdiv(PART, meta["BLOCK_M"]) * triton.cdiv(K, meta["BLOCK_N"]),),
        )

    with torch.cuda.device(dlogits.get_device()):
        weight_gradients_kernel[grid](
            dlogits,
            x,
            dw,
            part,
            M,
            PART,
            K,
            V,
            *dlogits.stride(),
            *x.stride(),
            *dw.stride(),
        )
    return dw


@torch.library.custom_op("tilescript::linear_cross_entropy", mutates_args=())
def linear_cross_entropy_op(
    x: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    best, total = _log_sum_exps(x, weight)
    return _loss_of_tiles(x, weight, labels, best, total)


@linear_cross_entropy_op.register_fake
def _(x, weight, labels):
    best, total = _log_sum_exps_meta(x, weight)
    return _loss_of_tiles_meta(x, weight, labels, best, total)


@torch.library.custom_op("tilescript::linear_cross_entropy_backward", mutates_args=())
def linear_cross_entropy_backward_op(
    grad_loss: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
    needs_x: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    M = grad_loss.shape[0]
    K = x.shape[1]
    V = weight.shape[0]
    dx = torch.zeros([M, K], dtype=torch.float32, device=grad_loss.device)
    dw = torch.empty([V, K], dtype=x.dtype, device=grad_loss.device)
    dlogits = torch.empty([M, (V + 15) // 16], dtype=x.dtype, device=grad_loss.device)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 0)
    _add_input_gradients(dlogits, weight, dx, 0)
    _weight_gradients(dlogits, x, dw, 0)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 1)
    _add_input_gradients(dlogits, weight, dx, 1)
    _weight_gradients(dlogits, x, dw, 1)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 2)
    _add_input_gradients(dlogits, weight, dx, 2)
    _weight_gradients(dlogits, x, dw, 2)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 3)
    _add_input_gradients(dlogits, weight, dx, 3)
    _weight_gradients(dlogits, x, dw, 3)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 4)
    _add_input_gradients(dlogits, weight, dx, 4)
    _weight_gradients(dlogits, x, dw, 4)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 5)
    _add_input_gradients(dlogits, weight, dx, 5)
    _weight_gradients(dlogits, x, dw, 5)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 6)
    _add_input_gradients(dlogits, weight, dx, 6)
    _weight_gradients(dlogits, x, dw, 6)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 7)
    _add_input_gradients(dlogits, weight, dx, 7)
    _weight_gradients(dlogits, x, dw, 7)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 8)
    _add_input_gradients(dlogits, weight, dx, 8)
    _weight_gradients(dlogits, x, dw, 8)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 9)
    _add_input_gradients(dlogits, weight, dx, 9)
    _weight_gradients(dlogits, x, dw, 9)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 10)
    _add_input_gradients(dlogits, weight, dx, 10)
    _weight_gradients(dlogits, x, dw, 10)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 11)
    _add_input_gradients(dlogits, weight, dx, 11)
    _weight_gradients(dlogits, x, dw, 11)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 12)
    _add_input_gradients(dlogits, weight, dx, 12)
    _weight_gradients(dlogits, x, dw, 12)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 13)
    _add_input_gradients(dlogits, weight, dx, 13)
    _weight_gradients(dlogits, x, dw, 13)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 14)
    _add_input_gradients(dlogits, weight, dx, 14)
    _weight_gradients(dlogits, x, dw, 14)
    _logit_gradients(x, weight, labels, lse, grad_loss, dlogits, 15)
    _add_input_gradients(dlogits, weight, dx, 15)
    _weight_gradients(dlogits, x, dw, 15)
    if needs_x:
        grad_x = dx.to(x.dtype)
    else:
        grad_x = grad_loss.new_empty(0)
    return grad_x, dw


@linear_cross_entropy_backward_op.register_fake
def _(grad_loss, x, weight, labels, lse, needs_x):
    M = grad_loss.shape[0]
    K = x.shape[1]
    V = weight.shape[0]
    dx = torch.zeros([M, K], dtype=torch.float32, device=grad_loss.device)
    dw = torch.empty([V, K], dtype=x.dtype, device=grad_loss.device)
    dlogits = torch.empty([M, (V + 15) // 16], dtype=x.dtype, device=grad_loss.device)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 0)
    _add_input_gradients_meta(dlogits, weight, dx, 0)
    _weight_gradients_meta(dlogits, x, dw, 0)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 1)
    _add_input_gradients_meta(dlogits, weight, dx, 1)
    _weight_gradients_meta(dlogits, x, dw, 1)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 2)
    _add_input_gradients_meta(dlogits, weight, dx, 2)
    _weight_gradients_meta(dlogits, x, dw, 2)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 3)
    _add_input_gradients_meta(dlogits, weight, dx, 3)
    _weight_gradients_meta(dlogits, x, dw, 3)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 4)
    _add_input_gradients_meta(dlogits, weight, dx, 4)
    _weight_gradients_meta(dlogits, x, dw, 4)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 5)
    _add_input_gradients_meta(dlogits, weight, dx, 5)
    _weight_gradients_meta(dlogits, x, dw, 5)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 6)
    _add_input_gradients_meta(dlogits, weight, dx, 6)
    _weight_gradients_meta(dlogits, x, dw, 6)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 7)
    _add_input_gradients_meta(dlogits, weight, dx, 7)
    _weight_gradients_meta(dlogits, x, dw, 7)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 8)
    _add_input_gradients_meta(dlogits, weight, dx, 8)
    _weight_gradients_meta(dlogits, x, dw, 8)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 9)
    _add_input_gradients_meta(dlogits, weight, dx, 9)
    _weight_gradients_meta(dlogits, x, dw, 9)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 10)
    _add_input_gradients_meta(dlogits, weight, dx, 10)
    _weight_gradients_meta(dlogits, x, dw, 10)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 11)
    _add_input_gradients_meta(dlogits, weight, dx, 11)
    _weight_gradients_meta(dlogits, x, dw, 11)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 12)
    _add_input_gradients_meta(dlogits, weight, dx, 12)
    _weight_gradients_meta(dlogits, x, dw, 12)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 13)
    _add_input_gradients_meta(dlogits, weight, dx, 13)
    _weight_gradients_meta(dlogits, x, dw, 13)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 14)
    _add_input_gradients_meta(dlogits, weight, dx, 14)
    _weight_gradients_meta(dlogits, x, dw, 14)
    _logit_gradients_meta(x, weight, labels, lse, grad_loss, dlogits, 15)
    _add_input_gradients_meta(dlogits, weight, dx, 15)
    _weight_gradients_meta(dlogits, x, dw, 15)
    if needs_x:
        grad_x = dx.to(x.dtype)
    else:
        grad_x = grad_loss.new_empty(0)
    return grad_x, dw


def _linear_cross_entropy_setup_context(ctx, inputs, output):
    x, weight, labels = inputs
    _, lse = output
    ctx.save_for_backward(x, weight, labels, lse)
    ctx.mark_non_differentiable(lse)


def _linear_cross_entropy_backward(ctx, grad_loss, *_):
    x, weight, labels, lse = ctx.saved_tensors
    needs_x = ctx.needs_input_grad[0]
    grad_x, grad_weight = linear_cross_entropy_backward_op(
        grad_loss, x, weight, labels, lse, needs_x
    )
    return grad_x, grad_weight, None


linear_cross_entropy_op.register_autograd(
    _linear_cross_entropy_backward, setup_context=_linear_cross_entropy_setup_context
)


def linear_cross_entropy(
    x: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """The cross-entropy of each row of x @ weight.T with its label, with gradients.

    Args:
        x: [M, K] float16 or bfloat16.
        weight: [V, K] float16 or bfloat16.
        labels: [M] int64 in [0, V).

    Returns:
        loss: [M] float32.
    """
    _refuse_tangents("linear_cross_entropy", x, weight)
    loss, _ = linear_cross_entropy_op(x, weight, labels)
    return loss


def reference_fn(x, weight, labels):
    logits = torch.nn.functional.linear(x, weight)
    return torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")


SHAPES = [{"M": 64, "K": 128, "V": 1000}, {"M": 4096, "K": 4096, "V": 128256}]


def get_inputs(M=64, K=128, V=1000):
    device = "cpu" if _INTERPRETED else "cuda"
    return [
        torch.randn((M, K), device=device, dtype=torch.float16),
        torch.randn((V, K), device=device, dtype=torch.float16),
        torch.randint(0, V, (M,), device=device, dtype=torch.int64),
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


def _check_int(label, value, least, most):
    """Refuses a value that is no integer, or out of range."""
    # In a graph with dynamic shapes, sizes are SymInt.
    if type(value) not in (int, torch.SymInt):
        raise TypeError(f"{label} must be of type int, got {value!r:.80}")
    if not least <= value <= most:
        raise ValueError(f"{label} must be from {least} to {most}, got {value}")


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


kernel_fn = linear_cross_entropy
