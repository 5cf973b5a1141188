"""The state of the process that a function may change for everything that runs after it."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import torch


def process_state() -> dict[str, Any]:
    """Comparable values by name. The caller's random numbers come from this state, too."""
    state: dict[str, Any] = {
        "PyTorch's random state": torch.get_rng_state().tolist(),
        "Python's random state": random.getstate(),
        "NumPy's random state": [np.asarray(part).tobytes() for part in np.random.get_state()],
        "the default dtype": torch.get_default_dtype(),
        "the default device": torch.get_default_device(),
        "whether PyTorch records gradients": torch.is_grad_enabled(),
        "whether PyTorch uses deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the precision of float32 products": torch.get_float32_matmul_precision(),
        "the number of threads": torch.get_num_threads(),
        "the working directory": os.getcwd(),
    }
    if torch.cuda.is_initialized():
        state |= {
            "the GPU's random state": torch.cuda.get_rng_state().tolist(),
            "the current GPU": torch.cuda.current_device(),
            "the current stream": torch.cuda.current_stream().cuda_stream,
        }
    return state


def changes(before: dict[str, Any]) -> set[str]:
    """The names of what has changed."""
    return {name for name, value in process_state().items() if name in before and value != before[name]}
