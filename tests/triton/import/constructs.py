"""One kernel for each construct of Python that Triton accepts; the comment before each says what a call passes."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

SCALE = tl.constexpr(3)
MODES = tl.constexpr(2)
SIZES = tl.constexpr((16, 4))


# x:*fp32,y:*fp32,n:i32,BLOCK=16
@triton.jit
def assignments(x, y, n, BLOCK: tl.constexpr):
    """A docstring."""
    HALF: tl.constexpr = BLOCK // 2
    at, limit = tl.arange(0, BLOCK), n
    first: tl.int32 = 1
    a = tl.load(x + at)
    b = tl.load(x + at + limit)
    a += first
    a -= 2
    a *= b
    a /= 4
    i = at + 7
    i //= 2
    i %= HALF
    i <<= 1
    i >>= 1
    i |= 8
    i &= 31
    i ^= 5
    a, b = b, a
    tl.store(y + at, a - b + i, mask=at < limit)


# x:*i32,y:*i32,n:i32,BLOCK=16
@triton.jit
def operators(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = -a + n - ~a * 2
    c = (a & 7) | (b ^ 3)
    d = (a << 2) >> 1
    e = (a // 3 + a % 5) * SCALE
    mask = (0 <= at) & (at < n)
    other = not ((n > 3 and n < 9) or n == 1)
    f = tl.where((a == b) | (c != d) | (a >= b), 1.5, e / 2)
    tl.store(y + at, f.to(tl.int32) + other, mask=mask)


# x:*fp32,y:*fp32,n:i32
@triton.jit
def branches(x, y, n):
    pid = tl.program_id(0)
    a = tl.load(x + pid)
    if n > 10:
        a = a * 2
        kept = a + 1
    elif n > 5:
        kept = a - 1
    else:
        if n == 0:
            a = 0.0
        kept = a
    if pid == 3:
        pass
    else:
        kept += 1
    tl.store(y + pid, kept + a)


# x:*fp32,y:*fp32,n:i32,FLAG=True,MODE=1,BLOCK=16
@triton.jit
def known_branches(x, y, n, FLAG: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if FLAG and MODE != 0:
        b = tl.load(x + at + n)
        if MODE == 1:
            c = b * 2
    if MODE == 0:
        a = a + 1
    elif MODE == MODES:
        a = a + 2
    if FLAG and MODE == 1:
        a += b
        a += c
    tl.store(y + at, a)


# x:*fp32,y:*fp32,w:*fp32,n:i32,FLAG=False,OTHER=True,BLOCK=16
@triton.jit
def state_of_a_flag(x, y, w, n, FLAG: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    if not FLAG:
        weights = tl.zeros((BLOCK,), dtype=tl.float32)
        if OTHER:
            bias = tl.full((BLOCK,), 1.0, dtype=tl.float32)
    for i in range(0, n):
        a = tl.load(x + i * BLOCK + at)
        if not FLAG:
            mean = tl.sum(a, 0) / BLOCK
            weights += a
            if OTHER:
                bias += a * 2
        total += (a - mean) if not FLAG else a
    tl.store(y + at, total)
    if not FLAG:
        tl.store(w + at, weights)
        if OTHER:
            tl.store(w + BLOCK + at, bias)


# x:*fp32,y:*fp32,n:i32,FLAG=True,OTHER=False,BLOCK=16
@triton.jit
def arms_with_flags_inside(x, y, n, FLAG: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if FLAG:
        a = tl.load(x + at)
        if OTHER:
            b = tl.load(x + BLOCK + at)
    else:
        a = tl.load(x + at, mask=at < n)
        if OTHER:
            b = tl.load(x + BLOCK + at, mask=at < n)
    if OTHER:
        a += b
    tl.store(y + at, a)


# x:*fp32,y:*fp32,n:i32,MODE=1,BLOCK=16
@triton.jit
def a_chain_without_else(x, y, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if MODE == 1:
        tl.store(y + n, 1.0)
        b = a * 2
        c = a + 1
    elif MODE == 2:
        tl.store(y + n, 2.0)
        b = a
    if MODE == 1:
        b += c
    tl.store(y + at, b)


# x:*fp32,y:*fp32,n:i32,EVEN=True,BLOCK=16
@triton.jit
def a_mask_or_none(x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if EVEN:
        mask = None
    else:
        mask = at < n
    tl.store(y + at, tl.load(x + at, mask=mask), mask=mask)


# x:*fp32,y:*fp32,n:i32,FLAG=False,BLOCK=16
@triton.jit
def arms_with_their_own_names(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if not FLAG:
        mean = tl.sum(a, 0) / BLOCK
        tl.store(y + n, mean)
        centered = a - mean
    else:
        centered = a
    b = (centered + mean) * 2 if not FLAG else centered
    tl.store(y + at, b)


# x:*fp16,y:*fp32,start:i32,n:i32,LONG=True,BLOCK=16
@triton.jit
def a_type_of_a_flag(x, y, start, n, LONG: tl.constexpr, BLOCK: tl.constexpr):
    if LONG:
        first = start.to(tl.int64) * n
    else:
        first = start
    # What follows has other types for each.
    at = first + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y + at, tl.load(x + at, mask=mask, other=0.0), mask=mask)


# x:*fp32,scale:*fp32,y:*fp32,bias=None,HAS_BIAS=False,BLOCK=16
@triton.jit
def what_is_left_out(x, scale, y, bias, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if scale is not None:
        a = a * tl.load(scale)
    if HAS_BIAS:
        a += tl.load(bias + at)
    if bias is None:
        a += 1
    tl.store(y + at, a)


# x:*fp32,y:*fp32,w=None,total:i32,cap=None,HAS_W=False,HAS_CAP=False,BLOCK=16
@triton.jit
def what_is_asked_before_it_is_left_out(
    x, y, w, total, cap, HAS_W: tl.constexpr, HAS_CAP: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.arange(0, BLOCK)
    if HAS_W:
        total = total.to(tl.float32)
    if HAS_CAP:
        cap = cap.to(tl.float32)
    a = tl.load(x + at)
    if HAS_W:
        a += tl.load(w + at)
    if HAS_CAP:
        a *= cap
    tl.store(y + at, a + total)


# x:*fp32,y:*fp32,n:i32
@triton.jit
def a_step_that_triton_leaves_out(x, y, n):
    for i in range(0, n, step=2):
        tl.store(y + i, tl.load(x + i))


@triton.jit
def halved(a, by):
    return a / by


@triton.jit
def above(a, by):
    return tl.where(a > by, a, 0)


# x:*fp32,y:*fp32,by=None,HALVED=False,ABOVE=False,BLOCK=16
@triton.jit
def what_helpers_lack(x, y, by, HALVED: tl.constexpr, ABOVE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if HALVED:
        a = halved(a, by)
    if ABOVE:
        a = above(a, by)
    tl.store(y + at, a)


# x:*fp16,y:*fp16,NARROW=False,BLOCK=16
@triton.jit
def what_triton_compiles_for_no_flag(x, y, NARROW: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if NARROW:
        a = a.to(tl.float8e5, bitcast=True)
        a = a.to(tl.float16)
    tl.store(y + at, a)


# x:*fp32,y:*fp32,BLOCK=16
@triton.jit
def libdevice_with_numbers_of_its_own(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(y + at, libdevice.pow(a, 2) + libdevice.pow(a, 2.0))


# x:*fp32,y:*fp32,n:i32,FLAG=True,BLOCK=16
@triton.jit
def flags_as_numbers(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK) * FLAG
    if FLAG == 1:
        at += n * FLAG
    tl.store(y + at, tl.load(x + at))


# x:*fp32,y:*fp32,n:i32,FLAG=True,BLOCK=16
@triton.jit
def flags_beside_conditions(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if FLAG or n > 3:
        tl.store(y + at, tl.load(x + at, mask=(at < n) | FLAG))
    if n < 9 and FLAG:
        tl.store(y + at, 0.0, mask=FLAG & (at > n))


# x:*fp32,y:*fp32,n:i32,FLAG=True,BLOCK=16
@triton.jit
def conditional_expressions(x, y, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):
    SIZE: tl.constexpr = BLOCK if FLAG else BLOCK // 2
    at = tl.arange(0, SIZE)
    a = tl.load(x + at)
    b = n if n > 3 else 3
    c = a if FLAG else a * 2
    tl.store(y + at, c + b)


# x:*fp32,y:*fp32,n:i32,BLOCK=16,STAGES=2
@triton.jit
def loops(x, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    count = 0
    for i in range(n):
        total += tl.load(x + i * BLOCK + at)
        for j in range(1, i, 2):
            count += j
    for i in tl.range(n, 0, -1, num_stages=STAGES):
        total *= i
    for i in tl.static_range(3):
        total += i
    while count > 3 and n > 0:
        count -= 3
    tl.store(y + at, total + count)


# x:*fp32,y:*fp32,n:i32
@triton.jit
def early_return(x, y, n):
    pid = tl.program_id(axis=0)
    if pid >= n:
        return
    tl.store(y + pid, tl.load(x + pid))


@triton.jit
def doubled(a, times=2):
    """Twice `a`."""
    return a * times


@triton.jit
def parts(a, b, KIND: tl.constexpr):
    if KIND == "sum":
        return a + b, a
    elif KIND == "difference":
        return a - b, b
    return a, b


@triton.jit(noinline=True)
def apart(a):
    return a * a + 1


@triton.jit
def chosen(a, n):
    return tl.where(a > n, a, doubled(a, times=n))


# x:*fp32,y:*fp32,n:fp32,KIND="sum",BLOCK=16
@triton.jit
def helpers(x, y, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b, c = parts(doubled(a), chosen(a, n=n), KIND)
    tl.store(y + at, b + c + apart(n))


@triton.jit
def moved(at, by, SCALED: tl.constexpr = False):
    if SCALED:
        return at + by * 2
    else:
        return at + by


# x:*fp32,y:*fp16,n:i32,BLOCK=16
@triton.jit
def helpers_of_several_types(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(moved(x, at), mask=moved(at, 1) < n, other=0.0)
    b = moved(tl.sum(a), n.to(tl.float32), SCALED=True)
    tl.store(moved(y, at), tl.where(at < n, moved(a, b), 0.0).to(tl.float16))


@triton.jit
def larger(a, i, b, j):
    isLarger = a > b
    return tl.where(isLarger, a, b), tl.where(isLarger, i, j)


@triton.jit
def product(a, b):
    return a * b


# x:*fp32,y:*fp32,BLOCK=16
@triton.jit
def reductions(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    all = tl.reduce(a, 0, product)
    value, place = tl.reduce((a, at), 0, larger)
    running = tl.associative_scan(a, 0, product)
    tl.store(y + at, running + all + value + place + tl.max(a, axis=0) + tl.sum(a > 0, 0))


# x:*fp32,y:*fp32,BLOCK=16
@triton.jit
def scans_and_assembly(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.cumsum(tl.load(x + at), reverse=True)
    b = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=2)
    tl.store(y + at, b)


# x:*fp16,y:*fp32,M=16,N=32
@triton.jit
def shapes(x, y, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + cols[None, :]
    a = tl.load(x + at).to(tl.float32)
    b = tl.trans(a) + tl.zeros((N, M), tl.float32)
    c = b.reshape(M, N) + tl.sum(a, axis=1, keep_dims=True)
    d = tl.dot(a, tl.trans(a), input_precision="ieee")
    tl.store(y + at, c * a.shape[1] + tl.sum(d))


# x:*fp16,y:*fp16,n:i32,DTYPE=tl.float32,BLOCK=16
@triton.jit
def dtypes(x, y, n, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at).to(DTYPE)
    b = a * 2.5 + tl.cast(n, DTYPE)
    tl.store(y + at, b.to(y.dtype.element_ty))


# x:*fp32,y:*fp32,n:i32
@triton.jit
def tuples(x, y, n):
    at = tl.arange(0, SIZES[0])
    pair = (tl.load(x + at), at)
    a = pair[0] + pair[1]
    tl.store(y + at, a * SIZES[1] + len(SIZES))


# x:*fp32,y:*fp32,n:i32,BLOCK=16
@triton.jit
def assertions(x, y, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 4 == 0, "a multiple of four")
    tl.device_assert(n > 0, "none")
    at = tl.multiple_of(tl.program_id(0) * BLOCK, 16) + tl.arange(0, BLOCK)
    tl.assume(n > 0)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


# x:*i32,y:*i32,n:i32
@triton.jit
def atomics(x, y, n):
    pid = tl.program_id(0)
    old = tl.atomic_add(x + pid, n, sem="relaxed")
    while tl.atomic_cas(y, 0, 1) == 1:
        pass
    tl.atomic_xchg(y, old)


# x:*fp32,y:*fp32,seeds:*i32,n:i32,BLOCK=16
@triton.jit
def random_numbers(x, y, seeds, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    kept = tl.rand(tl.load(seeds), at) > 0.5
    tl.store(y + at, tl.where(kept, tl.load(x + at), tl.randn(n, at)))


# x:*fp32,y:*fp32,start=None,n:i32,HAS_START=False,TURNED=True,BLOCK=16
@triton.jit
def what_only_left_out_code_makes(x, y, start, n, HAS_START: tl.constexpr, TURNED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at)
    if HAS_START:
        if TURNED:
            p = start + at * n
        else:
            p = start + at
        first = tl.load(p, mask=inside)
    for i in range(n):
        if HAS_START:
            start += BLOCK
            a += first * i
        if not HAS_START:
            a += i
        else:
            a = tl.where(first == a, a, 0.0)
    tl.store(y + at, a)


# x:*fp32,y:*fp32,n:i32,FLAG=True,OTHER=False,BLOCK=16
@triton.jit
def a_tile_or_none(x, y, n, FLAG: tl.constexpr, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + n + at) if FLAG else None
    c = None if FLAG else a * 2
    if OTHER:
        d = a + 1
    else:
        d = None
    if FLAG:
        a += b
    else:
        a += c
    if OTHER:
        a *= d
    if b is not None:
        a -= 1
    tl.store(y + at, a)


# x:*fp32,y:*fp32,n:i32,TURNED=False,M=16,N=16
@triton.jit
def shapes_of_a_flag(x, y, n, TURNED: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    if TURNED:
        at = cols[:, None] * M + rows[None, :]
        total = tl.zeros([N, M], dtype=tl.float32)
    else:
        at = rows[:, None] * N + cols[None, :]
        total = tl.zeros([M, N], dtype=tl.float32)
    for i in range(n):
        if TURNED:
            total += tl.load(x + at) + rows[None, :]
        else:
            total += tl.load(x + at) + rows[:, None]
    tl.store(y + at, total)


# x:*fp32,y:*fp32,n:i32,SCALED=True,BY_LANE=False,BLOCK=16
@triton.jit
def shapes_inside_of_an_arm(x, y, n, SCALED: tl.constexpr, BY_LANE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if SCALED:
        b = tl.load(x + BLOCK + at)
        if BY_LANE:
            scale = tl.load(x + n + at)
        else:
            scale = tl.load(x + n)
        a += b * scale
    if SCALED:
        a -= b
    tl.store(y + at, a)


# x:*fp16,y:*fp16,T:i32,BLOCK=16
@triton.jit
def a_name_of_a_dtype_variable(x, y, T, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < T, other=0.0).to(tl.float32) * T
    tl.store(y + at, a.to(y.dtype.element_ty), mask=at < T)


# x:*fp16,y:*fp16,n:i32,WIDTH=16,BLOCK=16
@triton.jit
def code_for_greater_sizes(x, y, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at).to(tl.float32)
    if WIDTH > 16:
        p = x + n + at
        b = tl.load(p).to(tl.float32) * 2
        tl.store(y + n + at, b.to(p.dtype.element_ty))
    tl.store(y + at, a.to(y.dtype.element_ty))


@triton.jit
def greatest(dtype: tl.constexpr):
    kind = dtype.value
    if kind.is_floating():
        value: tl.constexpr = float("inf")
        return value
    if kind.is_int_signed():
        width: tl.constexpr = kind.int_bitwidth
        value: tl.constexpr = 2 ** (width - 1) - 1
        return value


@tl.constexpr
def wide(dtype):
    return tl.float32 if dtype.is_floating() else tl.int64


# x:*fp16,y:*fp16,n:i32,WIDTH=12,BITS=3,BLOCK=16
@triton.jit
def calls_of_constants(x, y, n, WIDTH: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, triton.next_power_of_2(WIDTH))
    bins: tl.constexpr = 2**BITS
    LARGE: tl.constexpr = greatest(x.type.element_ty)
    a = tl.load(x + at, mask=at < WIDTH, other=LARGE).to(wide(x.dtype.element_ty))
    tl.store(y + at, (a * bins).to(tl.float32, fp_downcast_rounding="rtne").to(y.dtype.element_ty))


# x:*fp16,y:*fp32,ALLOW=False,M=16
@triton.jit
def a_product_of_a_flag(x, y, ALLOW: tl.constexpr, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    a = tl.load(x + at)
    tl.store(y + at, tl.dot(a, a, allow_tf32=ALLOW))


# x:*fp32,y:*fp32,start=None,n:i32,HAS_START=False,BLOCK=16
@triton.jit
def left_out_code_that_the_program_decides(x, y, start, n, HAS_START: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if HAS_START:
        if tl.program_id(0) == n:
            a += tl.load(start + at)
    tl.store(y + at, a)


@triton.jit
def moved_block(source_desc, i, j):
    return source_desc.load([i, j])


# a_desc:tensordesc<fp16[ROWS,32]>,b_desc:tensordesc<fp16[ROWS,32]>,sums:tensordesc<fp32[ROWS,32]>,n:i32,ROWS=16
@triton.jit
def descriptors_as_arguments(a_desc, b_desc, sums, n, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    total = tl.zeros([ROWS, 32], tl.float32)
    for at in range(0, n, 32):
        a = tl.load_tensor_descriptor(a_desc, [row, at])
        total += a.to(tl.float32) + moved_block(a_desc, row, at).to(tl.float32)
        b_desc.store(offsets=[row, at], value=(a * 2).to(b_desc.dtype))
    sums.atomic_add([row, 0], total)


# x_ptr:*fp32,y_ptr:*fp32,turns:i32,B=16
@triton.jit
def a_name_of_several_ranks(x_ptr, y_ptr, turns, B: tl.constexpr):
    at = tl.arange(0, B)
    mask = at < turns
    x = tl.load(x_ptr + at[:, None] * B + at[None, :])
    best = tl.zeros([B], tl.float32)
    for _ in range(turns):
        best = x + best[:, None]
        for _ in range(turns):
            best *= 2
        best = tl.max(best, axis=1)
    mask = mask[:, None] & mask[None, :]
    tl.store(y_ptr + at, best)
    tl.store(y_ptr + B + at[:, None] * B + at[None, :], x, mask=mask)
    best = tl.sum(best)
    best += 1
    tl.store(y_ptr + turns, best)


# x:*fp16,y:*fp32,n:i32,A=16,B=16
@triton.jit
def a_name_of_several_dtypes(x, y, n, A: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, A)
    for i in range(n):
        tl.store(y + at, 1.0)
        at = tl.arange(0, B)
        tl.store(y + at, 2.0)
        at = tl.arange(0, A) + i
    if n > 3:
        wide = tl.load(x + at)
        wide = wide.to(tl.float32)
        for _ in range(n):
            wide *= 2
        tl.store(y + at, wide)
    x = tl.load(x + at)
    x = x.to(tl.float32)
    n = n.to(tl.int64)
    n += 1
    tl.store(y + n * n + at, x)


# x:*fp32,y:*fp32,B=16
@triton.jit
def concatenation_in_any_order(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    both = tl.cat(at, at + B, can_reorder=True)
    tl.store(y + both, tl.load(x + both) * 2)
    tl.store(y, tl.sum(tl.cat(tl.load(x + at), tl.load(x + at), can_reorder=True)))


# x:*fp32,y:*fp32,D=64,B=16
@triton.jit
def powers_and_logarithms(x, y, D: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    SCALE: tl.constexpr = D**-0.5
    STEPS: tl.constexpr = tl.standard._log2(B)
    tl.store(y + at, tl.load(x + at) * SCALE + B**2 + 2**STEPS + tl.cdiv(D, 3))


# table:*i64,y:*fp16,B=16
@triton.jit
def pointer_types(table, y, B: tl.constexpr):
    at = tl.arange(0, B)
    wide = tl.pointer_type(tl.float32)
    p = tl.load(table).to(wide)
    q = tl.cast(tl.load(table + 1), tl.pointer_type(y.dtype.element_ty))
    bits = y.to(tl.pointer_type(tl.int16), bitcast=True)
    tl.store(bits + B + at, tl.load(p + at).to(tl.int16))
    tl.store(y + at, tl.load(q + at))


# x:*fp32,y:*fp32,n:i32,B=16
@triton.jit
def lists_that_loops_change(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    parts = ()
    for k in tl.static_range(3):
        parts = parts + (tl.load(x + k * B + at),)
        for j in tl.static_range(k):
            parts += (parts[j] * 2,)
    total = tl.zeros([B], tl.float32)
    for k in tl.static_range(0, len(parts), 2):
        total += parts[k]
    for _ in range(n):
        total *= 2
    for _ in tl.static_range(2):
        total = tl.sum(tl.reshape(total, [total.shape[0] // 2, 2]), axis=1)
    tl.store(y + tl.arange(0, B // 4), total)


@triton.jit
def several_returns(a, n, KIND: tl.constexpr, FLAG: tl.constexpr):
    if KIND == "a":
        if FLAG:
            return a * 2, 1
        a += 1
        if a.dtype == tl.float32:
            return a, 2
    elif KIND == "b":
        return a - 1, n
    return a * 3, 3


@triton.jit
def returns_at_run_time(a, n):
    if n > 3:
        if n > 5:
            return a * 2
        else:
            return a * 3
    if n > 2:
        return a * 4
    return a


@triton.jit
def numbers_returned(KIND: tl.constexpr, B: tl.constexpr):
    if KIND == "a":
        return 3
    return B


# x:*fp32,y:*fp32,n:i32,KIND="a",FLAG=False,B=16
@triton.jit
def returns_in_several_branches(x, y, n, KIND: tl.constexpr, FLAG: tl.constexpr, B: tl.constexpr):
    at = tl.arange(0, B)
    a, count = several_returns(tl.load(x + at), n, KIND, FLAG)
    b = returns_at_run_time(a, n) * numbers_returned(KIND, B)
    for k in range(n):
        b += returns_at_run_time(b, k)
    if n > 9:
        if FLAG:
            return
        tl.store(y + at, 1.0)
        if n > 12:
            return
    elif n == 1:
        return
    tl.store(y + at, b + count)


# x:*fp32,y:*fp32,n:i32,FLAG=False,MODE=1,B=16
@triton.jit
def numbers_of_arms(x, y, n, FLAG: tl.constexpr, MODE: tl.constexpr, B: tl.constexpr):
    if FLAG:
        WIDTH: tl.constexpr = B // 2
    else:
        WIDTH: tl.constexpr = B
        tl.store(y + n, 1.0)
    if MODE == 0:
        STEPS: tl.constexpr = 2
    elif MODE == 1:
        STEPS: tl.constexpr = 3
        tl.store(y + n, 2.0)
    if FLAG:
        scale = 2
    else:
        scale = tl.load(x + n)
    if n > 3:
        bias = 1.0
    else:
        bias = tl.load(x)
    at = tl.arange(0, WIDTH)
    for k in tl.static_range(STEPS):
        tl.store(y + at + k, tl.load(x + at) * scale + bias)


# x:*fp32,y:*i32,B=16
@triton.jit
def assembly_of_constants(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.inline_asm_elementwise("add.u32 $0, $1, $2;", "=r,r,r", [at, 7], tl.int32, is_pure=True, pack=1)
    b = tl.inline_asm_elementwise("add.u32 $0, $1, $2;", "=r,r,r", [at, B], tl.int32, is_pure=False, pack=1)
    lane = tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r", [], tl.int32, is_pure=True, pack=1)
    tl.store(y + at, a + b + lane)


# x:*fp16,y:*fp32,ALLOW=False,PRECISION="ieee",M=16
@triton.jit
def precisions_of_products(x, y, ALLOW: tl.constexpr, PRECISION: tl.constexpr, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    a = tl.load(x + at)
    total = tl.dot(a, a, tl.zeros([M, M], tl.float32), allow_tf32=ALLOW)
    total += tl.dot(a, a, allow_tf32=True)
    total += tl.dot(a, a, allow_tf32=False, out_dtype=tl.float32)
    total += tl.dot(a, a, allow_tf32=M > 32)
    total += tl.dot(a, a, input_precision=PRECISION)
    tl.store(y + at, total)


# x_ptr:*fp32,y_ptr:*fp32,B=16
@triton.jit
def assigned_to_itself(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i) * 2.0
    if tl.program_id(0) == 0:
        x += 1.0
    else:
        x = x
    tl.store(y_ptr + i, x)


# x_ptr:*fp16,s_ptr:*fp32,y_ptr:*fp16,factor:fp32,B=16
@triton.jit
def a_dtype_that_mixes_with_another(x_ptr, s_ptr, y_ptr, factor, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    scaled = (x * factor).to(x_ptr.dtype.element_ty)
    tl.store(y_ptr + i, scaled * tl.load(s_ptr + i) + tl.load(s_ptr + i) * x)


# x_ptr:*fp32,y_ptr:*fp16,B=16
@triton.jit
def arms_for_dtypes(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    if y_ptr.dtype.element_ty == tl.bfloat16:
        y = x.to(tl.bfloat16)
    elif y_ptr.dtype.element_ty == tl.float16:
        y = x.to(tl.float16)
    else:
        y = x.to(tl.float32)
    tl.store(y_ptr + i, y)


# x_ptr:*fp16,y_ptr:*fp16,B=16
@triton.jit
def a_half_accumulator(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x = tl.load(x_ptr + at)
    acc = tl.zeros([B, B], tl.float16)
    acc = tl.dot(x, x, acc)
    tl.store(y_ptr + at, acc)


# x_ptr:*fp32,n:i32,B=16
@triton.jit
def inverted_constants(x_ptr, n, B: tl.constexpr):
    whole = n & ~(B - 1)
    for start in range(0, whole, B):
        tl.store(x_ptr + start + tl.arange(0, B), 1.0)


# x_ptr:*fp32,y_ptr:*fp32,N=64,B=16
@triton.jit
def a_mask_that_only_other_sizes_need(x_ptr, y_ptr, N: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if N % B == 0:
        mask = None
    else:
        mask = i < N
    for _ in tl.range(2):
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=mask), mask=mask)


# x_ptr:*i32,y_ptr:*fp16,B=16
@triton.jit
def extrema_of_several_dtypes(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    positive = tl.maximum(x, 0.0)
    flags = tl.minimum(x > 1, x)
    tl.store(y_ptr + i, (positive * flags).to(y_ptr.dtype.element_ty))


# x_ptr:*i32,y_ptr:*fp16,B=16
@triton.jit
def an_integer_that_mixes_with_a_dtype(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    y = (tl.load(x_ptr + i) * tl.load(y_ptr + i)).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + i, y)


# x_ptr:*fp16,y_ptr:*fp32,B=16,ACC=tl.float32
@triton.jit
def an_accumulator_of_a_given_dtype(x_ptr, y_ptr, B: tl.constexpr, ACC: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x = tl.load(x_ptr + at)
    acc = tl.zeros([B, B], ACC)
    tl.store(y_ptr + at, tl.dot(x, x, acc, out_dtype=ACC))


# x_ptr:*fp32,n:i32,s:i32,P=True,B=16
@triton.jit
def arms_that_add_to_a_scalar_before_it_is_a_tile(x_ptr, n, s, P: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * s
    if P:
        at += n
    else:
        at += n * 2
    at += tl.arange(0, B)[:, None] + tl.arange(0, B)[None, :]
    tl.store(x_ptr + at, 1.0)


# x_ptr:*fp32,steps=4
@triton.jit
def a_choice_of_a_number_or_a_constant(x_ptr, steps: tl.constexpr):
    count = 0 if tl.program_id(0) == 0 else steps
    for i in tl.range(count):
        tl.store(x_ptr + i, 1.0)


# x_ptr:*i32,y_ptr:*fp16,z_ptr:*i8,n:i32,G=6,B=16
@triton.jit
def constants_in_variables_promote_tiles(x_ptr, y_ptr, z_ptr, n, G: tl.constexpr, B: tl.constexpr):
    quotient = B / G
    half = 0.5
    three = 3
    i = tl.arange(0, B)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    for k in tl.range(0, n):
        at = i + (k * quotient).to(tl.int32) * B
        tl.store(y_ptr + at, quotient * x - half / x)
        tl.store(y_ptr + at + B, (half * y + quotient) * ((x > quotient) & (y >= half)))
        tl.store(x_ptr + at, z * three + (three - z) // three)
        tl.store(z_ptr + at, z > three)


# x_ptr:*fp32,y_ptr:*fp32,n:i32,FLAG=True,B=16
@triton.jit
def a_mask_that_only_the_result_of_an_arm_needs(x_ptr, y_ptr, n, FLAG: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if FLAG:
        mask = i < n
        x = tl.load(x_ptr + i, other=1.0, mask=mask)
    if n > 3:
        if FLAG:
            tl.store(y_ptr + i, x)


# x_ptr:*i64,y_ptr:*fp32,B=16
@triton.jit
def unsigned_addresses(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    pointers = tl.load(x_ptr.to(tl.pointer_type(tl.uint64)) + i).to(tl.pointer_type(tl.float32))
    tl.store(pointers, tl.load(y_ptr.to(tl.pointer_type(tl.int32)) + i).to(tl.float32))


# n:i32,B=16
@triton.jit
def no_access(n, B: tl.constexpr):
    pass


# x_ptr:*fp16,y_ptr:*fp16,n:i32,B=16
@triton.jit
def pointers_as_conditions(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    if x_ptr:
        tl.store(x_ptr + i, 1.0)
    if not y_ptr and n > 3:
        tl.store(x_ptr + i, 2.0)
    tl.store(y_ptr + i, 1.0 if x_ptr else 0.0)


# x_ptr:*fp16,n:i32,m:i32,ROWS=32,COLS=32
@triton.jit
def sizes_that_must_be_equal(x_ptr, n, m, ROWS: tl.constexpr, COLS: tl.constexpr):
    i = tl.arange(0, ROWS)
    j = tl.arange(0, COLS)
    mask = (i[:, None] < n) & (j[None, :] < m)
    x = tl.load(x_ptr + i[:, None] * n + j[None, :], mask=mask)
    tl.store(x_ptr + j[:, None] * n + i[None, :], x.trans(1, 0), mask=mask)


@triton.jit
def stored_in_an_arm(pointers, value, IS_MASKED, mask):
    if IS_MASKED:
        tl.store(pointers, value, mask=mask)
    else:
        tl.store(pointers, value)


# x_ptr:*fp16,y_ptr:*fp32,n:i32,B=16
@triton.jit
def pointers_to_several_dtypes_in_a_helper(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(y_ptr + i)
    stored_in_an_arm(x_ptr + i, x, n > 3, i < n)
    stored_in_an_arm(y_ptr + i, x * 2, n < 3, i < n)
