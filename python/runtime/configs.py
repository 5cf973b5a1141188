"""The configs of emitted kernels, which depend on the GPU."""

import triton

from .checks import _INTERPRETED


def _configs_for_gpu(lists, configs):
    """Those of configs that are for the GPU in use."""
    gpu = "default"
    if not _INTERPRETED:
        gpu = triton.runtime.driver.active.get_current_target().arch
    if isinstance(gpu, int):
        # NVIDIA's take the list of the newest compute capability that they have.
        older = [each for each in lists if isinstance(each, int) and each <= gpu]
        gpu = max(older, default="default")
    return [each for each in lists.get(gpu, lists["default"]) if each in configs]
