"""Python files with the exports ``kernel_fn``, ``reference_fn`` and ``get_inputs``, from TileScript or not.

``get_inputs()`` returns a list of fresh arguments. Its positional parameters with integer defaults are sizes, and the
file is also run at other sizes. Keyword-only parameters keep their defaults. An optional list ``SHAPES`` contains
keyword arguments of ``get_inputs`` that the kernel must support.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, get_args

import torch

from .compare import compare
from .modules import autotuners, import_file
from .script import KernelFileError
from .tolerances import MOST, RELATIVE, SHARE, SHORT_SUM, SMALLEST, TF32, UNIT_ROUNDOFF, UNITS

# A call of tl.dot, with brackets nested at most two deep inside it.
CALL_OF_DOT = re.compile(r"tl\.dot\w*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
EXPORTS = ("kernel_fn", "reference_fn", "get_inputs")


class Excluded(Exception):
    """The kernel's own pruning drops this config at these sizes."""


class SizesRejected(Exception):
    """A function of the file rejects these sizes."""

    def __init__(self, function: str, error: Exception) -> None:
        super().__init__(f"{function} refuses them: {error}")
        self.error = error


@dataclass(frozen=True)
class KernelFile:
    """An imported file, with one config per autotuned kernel, or all of them for ``config=None``."""

    module: ModuleType
    path: str

    @classmethod
    def load(cls, path: str, config: int | None = None) -> KernelFile:
        """Imports the file anew each time, so that the state of a module cannot affect the next case."""
        module = import_file(path)
        missing = [name for name in EXPORTS if not callable(getattr(module, name, None))]
        if missing:
            raise KernelFileError(f"{path} has no {' and no '.join(missing)}; it must define {', '.join(EXPORTS)}")
        if config is not None:
            for tuner in autotuners(module):
                _select_config(tuner, config % len(tuner.configs))
        return cls(module, path)

    @property
    def config_count(self) -> int:
        """The number of imports needed to try every config."""
        return max((len(tuner.configs) for tuner in autotuners(self.module)), default=1)

    def config_text(self) -> str:
        """The remaining configs, for a report."""
        configs = [config for tuner in autotuners(self.module) for config in tuner.configs]
        return "; ".join(
            ", ".join(f"{key}={value}" for key, value in config.all_kwargs().items() if value is not None)
            for config in configs
        )

    @property
    def shapes(self) -> list[dict[str, Any]]:
        """The author's arguments of ``get_inputs``: those of ``SHAPES``, or its defaults."""
        shapes = getattr(self.module, "SHAPES", None)
        parameters = inspect.signature(self.module.get_inputs).parameters
        if not isinstance(shapes, list) or not all(isinstance(shape, dict) for shape in shapes) or not shapes:
            return [self.sizes]
        for shape in shapes:
            if unknown := [name for name in shape if name not in parameters]:
                raise KernelFileError(f"SHAPES has {', '.join(unknown)}, which get_inputs does not take")
        return [{**self.sizes, **shape} for shape in shapes]

    @property
    def sizes(self) -> dict[str, int]:
        """Parameters of ``get_inputs`` that are sizes, with their defaults: those that it takes by position."""
        parameters = inspect.signature(self.module.get_inputs).parameters
        return {name: value for name, value in self.numbers.items() if parameters[name].kind is not KEYWORD_ONLY}

    @property
    def numbers(self) -> dict[str, int]:
        """Parameters of ``get_inputs`` that are integers, with their defaults."""
        parameters = inspect.signature(self.module.get_inputs).parameters.values()
        if required := [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]:
            raise KernelFileError(
                f"get_inputs needs {', '.join(required)}; give sizes defaults, as in get_inputs({required[0]}=512)"
            )
        return {p.name: p.default for p in parameters if type(p.default) is int}

    @property
    def products(self) -> list[str]:
        """The calls of ``tl.dot`` in the file."""
        with open(self.path, encoding="utf-8") as file:
            return CALL_OF_DOT.findall(file.read())

    def inputs(self, sizes: dict[str, Any], seed: int) -> list[Any]:
        torch.manual_seed(seed)
        try:
            arguments = self.module.get_inputs(**sizes)
        except Exception as error:
            raise SizesRejected("get_inputs", error) from error
        if not isinstance(arguments, list | tuple):
            raise KernelFileError(
                f"get_inputs returns {type(arguments).__name__}; it must return a list, one entry for each argument"
            )
        return list(arguments)

    def tolerance(
        self, dtype: torch.dtype, rtol: float | None, atol: float | None, inputs: Sequence[Any] = ()
    ) -> dict[str, float]:
        """The given tolerance, or the default of the dtype.

        The kernel's arithmetic is unknown here. A file with matrix products is assumed to sum over the columns of the
        first matrix among the inputs. It is also assumed to round intermediates to its input dtypes, as attention
        rounds its weights.
        """
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        floats = {value.dtype for value in tensors if value.dtype.is_floating_point}
        matrices = [value for value in tensors if value.dim() >= 2]
        has_products = len(self.products) > 0
        terms = matrices[0].shape[-1] if matrices and has_products else 1
        intermediate_roundoffs = [UNIT_ROUNDOFF.get(each, 0.0) for each in floats | {dtype}] if has_products else []
        is_on_gpu = any(value.is_cuda for value in tensors)
        products = [TF32] if is_on_gpu and torch.float32 in floats and may_run_in_tf32(self.products) else []
        return tolerance_of_sum(dtype, terms, UNITS * max([0.0, *intermediate_roundoffs, *products]), rtol, atol)

    def comparisons(
        self, sizes: dict[str, Any], seed: int, rtol: float | None, atol: float | None
    ) -> Iterator[dict[str, Any]]:
        """Runs the kernel and the reference on equal inputs, and compares each output."""
        inputs = self.inputs(sizes, seed)
        try:
            returned = self.module.kernel_fn(*_clone_tensors(inputs), **_request_all_outputs(self.module.kernel_fn))
        except ValueError as error:
            raise SizesRejected("kernel_fn", error) from error
        got = _to_tensors(returned, "kernel_fn")
        try:
            expected = _reference_outputs(self.module.reference_fn, inputs)
        except KernelFileError:
            raise
        except Exception as error:
            raise SizesRejected("reference_fn", error) from error
        if len(got) != len(expected):
            raise KernelFileError(
                f"kernel_fn returns {len(got)} tensors and reference_fn {len(expected)}; they must return the same"
            )
        for index, (actual, reference) in enumerate(zip(got, expected, strict=True)):
            name = "the output" if len(got) == 1 else f"output {index}"
            yield compare(name, actual, reference, self.tolerance(actual.dtype, rtol, atol, inputs))


