"""What the emulator says of a kernel."""

from __future__ import annotations


class Fault(Exception):
    """A kernel does what is undefined or never ends on the hardware, or what Gluon refuses."""


class Unknown(Exception):
    """The kernel asks for what the emulator does not know."""
