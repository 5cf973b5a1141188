"""Clocks, temperature and power of a GPU, which put a measured time into context."""

from __future__ import annotations

import subprocess
from typing import Any

import torch

# The driver's names, and ours with their units.
_FIELDS = {
    "driver_version": "driver",
    "clocks.sm": "sm_mhz",
    "clocks.max.sm": "max_sm_mhz",
    "clocks.mem": "memory_mhz",
    "clocks_event_reasons.active": "limited_by",
    "temperature.gpu": "celsius",
    "power.draw": "watts",
}


def gpu_state() -> dict[str, Any] | None:
    """The current GPU's driver, clocks in MHz, what limits them, temperature in °C and power in W.

    None if nvidia-smi fails. ``limited_by`` is NVML's bit mask of reasons, in hexadecimal.
    """
    name = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"
    command = ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits", f"--id={name}"]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse(completed.stdout) if completed.returncode == 0 else None


def parse(printed: str) -> dict[str, Any] | None:
    """Parses one line of nvidia-smi. Fields without a value are omitted."""
    values = [value.strip() for value in printed.strip().split(",")]
    if len(values) != len(_FIELDS):
        return None
    fields = {name: value for name, value in zip(_FIELDS.values(), values, strict=True) if not value.startswith("[")}
    return {name: _number(value) if name not in ("driver", "limited_by") else value for name, value in fields.items()}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