def may_run_in_tf32(products: Sequence[str]) -> bool:
    """True if a call of ``tl.dot`` uses Triton's default precision for float32, or TF32."""
    return any("input_precision" not in call or re.search(r"""["']tf32["']""", call) for call in products)


def tolerance_of_sum(
    dtype: torch.dtype, terms: int, intermediate_rounding: float, rtol: float | None, atol: float | None
) -> dict[str, float]:
    """The rule of ``toleranceOfSum`` in ``src/compiled/tolerance.ts``; a test compares the two."""
    relative = RELATIVE.get(dtype)
    if not dtype.is_floating_point:
        steps = math.floor(atol or 0.0)
        return {"rtol": 0.0, "atol": float(steps), "rms": 0.0} | ({"share": SHARE} if steps else {})
    if relative is None:
        return {"rtol": rtol or 0.0, "atol": atol or 0.0, "rms": 0.0}
    sums = min(relative, RELATIVE[torch.float32]) * max(1.0, math.sqrt(terms / SHORT_SUM))
    rms = min(max(sums, intermediate_rounding), MOST)
    return {
        "rtol": max(relative, rms) if rtol is None else rtol,
        "atol": SMALLEST.get(dtype, 0.0) if atol is None else atol,
        "rms": rms if atol is None else 0.0,
    }


def sample_sizes(defaults: dict[str, int]) -> list[dict[str, int]]:
    """Sizes below the given ones: primes, which no block divides; one more than a power of two; and ones."""
    if not defaults:
        return []
    bounded = {name: min(size, 1024) for name, size in defaults.items()}
    primes = {name: _prime_below(max(size // 3 + 7 * index, 3)) for index, (name, size) in enumerate(bounded.items())}
    above_power_of_two = {name: 1 + 2 ** max(1, int(math.log2(max(size // 4, 2)))) for name, size in bounded.items()}
    cases = [primes, above_power_of_two, {name: 1 for name in bounded}]
    return [case for index, case in enumerate(cases) if case != defaults and case not in cases[:index]]


def shrink_sizes(default_sizes: dict[str, int], rejected: dict[str, int]) -> list[dict[str, int]]:
    """Shrinks rejected sizes: first to a single changed size, then to a multiple that requirements may accept."""
    changed = [name for name, size in rejected.items() if default_sizes[name] != size]
    if len(changed) != 1:
        return [{**default_sizes, name: rejected[name]} for name in changed]
    (name,) = changed
    # Requirements are usually multiples of a power of two, which also divides the default size.
    step = min(default_sizes[name] & -default_sizes[name], 128) if default_sizes[name] > 0 else 1
    rounded = max(step, rejected[name] // step * step)
    return [{**default_sizes, name: rounded}] if rounded not in (default_sizes[name], rejected[name]) else []


def _prime_below(limit: int) -> int:
    return next(n for n in range(limit, 1, -1) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _select_config(tuner: Any, config: int) -> None:
    """Keeps one config. Triton does not prune a single one, so a launch calls the kernel's own pruning first."""
    tuner.configs = [tuner.configs[config]]
    if tuner.early_config_prune is None:
        return
    run = tuner.run

    def run_pruned(*args: Any, **kwargs: Any) -> Any:
        try:
            configs = tuner.early_config_prune(tuner.configs, dict(zip(tuner.arg_names, args, strict=False)), **kwargs)
        except ValueError as error:
            raise Excluded(str(error)) from None
        if not configs:
            raise Excluded("no config is left")
        return run(*args, **kwargs)

    tuner.run = run_pruned


def _request_all_outputs(function: Callable[..., Any]) -> dict[str, bool]:
    """Keyword arguments that request every optional output."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: True for p in parameters if p.kind is KEYWORD_ONLY and bool in get_args(p.annotation)}


def _clone_tensors(values: Sequence[Any]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _reference_outputs(reference: Callable[..., Any], inputs: Sequence[Any]) -> list[torch.Tensor]:
    """The reference in float64, or in the inputs' dtypes if it does not support float64."""
    wide = [
        value.to(torch.float64) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in _clone_tensors(inputs)
    ]
    try:
        return _to_tensors(reference(*wide), "reference_fn")
    except Exception:
        # It requires its inputs' dtype, because of a cast or an op that float64 lacks.
        return _to_tensors(reference(*_clone_tensors(inputs)), "reference_fn")


def _to_tensors(returned: Any, function: str) -> list[torch.Tensor]:
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if not values or not all(isinstance(value, torch.Tensor) for value in values):
        raise KernelFileError(f"{function} must return a tensor or several; it returned {returned!r}")
    return values
