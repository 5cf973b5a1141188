"""Python files with the exports ``kernel_fn``, ``reference_fn`` and ``get_inputs``, from TileScript or not.

``get_inputs()`` gives a list of fresh arguments. Where it has parameters with integers as defaults, those are sizes,
and a file is tried at other sizes too. Parameters by keyword alone keep their values. A list ``SHAPES`` in the file has
keyword arguments of ``get_inputs`` at which the kernel has to be right.
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

# A call of tl.dot, as far as brackets inside it go two deep.
CALL_OF_DOT = re.compile(r"tl\.dot\w*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
EXPORTS = ("kernel_fn", "reference_fn", "get_inputs")


class Excluded(Exception):
    """The kernel's own pruning drops this config at these sizes."""


class Refused(Exception):
    """A part of the file does not take these sizes."""

    def __init__(self, function: str, error: Exception) -> None:
        super().__init__(f"{function} refuses them: {error}")
        self.error = error


@dataclass(frozen=True)
class KernelFile:
    """An imported file with one config of each autotuned kernel left, or all of them for ``config=None``."""

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
                _leave_pruned(tuner, config % len(tuner.configs))
        return cls(module, path)

    @property
    def config_count(self) -> int:
        """The number of imports needed to try every config."""
        return max((len(tuner.configs) for tuner in autotuners(self.module)), default=1)

    def config_text(self) -> str:
        """The remaining configs, for a report."""
        left = [config for tuner in autotuners(self.module) for config in tuner.configs]
        return "; ".join(
            ", ".join(f"{key}={value}" for key, value in config.all_kwargs().items() if value is not None)
            for config in left
        )

    @property
    def shapes(self) -> list[dict[str, Any]]:
        """The author's arguments of ``get_inputs``: those of ``SHAPES``, or its defaults."""
        shapes = getattr(self.module, "SHAPES", None)
        known = inspect.signature(self.module.get_inputs).parameters
        if not isinstance(shapes, list) or not all(isinstance(shape, dict) for shape in shapes) or not shapes:
            return [self.sizes]
        for shape in shapes:
            if unknown := [name for name in shape if name not in known]:
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
        """The calls of ``tl.dot`` in the file, without what their brackets hold of others."""
        with open(self.path, encoding="utf-8") as file:
            return CALL_OF_DOT.findall(file.read())

    def inputs(self, sizes: dict[str, Any], seed: int) -> list[Any]:
        torch.manual_seed(seed)
        try:
            given = self.module.get_inputs(**sizes)
        except Exception as error:
            raise Refused("get_inputs", error) from error
        if not isinstance(given, list | tuple):
            raise KernelFileError(
                f"get_inputs returns {type(given).__name__}; it must return a list, one entry for each argument"
            )
        return list(given)

    def tolerance(
        self, dtype: torch.dtype, rtol: float | None, atol: float | None, inputs: Sequence[Any] = ()
    ) -> dict[str, float]:
        """The given tolerance, or the default of the dtype.

        What the kernel does is not known here. A file that multiplies matrices is taken to sum over the columns of the
        first matrix among the inputs, and to round to the dtypes of its inputs on the way, as attention rounds its
        weights.
        """
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        floats = {value.dtype for value in tensors if value.dtype.is_floating_point}
        matrices = [value for value in tensors if value.dim() >= 2]
        multiplies = len(self.products) > 0
        terms = matrices[0].shape[-1] if matrices and multiplies else 1
        on_the_way = [UNIT_ROUNDOFF.get(each, 0.0) for each in floats | {dtype}] if multiplies else []
        on_a_gpu = any(value.is_cuda for value in tensors)
        products = [TF32] if on_a_gpu and torch.float32 in floats and may_run_in_tf32(self.products) else []
        return tolerance_of_sum(dtype, terms, UNITS * max([0.0, *on_the_way, *products]), rtol, atol)

    def comparisons(
        self, sizes: dict[str, Any], seed: int, rtol: float | None, atol: float | None
    ) -> Iterator[dict[str, Any]]:
        """Runs the kernel and the reference on equal inputs, and compares each output."""
        inputs = self.inputs(sizes, seed)
        try:
            returned = self.module.kernel_fn(*_copied(inputs), **_asked(self.module.kernel_fn))
        except ValueError as error:
            raise Refused("kernel_fn", error) from error
        got = _tensors(returned, "kernel_fn")
        try:
            expected = _expected(self.module.reference_fn, inputs)
        except KernelFileError:
            raise
        except Exception as error:
            raise Refused("reference_fn", error) from error
        if len(got) != len(expected):
            raise KernelFileError(
                f"kernel_fn returns {len(got)} tensors and reference_fn {len(expected)}; they must return the same"
            )
        for place, (left, right) in enumerate(zip(got, expected, strict=True)):
            name = "the output" if len(got) == 1 else f"output {place}"
            yield compare(name, left, right, self.tolerance(left.dtype, rtol, atol, inputs))


