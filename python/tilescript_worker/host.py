"""What the host decides about a kernel: its configs and heuristics, the grid, and constants that depend on numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from triton.runtime.autotuner import Autotuner, Heuristics

from .host_trees import Tree, has_params, heuristic, holds, text_of
from .ttir import constant

if TYPE_CHECKING:
    from .recording import Calls, Launched

# Of a grid that no expression gives.
MOST_EXAMPLES = 3


def decorators_of(kernel: Any) -> list[Any]:
    """The decorators around a jit function, the outermost first."""
    wrapped = kernel.fn.__globals__.get(kernel.__name__)
    found = []
    while wrapped is not None and wrapped is not kernel:
        found.append(wrapped)
        wrapped = getattr(wrapped, "fn", None)
    return [] if wrapped is None else found


def first_config(kernel: Any) -> dict[str, Any]:
    """The constants of the autotuner's first config."""
    tuners = [each for each in decorators_of(kernel) if isinstance(each, Autotuner)]
    return dict(tuners[0].configs[0].kwargs) if tuners else {}


def tuning_of(kernel: Any, launched: Sequence[Launched]) -> dict[str, Any]:
    """Configs, heuristics that agree with what was launched, and what Triton does not specialize on."""
    names = [param.name for param in kernel.params]
    said: dict[str, Any] = {
        "heuristics": {},
        "doNotSpecialize": [param.name for param in kernel.params if param.do_not_specialize],
    }
    for decorator in decorators_of(kernel):
        if isinstance(decorator, Autotuner):
            said["autotune"] = {
                "key": [name for name in decorator.keys if name in names],
                "configs": [_config(config) for config in decorator.configs],
                "resetToZero": list(decorator.reset_to_zero),
                "restoreValue": list(decorator.restore_value),
            }
        elif isinstance(decorator, Heuristics):
            for name, function in decorator.values.items():
                tree = heuristic(function, names)
                agrees = tree is not None and holds(tree, [(each.values, each.values.get(name)) for each in launched])
                said["heuristics"][name] = tree if agrees else {"text": text_of(function)}
    return said


def _config(config: Any) -> dict[str, Any]:
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    more = {"num_ctas": config.num_ctas if config.num_ctas != 1 else None, "maxnreg": config.maxnreg}
    values = {
        name: constant(each) for name, each in config.kwargs.items() if isinstance(each, bool | int | float | str)
    }
    return {"values": values, "options": {**options, **{name: each for name, each in more.items() if each is not None}}}


def launch_of(kernel: Any, calls: Calls) -> dict[str, Any]:
    """The grid and the constants that the script computes, where expressions give what was noted at every launch."""
    launched, site = calls.launched, calls.site
    options = launched[0].options
    grids = list(dict.fromkeys(each.grid for each in launched if each.grid is not None))
    said: dict[str, Any] = {
        "options": options,
        "grids": grids[:MOST_EXAMPLES],
        "noted": [_noted(each) for each in launched],
        "computed": {},
        "passed": {},
    }
    if site is None:
        return said
    said |= {"place": site.place, "gridText": site.grid_text()}
    trees = site.grid()
    if trees is not None and all(
        each.grid is not None and len(each.grid) == len(trees) and _gives(trees, each.values, each.grid)
        for each in launched
    ):
        said["grid"] = trees
    decided = {name for each in decorators_of(kernel) for name in _decided(each)}
    for param in kernel.params:
        if not param.is_constexpr or param.name in decided or not isinstance(launched[0].values.get(param.name), int):
            continue
        tree, text = site.argument(param.name), site.argument_text(param.name)
        if text is None or (tree is not None and not has_params(tree)):
            continue
        # Also of what is computed: where no kernel can be built so, its value is that of the first call.
        said["passed"][param.name] = text
        if tree is not None and holds(tree, [(each.values, each.values.get(param.name)) for each in launched]):
            said["computed"][param.name] = tree
    return said


def _noted(launched: Launched) -> dict[str, Any]:
    """The numbers of one launch; those that JSON has not are left out."""
    tensors = {name: {"shape": each.shape, "strides": each.strides} for name, each in launched.tensors.items()}
    values = {name: value for name, value in launched.values.items() if not isinstance(value, float) or isfinite(value)}
    return {"values": values, "tensors": tensors, **({"grid": launched.grid} if launched.grid is not None else {})}


def _decided(decorator: Any) -> list[str]:
    if isinstance(decorator, Autotuner):
        return [name for config in decorator.configs for name in config.kwargs]
    return list(decorator.values) if isinstance(decorator, Heuristics) else []


def _gives(trees: list[Tree], values: dict[str, Any], grid: tuple[int, ...]) -> bool:
    return all(holds(tree, [(values, size)]) for tree, size in zip(trees, grid, strict=True))
