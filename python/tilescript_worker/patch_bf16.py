"""Corrects bfloat16 on Triton's interpreter.

The interpreter keeps bfloat16 values as their bits in uint16 arrays. It passes those bits to NumPy's arithmetic, so
``1.5 + 0.5`` gives 1e38, and it truncates float32 instead of rounding it. :func:`install` replaces the methods that
compute with bfloat16: operands become float32, NumPy computes, and the result is rounded to nearest even. For
``+ - * /`` and square root this equals one correctly rounded bfloat16 operation, because float32 has more than twice
the bits (Figueroa 1995). Operations that only move bits (load, store, reshape, select) are unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def round_to_bf16(values: np.ndarray) -> np.ndarray:
    """The bits of each value's nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded.astype(np.uint16)).reshape(np.shape(values))


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """The float32 values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fma_to_bf16(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The bits of ``x * y + z``, rounded once; the operands are float32 arrays of bfloat16 values.

    The product is exact in float64. Intermediate roundings are to odd, so the last rounding gives the same result as
    for the exact sum (Boldo and Melquiond 2008). Knuth's TwoSum gives the error of the sum.
    """
    with np.errstate(all="ignore"):
        product, z = x.astype(np.float64) * y, z.astype(np.float64)
        total = product + z
        added = total - product
        wide = _to_odd(total, (product - (total - added)) + (z - added))
        single = wide.astype(np.float32)
        return round_to_bf16(_to_odd(single, wide - single))