def may_run_in_tf32(products: Sequence[str]) -> bool:
    """Whether one of these calls of ``tl.dot`` leaves float32 to Triton's default or asks for TF32."""
    return any("input_precision" not in call or re.search(r"""["']tf32["']""", call) for call in products)


def tolerance_of_sum(
    dtype: torch.dtype, terms: int, way: float, rtol: float | None, atol: float | None
) -> dict[str, float]:
    """The rule of ``toleranceOfSum`` in ``src/compiled/tolerance.ts``; a test compares the two."""
    own = RELATIVE.get(dtype)
    if not dtype.is_floating_point:
        steps = math.floor(atol or 0.0)
        return {"rtol": 0.0, "atol": float(steps), "rms": 0.0} | ({"share": SHARE} if steps else {})
    if own is None:
        return {"rtol": rtol or 0.0, "atol": atol or 0.0, "rms": 0.0}
    sums = min(own, RELATIVE[torch.float32]) * max(1.0, math.sqrt(terms / SHORT_SUM))
    rms = min(max(sums, way), MOST)
    return {
        "rtol": max(own, rms) if rtol is None else rtol,
        "atol": SMALLEST.get(dtype, 0.0) if atol is None else atol,
        "rms": rms if atol is None else 0.0,
    }


def drawn_sizes(defaults: dict[str, int]) -> list[dict[str, int]]:
    """Sizes below the given ones: primes, which no block divides; one more than a power of two; and ones."""
    if not defaults:
        return []
    own = {name: min(size, 1024) for name, size in defaults.items()}
    odd = {name: _prime_below(max(size // 3 + 7 * place, 3)) for place, (name, size) in enumerate(own.items())}
    beyond = {name: 1 + 2 ** max(1, int(math.log2(max(size // 4, 2)))) for name, size in own.items()}
    cases = [odd, beyond, {name: 1 for name in own}]
    return [case for place, case in enumerate(cases) if case != defaults and case not in cases[:place]]


def nearer_sizes(own: dict[str, int], refused: dict[str, int]) -> list[dict[str, int]]:
    """What to try where sizes are refused: a single one of them beside the file's own, then a multiple of that one."""
    changed = [name for name, size in refused.items() if own[name] != size]
    if len(changed) != 1:
        return [{**own, name: refused[name]} for name in changed]
    (name,) = changed
    # Requirements ask for multiples of powers of two that the file's own size has too.
    step = min(own[name] & -own[name], 128) if own[name] > 0 else 1
    rounded = max(step, refused[name] // step * step)
    return [{**own, name: rounded}] if rounded not in (own[name], refused[name]) else []


def _prime_below(limit: int) -> int:
    return next(n for n in range(limit, 1, -1) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _leave_pruned(tuner: Any, config: int) -> None:
    """Keeps one config. Triton does not prune a single one, so a launch calls the kernel's own pruning first."""
    tuner.configs = [tuner.configs[config]]
    if tuner.early_config_prune is None:
        return
    run = tuner.run

    def pruned(*args: Any, **kwargs: Any) -> Any:
        try:
            kept = tuner.early_config_prune(tuner.configs, dict(zip(tuner.arg_names, args, strict=False)), **kwargs)
        except ValueError as error:
            raise Excluded(str(error)) from None
        if not kept:
            raise Excluded("no config is left")
        return run(*args, **kwargs)

    tuner.run = pruned


def _asked(function: Callable[..., Any]) -> dict[str, bool]:
    """Asks for every output that a call may leave out: those that take True."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: True for p in parameters if p.kind is KEYWORD_ONLY and bool in get_args(p.annotation)}


def _copied(values: Sequence[Any]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _expected(reference: Callable[..., Any], inputs: Sequence[Any]) -> list[torch.Tensor]:
    """The reference in float64 where it can be computed so, else in the inputs' own dtypes."""
    wide = [
        value.to(torch.float64) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in _copied(inputs)
    ]
    try:
        return _tensors(reference(*wide), "reference_fn")
    except Exception:
        # It requires its inputs' dtype, because of a cast or an op that float64 lacks.
        return _tensors(reference(*_copied(inputs)), "reference_fn")


def _tensors(returned: Any, function: str) -> list[torch.Tensor]:
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if not values or not all(isinstance(value, torch.Tensor) for value in values):
        raise KernelFileError(f"{function} must return a tensor or several; it returned {returned!r}")
    return values
