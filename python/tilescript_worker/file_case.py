"""Judges ``kernel_fn`` of a Python file against its ``reference_fn`` at some sizes.

``reference_fn`` is the contract: what it returns, the inputs that it changes, the memory that its results share, and
what it changes of the process's state are those of ``kernel_fn``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .compare import compare, mismatch
from .device import Device
from .file_values import (
    Arguments,
    Returned,
    epsilon,
    flatten,
    is_dense,
    is_floating,
    is_narrower_integer,
    late_changes,
    name_at,
    plain,
    request_all_outputs,
)
from .gradients import first_without_wrong, gradients
from .inputs import changed_elements, place, refill
from .invoke import GuardedMemory
from .judge import Results, Run, changed_inputs, differences, exact_and_own, guarded_run
from .kernel_file import KernelFile, SizesRejected, size_text, tolerance_of_file
from .launches import Excluded, Launches, observed
from .process_state import changes, process_state
from .rounding import rounding_reach, sample_seeds
from .script import KernelFileError, report_progress

# With one of these, a result may depend on the order of programs, and a program may wait for another.
ORDER = re.compile(r"\batomic_|\bvolatile\b|\binline_asm")


@dataclass
class Verdict:
    """What one case shows."""

    launches: Launches
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # Outputs, and those of which the reference gives at least one number.
    outputs: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    # True after a write outside every tensor.
    corrupted: bool = False

    @property
    def is_right(self) -> bool:
        return not self.problems and not any(result["wrong"] for result in self.comparisons)


class FileCase:
    """The inputs of one case, and the rules for them."""

    def __init__(
        self, file: KernelFile, device: Device, sizes: dict[str, Any], seed: int, rtol: float | None, atol: float | None
    ) -> None:
        self._file, self._device, self._sizes, self._seed = file, device, sizes, seed
        self._rtol, self._atol = rtol, atol
        self._names, self._leaves, self._structure = self._draw(seed)
        self._has_gradients = any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in self._leaves)
        self._in_place = {name for name in self._names if re.split(r"\W", name)[0] in file.in_place}

    def judge(self, config: int | None, is_declared: bool, launches: Launches) -> Verdict:
        """Calls ``kernel_fn``: at declared sizes twice, and if it tunes, again with other elements in the same tensors.

        Adds to ``launches``, also if it raises an error, such as Excluded and SizesRejected.
        """
        arguments = self._place(self._leaves)
        with observed(config, self._device.interpreted, launches):
            first, returned = self._run(arguments)
        if config and not launches.config_counts:
            raise Excluded("kernel_fn launched no autotuned kernel, as if it had chosen one before")
        verdict = Verdict(launches, problems=[*first.problems, *launches.hidden_errors], corrupted=first.corrupted)
        exact, own = self._expect(self._leaves, verdict)
        allowed = self._in_place | exact.changed.keys() | (own or exact).changed.keys()
        self._check_contract(returned, exact, own, allowed, verdict)
        self._compare(first.results, returned, exact, own, verdict)
        if self._has_gradients and verdict.is_right:
            self._compare_gradients(returned, exact, config, verdict)
        if verdict.corrupted or not (verdict.is_right and is_declared):
            return verdict
        is_ordered = not ORDER.search(self._file.source(launches.kernels))
        reverse = self._device.interpreted and is_ordered and (config is not None or launches.config_count == 1)
        with observed(config, self._device.interpreted, Launches()):
            second, again = self._run(self._place(self._leaves), allowed, reverse)
        verdict.corrupted, verdict.problems = second.corrupted, [*second.problems]
        if again.structure != returned.structure:
            raise KernelFileError(f"kernel_fn returns {returned.structure}, and then {again.structure}")
        if is_ordered:
            verdict.problems += differences(first.results, second.results, reverse)
        self._compare(second.results, again, exact, own, verdict)
        if verdict.is_right and not verdict.corrupted and config is None:
            self._judge_other_elements(arguments, allowed, first.results, exact, config, verdict)
        own_memory = first.results.keys() - {name for name, other in returned.shared if other in returned.inputs}
        verdict.problems += late_changes({name: first.results[name] for name in own_memory}, returned)
        return verdict

    def _draw(self, seed: int) -> tuple[list[str], list[Any], Any]:
        """The names and values of the inputs, and how they are nested."""
        # Elements that nothing has written are poison.
        with GuardedMemory():
            entries, structure = pytree.tree_flatten_with_path(self._file.inputs(self._sizes, seed))
        parameters = [*inspect.signature(self._file.module.kernel_fn).parameters]
        return [name_at(path, parameters) for path, _ in entries], [leaf for _, leaf in entries], structure

    def _place(self, leaves: Sequence[Any], dtype: torch.dtype | None = None) -> Arguments:
        dense = [index for index, leaf in enumerate(leaves) if is_dense(leaf)]
        guards = dict(zip(dense, place([leaves[index] for index in dense], dtype), strict=True))
        values = [
            guards[index].tensor if index in guards else leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
            for index, leaf in enumerate(leaves)
        ]
        named = {self._names[index]: guard for index, guard in guards.items()}
        return Arguments(pytree.tree_unflatten(values, self._structure), named)

    def _call(self, function: Callable[..., Any], title: str, arguments: Arguments, **options: Any) -> Returned:
        report_progress(f"{title} at {size_text(self._sizes)}" if self._sizes else title)
        torch.manual_seed(self._seed)
        before = process_state()
        returned = function(*arguments.values, **options)
        changed_state = changes(before)
        changed = {name: guard.tensor for name, guard in arguments.guards.items() if name in self._in_place}
        if returned is None and changed:
            returned = tuple(changed.values()) if len(changed) > 1 else next(iter(changed.values()))
        leaves, structure = flatten(returned)
        is_updating = any(guard.is_damaged(include_inside=True) for guard in arguments.guards.values())
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if len(tensors) + sum(leaf is None for leaf in leaves) != len(leaves) or not (tensors or is_updating):
            raise KernelFileError(f"{title} must return a tensor or several; it returned {returned!r:.200}")
        names = ["the output"] if len(leaves) == 1 else [f"output {index}" for index in range(len(leaves))]
        outputs = {name: leaf for name, leaf in zip(names, leaves, strict=True) if leaf is not None}
        return Returned(structure, outputs, arguments.guards, changed_state)

    def _run(
        self, arguments: Arguments, allowed: set[str] | None = None, reverse: bool = False
    ) -> tuple[Run, Returned]:
        """Calls ``kernel_fn``, which may change the ``allowed`` inputs. The results are copies, made as it returns.

        Without ``allowed`` it is the first call. It may refuse its sizes, and change any input.
        """
        function = self._file.module.kernel_fn
        calls: list[Returned] = []

        def call() -> Results:
            try:
                calls.append(self._call(function, "kernel_fn", arguments, **request_all_outputs(function)))
            except ValueError as error:
                if allowed is None:
                    raise SizesRejected("kernel_fn", error) from error
                raise
            return {name: plain(value).clone() for name, value in calls[0].outputs.items() if is_dense(value)}

        read_only = {} if allowed is None else {name: name for name in arguments.guards if name not in allowed}
        run = guarded_run(call, arguments.guards, {}, read_only, self._device, None, reverse)
        return run, calls[0]

    def _expect(self, leaves: Sequence[Any], verdict: Verdict) -> tuple[Returned, Returned | None]:
        """What the reference gives for inputs in float64, and for those in their own dtypes."""

        launches = Launches()
        try:
            with observed(None, self._device.interpreted, launches), GuardedMemory():
                exact, own = exact_and_own(lambda dtype: self._refer(leaves, dtype))
        except KernelFileError:
            raise
        except Exception as error:
            raise SizesRejected("reference_fn", error) from error
        self._device.synchronize()
        if judged := [kernel.__name__ for kernel in launches.kernels if kernel in verdict.launches.kernels]:
            verdict.problems.append(f"reference_fn launches {judged[0]} itself, which it must judge")
        return exact, own

    def _refer(self, leaves: Sequence[Any], dtype: torch.dtype | None = torch.float64) -> Returned:
        return self._call(self._file.module.reference_fn, "reference_fn", self._place(leaves, dtype))

    def _check_contract(
        self, got: Returned, exact: Returned, own: Returned | None, allowed: set[str], verdict: Verdict
    ) -> None:
        """Adds what ``kernel_fn`` changes or shares and ``reference_fn`` does not."""
        reference = own or exact
        if got.structure != reference.structure:
            raise KernelFileError(
                f"kernel_fn returns {got.structure} and reference_fn {reference.structure}; they must return the same"
            )
        read_only = {name: name for name in got.inputs if name not in allowed}
        problems = changed_inputs(read_only, got.inputs)
        for first, second in sorted(got.shared - reference.shared):
            if second not in self._in_place:
                shares = "repeats elements" if first == second else f"shares memory with {second}"
                problems.append(f"{first} {shares}, that of reference_fn does not")
        for name in sorted(got.changed_state - reference.changed_state):
            problems.append(f"kernel_fn changes {name}, reference_fn does not")
        returned = {second for _, second in got.shared}
        for name in sorted(self._in_place - returned - exact.changed.keys()):
            problems.append(f"nothing shows what {name} must be; return it, or update it in reference_fn")
        verdict.problems += problems if not verdict.problems else []
        for name, output in got.outputs.items():
            is_updated = any((name, updated) in got.shared for updated in self._in_place)
            if problem := self._unlike(output, reference.outputs[name], own is not None and not is_updated):
                verdict.comparisons.append(mismatch(name, problem))

    def _unlike(self, got: torch.Tensor, expected: torch.Tensor, is_own_dtype: bool) -> str | None:
        """How a tensor is of another kind than the reference's, apart from its shape and elements."""
        if type(got) not in (torch.Tensor, type(expected)):
            return f"is a {type(got).__name__}, the reference gives a {type(expected).__name__}"
        if got.device != expected.device:
            return f"is on {got.device}, that of the reference on {expected.device}"
        if got.layout != expected.layout:
            return f"has the layout {got.layout}, that of the reference {expected.layout}"
        if got.requires_grad and not expected.requires_grad:
            return "requires a gradient, that of the reference does not"
        if expected.requires_grad and not got.requires_grad and self._has_gradients:
            return "has no gradient, that of the reference has one"
        inputs = [epsilon(leaf.dtype) for leaf in self._leaves if isinstance(leaf, torch.Tensor)]
        allowed = max([epsilon(expected.dtype), *inputs])
        is_narrow = is_own_dtype and 0 < allowed < epsilon(got.dtype)
        return f"has dtype {got.dtype}, the reference {expected.dtype}" if is_narrow else None

    def _compare(
        self, results: Results, returned: Returned, exact: Returned, own: Returned | None, verdict: Verdict
    ) -> None:
        """Adds a comparison of each result, and of each input that the reference changes."""
        inputs = [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]
        source = self._file.source(verdict.launches.kernels)
        unlike = {comparison["output"] for comparison in verdict.comparisons if "problem" in comparison}
        updated = {name: returned.inputs[name].tensor.detach() for name in exact.changed}
        for name, expected in (exact.outputs | exact.changed).items():
            verdict.outputs.add(name)
            reference = plain(expected)
            numbers = reference.to(torch.float64) if is_floating(reference) else reference
            if numbers.numel() and not numbers.isnan().all():
                verdict.shown.add(name)
            if name in unlike:
                continue
            got = (results | updated)[name]
            if own is not None and name in own.outputs and is_narrower_integer(got, own.outputs[name]):
                # An integer that wrapped must not look right.
                got = got.to(own.outputs[name].dtype)
            tolerance = tolerance_of_file(source, got.dtype, self._rtol, self._atol, inputs)
            verdict.comparisons.append(compare(name, got, reference, tolerance))

    def _compare_gradients(self, returned: Returned, exact: Returned, config: int | None, verdict: Verdict) -> None:
        """Adds a comparison of the gradient of each input that has one."""
        outputs = [name for name, output in returned.outputs.items() if output.requires_grad]
        inputs = [name for name, guard in returned.inputs.items() if guard.tensor.requires_grad]
        generator = torch.Generator().manual_seed(self._seed)
        drawn = [torch.randn(returned.outputs[name].shape, generator=generator) for name in outputs]

        def gradients_of(call: Returned) -> list[torch.Tensor]:
            results = [call.outputs[name] for name in outputs]
            given = [gradient.to(result) for gradient, result in zip(drawn, results, strict=True)]
            return gradients(results, [call.inputs[name].tensor for name in inputs], given, retain_graph=True)

        with observed(config, self._device.interpreted, Launches()), GuardedMemory():
            got = gradients_of(returned)
        expected = gradients_of(exact)
        unit = max(epsilon(torch.float32), *(epsilon(gradient.dtype) for gradient in got))
        source = self._file.source(verdict.launches.kernels)

        def comparisons() -> Iterator[list[dict[str, Any]]]:
            """As ever more samples show what rounding explains."""
            reach = [torch.zeros_like(gradient) for gradient in expected]
            for seeds in sample_seeds(self._seed):
                again = rounding_reach(lambda: gradients_of(self._refer(self._leaves)), expected, unit, seeds)
                reach = [torch.maximum(*bounds) for bounds in zip(reach, again, strict=True)]
                yield [
                    compare(
                        f"{name}.grad",
                        gradient,
                        reference,
                        tolerance_of_file(source, gradient.dtype, self._rtol, self._atol, [gradient]),
                        extra,
                    )
                    for name, gradient, reference, extra in zip(inputs, got, expected, reach, strict=True)
                ]

        verdict.comparisons.extend(first_without_wrong(comparisons()))

    def _judge_other_elements(
        self,
        arguments: Arguments,
        allowed: set[str],
        first: Results,
        exact: Returned,
        config: int | None,
        verdict: Verdict,
    ) -> None:
        """Calls ``kernel_fn`` again with the same tensors, in which other elements lie now."""
        try:
            names, drawn, structure = self._draw(self._seed + 1)
        except SizesRejected:
            return
        if (names, structure) != (self._names, self._structure) or not all(map(_is_alike, drawn, self._leaves)):
            return
        is_drawn = any(map(_differs, drawn, self._leaves))
        if not is_drawn:
            # The file always gives the same elements. In another order they may mean nothing, but a result must change.
            drawn = [leaf.flip(*range(leaf.dim())) if is_floating(leaf) else leaf for leaf in drawn]
        guards = {index: arguments.guards[name] for index, name in enumerate(names) if name in arguments.guards}
        refill([*guards.values()], [drawn[index] for index in guards])
        leaves = [guards[index].tensor if index in guards else leaf for index, leaf in enumerate(drawn)]
        try:
            other_exact, other_own = self._expect(leaves, verdict)
        except SizesRejected:
            return
        again = Arguments(pytree.tree_unflatten(leaves, structure), arguments.guards)
        with observed(config, self._device.interpreted, Launches()):
            run, returned = self._run(again, allowed)
        verdict.corrupted = run.corrupted
        is_kept = [name for name, result in first.items() if not _differs(result, run.results[name])]
        if kept := [name for name in is_kept if _differs(exact.outputs[name], other_exact.outputs[name])]:
            verdict.problems.append(f"{kept[0]} is that of earlier inputs in the same tensors")
        elif is_drawn:
            verdict.problems += run.problems
            self._compare(run.results, returned, other_exact, other_own, verdict)


def _is_alike(first: Any, second: Any) -> bool:
    """True if a value may take the place of another."""
    if not (is_dense(first) and is_dense(second)):
        return type(first) is type(second) and not isinstance(first, torch.Tensor)
    return (first.shape, first.stride(), first.dtype, first.device) == (
        second.shape,
        second.stride(),
        second.dtype,
        second.device,
    )


def _differs(first: Any, second: Any) -> bool:
    """True if two values, or the elements of two tensors, differ."""
    if not isinstance(first, torch.Tensor):
        return repr(first) != repr(second)
    return first.shape != second.shape or changed_elements(plain(first), plain(second)) > 0
