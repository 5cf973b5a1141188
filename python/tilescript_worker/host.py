"""Host-side parts of a kernel: configs, heuristics, the grid, and computed constexprs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from triton.runtime.autotuner import Autotuner, Heuristics

from .call_sites import sites_in_file
from .host_trees import Tree, has_params, heuristic_tree, is_consistent, unresolved_heuristic
from .ttir import constant

if TYPE_CHECKING:
    from .recording import RecordedCalls, RecordedLaunch
    from .ttir import Argument

# Number of grids to report if no expression computes the grid.
MAX_GRIDS = 3


def decorators_of(kernel: Any) -> list[Any]:
    """The decorators around a jit function, outermost first."""
    wrapped = kernel.fn.__globals__.get(kernel.__name__)
    decorators = []
    while wrapped is not None and wrapped is not kernel:
        decorators.append(wrapped)
        wrapped = getattr(wrapped, "fn", None)
    return [] if wrapped is None else decorators


def first_config(kernel: Any) -> dict[str, Any]:
    """The constants of the autotuner's first config."""
    tuners = [each for each in decorators_of(kernel) if isinstance(each, Autotuner)]
    return dict(tuners[0].configs[0].kwargs) if tuners else {}


def tuning_of(
    kernel: Any, signatures: Sequence[Mapping[str, Argument]], launches: Sequence[RecordedLaunch]
) -> dict[str, Any]:
    """Configs, heuristics that agree with the recorded launches, unspecialized parameters, and what no spec has."""
    names = [param.name for param in kernel.params]
    tuning: dict[str, Any] = {
        "heuristics": {},
        "doNotSpecialize": [param.name for param in kernel.params if param.do_not_specialize],
        "leftOut": _jit_options(kernel),
    }
    for decorator in decorators_of(kernel):
        if isinstance(decorator, Autotuner):
            configs = [_config(config) for config in decorator.configs]
            # The hook that sets the blocks of descriptors is called for them.
            has_descriptors = any(each.kind == "descriptor" for signature in signatures for each in signature.values())
            zeroed = [] if has_descriptors else _zeroed(decorator, signatures)
            if configs:
                tuning["autotune"] = {
                    "key": [name for name in decorator.keys if name in names],
                    "configs": configs,
                    "resetToZero": list(decorator.reset_to_zero),
                    "restoreValue": list(decorator.restore_value),
                    "zeroed": zeroed,
                }
            counts_hook = not has_descriptors and not zeroed
            tuning["leftOut"] += _tuner_options(decorator, names, counts_hook)
        elif isinstance(decorator, Heuristics):
            for name, function in decorator.values.items():
                tree = heuristic_tree(function, names)
                agrees = tree is not None and is_consistent(
                    tree, [(each.values, each.values.get(name)) for each in launches]
                )
                tuning["heuristics"][name] = tree if agrees else unresolved_heuristic(function, names)
        else:
            tuning["leftOut"].append(f"the decorator {type(decorator).__name__}")
    return tuning


def _jit_options(kernel: Any) -> list[str]:
    """The arguments of ``@triton.jit`` that no spec has."""
    aligned = [param.name for param in kernel.params if getattr(param, "do_not_specialize_on_alignment", False)]
    options = {
        f"do_not_specialize_on_alignment of {', '.join(aligned)}": aligned,
        "launch_metadata": getattr(kernel, "launch_metadata", None),
        "debug": getattr(kernel, "debug", None),
    }
    return [text for text, value in options.items() if value]


def _tuner_options(tuner: Any, names: Sequence[str], counts_hook: bool) -> list[str]:
    """The arguments of ``@triton.autotune`` and of its configs that no spec has."""
    options = {
        "the pre_hook of the autotuner": getattr(tuner, "user_defined_pre_hook", False),
        "the post_hook of the autotuner": getattr(tuner, "user_defined_post_hook", False),
        "early_config_prune": getattr(tuner, "early_config_prune", None),
        "perf_model": getattr(tuner, "perf_model", None),
        "the pre_hook of a config": counts_hook and any(config.pre_hook for config in tuner.configs),
        "the ir_override of a config": any(getattr(config, "ir_override", None) for config in tuner.configs),
        "a config's value that is no number, truth value or string": any(
            not isinstance(value, bool | int | float | str)
            for config in tuner.configs
            for value in config.kwargs.values()
        ),
    }
    unknown = [f"the autotune key {name}, which is no parameter" for name in tuner.keys if name not in names]
    return [text for text, value in options.items() if value] + unknown


class _Zeroable:
    """An argument of which a hook can only set the memory to zero."""

    def __init__(self) -> None:
        self.is_zeroed = False

    def zero_(self) -> _Zeroable:
        self.is_zeroed = True
        return self


