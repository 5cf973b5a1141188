"""Makes Triton's interpreter check assertions.

``tl.device_assert`` does nothing unless Triton is in debug mode, in which the interpreter would also refuse integers
that wrap around, as they do on every GPU. :func:`install` turns on the one without the other.
"""

from __future__ import annotations

import dataclasses


def install() -> None:
    """Changes the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, debug=True, sanitize_overflow=False)
