"""Python files with the exports ``kernel_fn``, ``reference_fn`` and ``get_inputs``, from TileScript or not.

``get_inputs()`` returns a list of fresh arguments. Its positional parameters with integer defaults are sizes, and the
file is also run at other sizes. Keyword-only parameters keep their defaults. An optional list ``SHAPES`` contains
keyword arguments of ``get_inputs`` that the kernel must support. An optional list ``IN_PLACE`` names the parameters of
``kernel_fn`` whose tensors it updates, if ``reference_fn`` does not update them itself.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from .invoke import guard_operators
from .script import KernelFileError, report_progress
from .tolerances import MOST, RELATIVE, SHARE, SHORT_SUM, SMALLEST, TF32, UNIT_ROUNDOFF, UNITS
from .user_file import import_in_package

# A call of tl.dot, with brackets nested at most two deep inside it.
CALL_OF_DOT = re.compile(r"tl\.dot\w*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
EXPORTS = ("kernel_fn", "reference_fn", "get_inputs")


class SizesRejected(Exception):
    """A function of the file rejects these sizes."""

    def __init__(self, function: str, error: Exception) -> None:
        super().__init__(f"{function} refuses them: {error}")
        self.error = error


@dataclass(frozen=True)
class KernelFile:
    """An imported file."""

    module: ModuleType
    path: str

    @classmethod
    def load(cls, path: str, device: str = "cpu") -> KernelFile:
        report_progress(f"the import of {os.path.basename(path)}")
        # The file may change the working directory.
        path = os.path.abspath(path)
        module = import_in_package(path)
        guard_operators(module, device)
        missing = [name for name in EXPORTS if not callable(getattr(module, name, None))]
        if missing:
            raise KernelFileError(f"{path} has no {' and no '.join(missing)}; it must define {', '.join(EXPORTS)}")
        return cls(module, path)

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
    def in_place(self) -> list[str]:
        """The parameters of ``kernel_fn`` that the author declares as updated in place."""
        names = list(getattr(self.module, "IN_PLACE", []))
        parameters = inspect.signature(self.module.kernel_fn).parameters
        if unknown := [str(name) for name in names if name not in parameters]:
            raise KernelFileError(f"IN_PLACE has {', '.join(unknown)}, which kernel_fn does not take")
        return names

    def source(self, kernels: Iterable[Any] = ()) -> str:
        """The text of the file, and of those that define the given kernels."""
        paths = {self.path} | {kernel.__code__.co_filename for kernel in kernels}
        texts = []
        for path in sorted(paths):
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read())
        return "\n".join(texts)

    def inputs(self, sizes: dict[str, Any], seed: int) -> list[Any]:
        report_progress(f"get_inputs at {size_text(sizes)}" if sizes else "get_inputs")
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


def tolerance_of_file(
    source: str, dtype: torch.dtype, rtol: float | None, atol: float | None, tensors: Sequence[torch.Tensor] = ()
) -> dict[str, float]:
    """The given tolerance, or the default of the dtype.

    The kernel's arithmetic is unknown here. A file with matrix products is assumed to sum over the columns of the
    first matrix among the inputs. It is also assumed to round intermediates to its input dtypes, as attention
    rounds its weights.
    """
    products = CALL_OF_DOT.findall(source)
    floats = {value.dtype for value in tensors if value.dtype.is_floating_point}
    matrices = [value for value in tensors if value.dim() >= 2]
    has_products = len(products) > 0
    terms = matrices[0].shape[-1] if matrices and has_products else 1
    intermediate_roundoffs = [UNIT_ROUNDOFF.get(each, 0.0) for each in floats | {dtype}] if has_products else []
    is_on_gpu = any(value.is_cuda for value in tensors)
    tf32 = [TF32] if is_on_gpu and torch.float32 in floats and may_run_in_tf32(products) else []
    return tolerance_of_sum(dtype, terms, UNITS * max([0.0, *intermediate_roundoffs, *tf32]), rtol, atol)


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


def size_text(sizes: dict[str, Any]) -> str:
    """Sizes for a report."""
    return ", ".join([f"{name}={size}" for name, size in sizes.items()] or ["get_inputs()"])
