"""Kernels in Helion for bench/gallery_rivals.py, written as its documentation shows. Helion tunes each for its sizes."""

import importlib.util
import os

# The default search needs scikit-learn.
if importlib.util.find_spec("sklearn") is None:
    os.environ.setdefault("HELION_AUTOTUNER", "PatternSearch")

import helion
import helion.language as hl
import torch

SETTINGS = {"autotune_effort": "quick"}


@helion.kernel(**SETTINGS)
def softmax(x: torch.Tensor) -> torch.Tensor:
    m, _ = x.size()
    out = torch.empty_like(x)
    for rows in hl.tile(m):
        values = x[rows, :]
        shifted = torch.exp(values - torch.amax(values, dim=1, keepdim=True))
        out[rows, :] = shifted / torch.sum(shifted, dim=1, keepdim=True)
    return out


@helion.kernel(**SETTINGS)
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    m, _ = x.size()
    out = torch.empty_like(x)
    for rows in hl.tile(m):
        values = x[rows, :].to(torch.float32)
        scale = torch.rsqrt(torch.mean(values * values, dim=-1, keepdim=True) + eps)
        out[rows, :] = (values * scale * w[:].to(torch.float32)).to(x.dtype)
    return out


@helion.kernel(**SETTINGS)
def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float) -> torch.Tensor:
    m, _ = x.size()
    out = torch.empty_like(x)
    for rows in hl.tile(m):
        values = x[rows, :].to(torch.float32)
        centered = values - torch.mean(values, dim=-1, keepdim=True)
        scale = torch.rsqrt(torch.mean(centered * centered, dim=-1, keepdim=True) + eps)
        out[rows, :] = (centered * scale * w[:].to(torch.float32) + b[:].to(torch.float32)).to(x.dtype)
    return out


@helion.kernel(**SETTINGS)
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.size()
    _, n = b.size()
    out = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for rows, columns in hl.tile([m, n]):
        total = hl.zeros([rows, columns], dtype=torch.float32)
        for depth in hl.tile(k):
            total = torch.addmm(total, a[rows, depth], b[depth, columns])
        out[rows, columns] = total.to(a.dtype)
    return out


@helion.kernel(**SETTINGS)
def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    m, n = logits.size()
    losses = torch.empty([m], dtype=torch.float32, device=logits.device)
    flat = logits.view(-1)
    for rows in hl.tile(m):
        values = logits[rows, :].to(torch.float32)
        largest = torch.amax(values, dim=-1)
        total = torch.sum(torch.exp(values - largest[:, None]), dim=-1)
        chosen = hl.load(flat, [rows.index * n + labels[rows]]).to(torch.float32)
        losses[rows] = torch.log(total) + largest - chosen
    return losses