def _to_odd(nearest: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Rounds to odd: ``nearest`` is the nearest float, and ``error`` its distance from the exact value."""
    even = nearest.view(f"i{nearest.dtype.itemsize}") & 1 == 0
    direction = np.where(error > 0, np.inf, -np.inf).astype(nearest.dtype)
    return np.where(even & (error != 0) & ~np.isnan(error), np.nextafter(nearest, direction), nearest)


def install() -> None:
    """Patches the interpreter of the Triton that is installed. TRITON_INTERPRET must be set."""
    from triton.runtime import interpreter

    _Patch(interpreter).apply()


class _Patch:
    """The replaced methods, with what they need of the interpreter's module."""

    def __init__(self, interpreter: Any) -> None:
        self.module = interpreter
        self.tl = interpreter.tl
        self.handle = interpreter.TensorHandle

    def apply(self) -> None:
        builder = self.module.InterpreterBuilder
        # Emitted modules look for it: they refuse bfloat16 on an interpreter that is not corrected.
        vars(self.module.triton)["has_bfloat16"] = True
        for name in ("binary_op", "unary_op", "ternary_op"):
            setattr(builder, name, self.arithmetic(getattr(builder, name)))
        builder.create_fma = self.fma(builder.create_fma)
        builder.create_dot = self.dot(builder.create_dot)
        builder.cast_impl = self.cast(builder.cast_impl)
        builder.create_fp_to_fp = self.convert(builder.create_fp_to_fp)
        builder.create_atomic_rmw = self.atomic(builder.create_atomic_rmw)
        builder.get_bf16 = lambda _, value: self.encode(np.array([value], dtype=np.float32))
        reduce_ops, scan_ops = self.module.ReduceOps, self.module.ScanOps
        reduce_ops.min_max = self.min_max(reduce_ops.min_max)
        reduce_ops.sum = self.sum(reduce_ops.sum)
        scan_ops.cumsum = self.scan(scan_ops.cumsum, np.add)
        scan_ops.cumprod = self.scan(scan_ops.cumprod, np.multiply)

    def is_bf16(self, value: Any) -> bool:
        """True if a handle contains bfloat16 bits. A comparison's handle has that dtype too, but contains booleans."""
        return (
            isinstance(value, self.handle) and value.dtype.scalar == self.tl.bfloat16 and value.data.dtype == np.uint16
        )

    def decode(self, value: Any) -> Any:
        return self.handle(from_bf16(value.data), self.tl.float32) if self.is_bf16(value) else value

    def encode(self, values: np.ndarray) -> Any:
        return self.handle(round_to_bf16(values), self.tl.bfloat16)

    def arithmetic(self, original: Any) -> Any:
        """Computes in float32 and converts a result that is not boolean back to bfloat16."""

        def patched(builder: Any, *operands: Any) -> Any:
            # The last operand of `select` is one of the values chosen from, and its condition is not a bfloat16.
            if not any(map(self.is_bf16, operands)):
                return original(builder, *operands)
            result = original(builder, *map(self.decode, operands))
            return result if result.data.dtype == np.bool_ else self.encode(result.data)

        return patched

    def fma(self, original: Any) -> Any:
        def patched(builder: Any, *operands: Any) -> Any:
            if not all(map(self.is_bf16, operands)):
                return original(builder, *operands)
            bits = fma_to_bf16(*np.broadcast_arrays(*(self.decode(operand).data for operand in operands)))
            return self.handle(bits, self.tl.bfloat16)

        return patched

    def dot(self, original: Any) -> Any:
        def patched(builder: Any, a: Any, b: Any, d: Any, *options: Any) -> Any:
            result = original(builder, self.decode(a), self.decode(b), self.decode(d), *options)
            return self.encode(result.data) if self.is_bf16(d) else result

        return patched

    def cast(self, original: Any) -> Any:
        def patched(builder: Any, source: Any, target: Any) -> Any:
            if target.scalar == self.tl.bfloat16 and not self.is_bf16(source):
                return self.encode(source.data.astype(np.float32))
            return original(builder, self.decode(source), target)

        return patched

    def convert(self, original: Any) -> Any:
        """Conversions that name a rounding mode, and those to and from float8."""
        toward_zero = self.module._ir.ROUNDING_MODE.RTZ

        def patched(builder: Any, source: Any, target: Any, rounding: Any) -> Any:
            if target.scalar == self.tl.bfloat16:
                if source.dtype.scalar.primitive_bitwidth < 16:
                    # float8 fits into float32 exactly. Of float16 the interpreter's own conversion loses infinities
                    # and NaN.
                    source = original(builder, source, self.tl.float32, None)
                values = source.data.astype(np.float32)
                if rounding == toward_zero:
                    bits = np.ascontiguousarray(values).view(np.uint32) >> 16
                    return self.handle(bits.astype(np.uint16), self.tl.bfloat16)
                return self.encode(values)
            if not self.is_bf16(source):
                return original(builder, source, target, rounding)
            if target.scalar == self.tl.float32:
                return self.decode(source)
            if target.scalar == self.tl.float16 and rounding != toward_zero:
                # The interpreter's own conversion loses subnormals and makes NaN of what is too large.
                return self.handle(from_bf16(source.data).astype(np.float16), self.tl.float16)
            return original(builder, self.decode(source), target, rounding)

        return patched

    def atomic(self, original: Any) -> Any:
        """Atomic addition, lane by lane. The interpreter itself does not support bfloat16."""
        add, raw = self.module._ir.ATOMIC_OP.FADD, self.module._interpreter

        def patched(builder: Any, op: Any, pointer: Any, value: Any, mask: Any, *order: Any) -> Any:
            if not self.is_bf16(value) or op != add:
                return original(builder, op, pointer, value, mask, *order)
            pointers, values, masks = np.broadcast_arrays(pointer.data, from_bf16(value.data), mask.data)
            old_bits = np.zeros(pointers.shape, dtype=np.uint16)
            for lane in np.ndindex(pointers.shape):
                if masks[lane]:
                    address, is_active = np.array([pointers[lane]]), np.ones(1, dtype=bool)
                    old = raw.load(address, is_active, np.zeros(1, dtype=np.uint16), np.dtype(np.uint16))
                    raw.store(address, round_to_bf16(from_bf16(old) + values[lane]), is_active)
                    old_bits[lane] = old[0]
            return self.handle(old_bits, self.tl.bfloat16)

        return patched

    def min_max(self, original: Any) -> Any:
        def patched(ops: Any, operand: Any, *reductions: Any, **options: Any) -> Any:
            # A tuple is (value, index), of which the original takes the value.
            operand = operand[0] if isinstance(operand, tuple) else operand
            if not self.is_bf16(operand.handle):
                return original(ops, operand, *reductions, **options)
            result = original(ops, self.widen(operand), *reductions, **options)
            if isinstance(result, tuple):
                return self.narrow(result[0]), result[1]
            return self.narrow(result) if result.dtype == self.tl.float32 else result

        return patched

    def sum(self, original: Any) -> Any:
        """Adds in halves and rounds each step, as the compiled reduction does: a sum in bfloat16 loses bits."""

        def patched(ops: Any, operand: Any) -> Any:
            if not self.is_bf16(operand.handle):
                return original(ops, operand)
            values = from_bf16(operand.handle.data)
            axis = ops.axis
            if axis is None:
                values, axis = values.reshape(-1), 0
            values = np.moveaxis(values, axis, 0)
            while values.shape[0] > 1:
                half = values.shape[0] // 2
                values = from_bf16(round_to_bf16(values[:half] + values[half:]))
            total = round_to_bf16(values[0])
            if ops.keep_dims:
                rank = operand.handle.data.ndim
                total = total.reshape((1,) * rank) if ops.axis is None else np.expand_dims(total, axis)
            return ops.to_tensor(total, self.tl.bfloat16)

        return patched

    def scan(self, original: Any, combine: Any) -> Any:
        def patched(ops: Any, operand: Any) -> Any:
            if not self.is_bf16(operand.handle):
                return original(ops, operand)
            values = np.moveaxis(from_bf16(operand.handle.data), ops.axis, 0).copy()
            for i in range(1, values.shape[0]):
                values[i] = from_bf16(round_to_bf16(combine(values[i - 1], values[i])))
            return [ops.to_tensor(np.moveaxis(round_to_bf16(values), 0, ops.axis), self.tl.bfloat16)]

        return patched

    def widen(self, tensor: Any) -> Any:
        block = self.tl.block_type(self.tl.float32, list(tensor.handle.data.shape))
        return self.tl.core.tensor(self.decode(tensor.handle), block)

    def narrow(self, tensor: Any) -> Any:
        kind = self.tl.block_type(self.tl.bfloat16, list(tensor.shape)) if tensor.shape else self.tl.bfloat16
        return self.tl.core.tensor(self.encode(tensor.handle.data), kind)
