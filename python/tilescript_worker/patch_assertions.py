"""Makes Triton's interpreter check assertions.

``tl.device_assert`` has no effect unless Triton is in debug mode. In debug mode the interpreter would also reject
integer overflow, which wraps around on every GPU. :func:`install` enables assertions only.
"""

from __future__ import annotations

import dataclasses


def install() -> None:
    """Changes the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, debug=True, sanitize_overflow=False)