def _zeroed(tuner: Any, signatures: Sequence[Mapping[str, Argument]]) -> list[str]:
    """The pointers that the hooks of all configs set to zero. Empty if a hook does anything else, or does not do it."""
    found = set()
    for signature in signatures:
        names_by_config = [_zeroed_by(config, signature) for config in tuner.configs]
        first, *others = names_by_config or [[]]
        if not first or any(each != first for each in others):
            return []
        found.update(first)
    return sorted(found)


def _zeroed_by(config: Any, signature: Mapping[str, Argument]) -> list[str]:
    if config.pre_hook is None:
        return []
    pointers = {name: _Zeroable() for name, each in signature.items() if each.kind == "pointer"}
    constants = {name: each.value for name, each in signature.items() if each.kind == "constant"}
    try:
        config.pre_hook({**constants, **config.kwargs, **pointers})
    except Exception:
        # It needs what no signature has, such as a size, or does something else with a tensor.
        return []
    return [name for name, each in pointers.items() if each.is_zeroed]


def _config(config: Any) -> dict[str, Any]:
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    optional_options = {"num_ctas": config.num_ctas if config.num_ctas != 1 else None, "maxnreg": config.maxnreg}
    values = {
        name: constant(each) for name, each in config.kwargs.items() if isinstance(each, bool | int | float | str)
    }
    return {
        "values": values,
        "options": {**options, **{name: each for name, each in optional_options.items() if each is not None}},
    }


def launch_of(kernel: Any, calls: RecordedCalls) -> dict[str, Any]:
    """The grid and the computed constexprs. An expression is included only if it agrees with every recorded launch."""
    launches, site = calls.launches, calls.site
    options = launches[0].options
    grids = list(dict.fromkeys(each.grid for each in launches if each.grid is not None))
    result: dict[str, Any] = {
        "options": options,
        "grids": grids[:MAX_GRIDS],
        "noted": [_launch_json(each) for each in launches],
        "computed": {},
        "passed": {},
    }
    if site is None:
        return result
    result |= {"place": site.location, "gridText": site.grid_text()}
    trees = site.grid()
    if trees is not None and all(
        each.grid is not None and len(each.grid) == len(trees) and _matches_grid(trees, each.values, each.grid)
        for each in launches
    ):
        result["grid"] = trees
    chosen_names = {name for each in decorators_of(kernel) for name in _decorator_constants(each)}
    for param in kernel.params:
        if (
            not param.is_constexpr
            or param.name in chosen_names
            or not isinstance(launches[0].values.get(param.name), int)
        ):
            continue
        tree, text = site.argument(param.name), site.argument_text(param.name)
        if text is None or (tree is not None and not has_params(tree)):
            continue
        # Recorded also for a computed constexpr: the importer falls back to the first call's value.
        result["passed"][param.name] = text
        if tree is not None and is_consistent(tree, [(each.values, each.values.get(param.name)) for each in launches]):
            result["computed"][param.name] = tree
    return result


def grid_in_file(kernel: Any) -> dict[str, Any] | None:
    """The grid of the launches in the kernel's own file; None without a launch.

    An axis is None if it has no expression over the parameters, or if the launches differ.
    """
    file = inspect.getsourcefile(kernel.fn) or ""
    sites = sites_in_file(file, kernel.__name__, list(kernel.arg_names))
    if not sites:
        return None
    grids = [site.sizes() for site in sites]
    first = grids[0] if len({len(each) for each in grids}) == 1 else []
    sizes = [size if all(each[axis] == size for each in grids) else None for axis, size in enumerate(first)]
    return {"sizes": sizes, "text": sites[0].grid_text()}


def _launch_json(launch: RecordedLaunch) -> dict[str, Any]:
    """The numbers of one launch. Numbers that JSON cannot represent are omitted."""
    tensors = {name: {"shape": each.shape, "strides": each.strides} for name, each in launch.tensors.items()}
    values = {name: value for name, value in launch.values.items() if not isinstance(value, float) or isfinite(value)}
    return {"values": values, "tensors": tensors, **({"grid": launch.grid} if launch.grid is not None else {})}


def _decorator_constants(decorator: Any) -> list[str]:
    if isinstance(decorator, Autotuner):
        return [name for config in decorator.configs for name in config.kwargs]
    return list(decorator.values) if isinstance(decorator, Heuristics) else []


def _matches_grid(trees: list[Tree], values: dict[str, Any], grid: tuple[int, ...]) -> bool:
    return all(is_consistent(tree, [(values, size)]) for tree, size in zip(trees, grid, strict=True))
