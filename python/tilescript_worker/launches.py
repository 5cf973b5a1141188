"""Observes the kernels that a call launches, and selects the config of those that are autotuned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder
from triton.runtime.jit import JITFunction

from .failures import is_out_of_resources
from .modules import run_once
from .script import report_progress


class Excluded(BaseException):
    """The kernel's own pruning drops this config at these sizes. No handler of the file may catch it."""


@dataclass
class Launches:
    """What was launched inside a ``with`` of :func:`observed`."""

    # The functions of the kernels.
    kernels: list[Any] = field(default_factory=list)
    # The number of configs of each autotuned kernel, and the configs that were selected.
    config_counts: list[int] = field(default_factory=list)
    configs: list[Any] = field(default_factory=list)
    # Errors of launches that nobody has seen: kernel_fn may have computed the result in another way.
    hidden_errors: list[str] = field(default_factory=list)

    @property
    def config_count(self) -> int:
        """The number of calls needed to try every config."""
        return max(self.config_counts, default=1)

    @property
    def config_text(self) -> str:
        """The selected configs, for a report."""
        return "; ".join(
            ", ".join(f"{key}={value}" for key, value in config.all_kwargs().items() if value is not None)
            for config in self.configs
        )


@contextmanager
def observed(config: int | None, interpreted: bool, launches: Launches) -> Iterator[None]:
    """Inside a ``with``, lists launches; each autotuned kernel runs with the config of this index, modulo its configs.

    ``None`` leaves the choice to the autotuner. Kernels are found when they are launched, wherever they are defined.
    """
    measured = 0
    tune, measure, place_program = Autotuner.run, Autotuner._bench, InterpreterBuilder.set_grid_idx

    def run_tuned(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        all_configs = tuner.configs
        launches.config_counts.append(len(all_configs))
        if interpreted:
            # There is no GPU that could measure.
            tuner.do_bench = run_once
        if config is None:
            return tune(tuner, *args, **kwargs)
        chosen = all_configs[config % len(all_configs)]
        _check_pruning(tuner, chosen, args, kwargs)
        if chosen not in launches.configs:
            launches.configs.append(chosen)
        # Triton neither measures nor prunes a single config.
        tuner.configs = [chosen]
        try:
            return tune(tuner, *args, **kwargs)
        finally:
            tuner.configs = all_configs

    def bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal measured
        report_progress()
        measured += 1
        try:
            return measure(tuner, *args, **kwargs)
        finally:
            measured -= 1

    def counting(launch: Any) -> Any:
        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            if kernel.fn not in launches.kernels:
                launches.kernels.append(kernel.fn)
            try:
                return launch(kernel, *args, **kwargs)
            except Exception as error:
                # The autotuner passes over configs that fail, and a wrapper over those that do not fit.
                if not measured and not is_out_of_resources(error):
                    name = kernel.fn.__name__
                    launches.hidden_errors.append(f"kernel_fn goes on after an error of {name}: {error!r:.200}")
                raise

        return run

    def begin_program(builder: Any, *index: int) -> None:
        report_progress()
        place_program(builder, *index)

    changed = [
        (Autotuner, "run", run_tuned),
        (Autotuner, "_bench", bench),
        (InterpreterBuilder, "set_grid_idx", begin_program),
    ]
    changed += [(owner, "run", counting(owner.run)) for owner in (JITFunction, InterpretedFunction)]
    saved = [(owner, name, getattr(owner, name)) for owner, name, _ in changed]
    for owner, name, value in changed:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in saved:
            setattr(owner, name, value)


def _check_pruning(tuner: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if tuner.early_config_prune is None:
        return
    try:
        named = dict(zip(tuner.arg_names, args, strict=False))
        configs = tuner.early_config_prune([config], named, **kwargs)
    except ValueError as error:
        raise Excluded(str(error)) from None
    if not configs:
        raise Excluded("no config is left")
