/** What is written once, where it is written, and how it is named. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { bodyOf, emit, jitFunctions } from "../../support/emit.js";
import * as repeats from "./fixtures/repeats.js";

describe("what is written once", () => {
  test("should stand before a branch that uses it, as a mask of the author's does", () => {
    expect(bodyOf(repeats.branched)).toMatchInlineSnapshot(`
      "cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
      here = x_ptr + cols * stride_xn
      inside = cols < N
      if FLAG:
          tl.store(
              y_ptr + cols * stride_yn, tl.load(here, mask=inside, other=0.0), mask=inside
          )
      total = tl.load(here, mask=inside & (cols > 3), other=0.0)
      tl.store(y_ptr + cols * stride_yn, total, mask=inside)"
    `);
  });

  test("should be the author's mask, where it is first needed", () => {
    expect(bodyOf(repeats.later)).toMatchInlineSnapshot(`
      "cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
      # Lanes behind the end count as 1.
      inside = cols < N
      value = tl.load(x_ptr + cols * stride_xn, mask=inside, other=0.0)
      tl.store(y_ptr + cols * stride_yn, tl.where(inside, value, 1.0), mask=inside)"
    `);
  });

  test("should be written again where the author's mask stands inside a loop that has ended", () => {
    expect(bodyOf(repeats.earlier)).toMatchInlineSnapshot(`
      "cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
      total = tl.zeros([BLOCK], dtype=tl.float32)
      for _ in range(3):
          total += tl.load(x_ptr + cols, mask=cols < N, other=0.0)
          total += tl.load(x_ptr + cols, mask=cols < N, other=0.0)
      tl.store(y_ptr + cols * stride_yn, total, mask=cols < N)"
    `);
  });

  test("should join the author's masks in the arm that has them", () => {
    expect(bodyOf(repeats.maskedArms)).toMatchInlineSnapshot(`
      "rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
      for n in range(0, N, BLOCK):
          cols = n + tl.arange(0, BLOCK)
          total = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
          mask = (rows[:, None] < M) & (cols[None, :] < N)
          if FLAG:
              is_row = rows[:, None] < M
              is_column = cols[None, :] < N
              total = tl.load(
                  x_ptr + rows[:, None] * stride_xm + cols[None, :] * stride_xn,
                  mask=is_row & is_column,
                  other=0.0,
              )
              for _ in range(3):
                  total += tl.load(
                      x_ptr + (rows[:, None] * stride_xm + cols[None, :] * stride_xn),
                      mask=is_row & is_column,
                      other=0.0,
                  )
          else:
              total = tl.load(
                  x_ptr + rows[:, None] * stride_xm + cols[None, :] * stride_xn,
                  mask=mask,
                  other=0.0,
              )
          tl.store(
              y_ptr + rows[:, None] * stride_ym + cols[None, :] * stride_yn,
              total,
              mask=mask,
          )"
    `);
  });

  test("should have one name where a JavaScript function is called twice", () => {
    expect(bodyOf(repeats.inlined)).toMatchInlineSnapshot(`
      "pid = tl.program_id(0)
      rows = pid * BLOCK + tl.arange(0, BLOCK)
      mask = rows < N
      value = tl.load(x_ptr + rows * stride_xn, mask=mask, other=0.0) * 2.0
      value_1 = tl.load(x_ptr + rows * stride_xn, mask=mask, other=0.0) * 3.0
      other = pid * BLOCK + tl.arange(0, BLOCK)
      tl.store(y_ptr + rows * stride_yn, value + value_1, mask=mask)
      tl.store(y_ptr + other * stride_yn, value * value_1, mask=other < N)"
    `);
  });

  test("should be a condition with an effect", () => {
    expect(bodyOf(repeats.waiting)).toMatchInlineSnapshot(`
      "while tl.atomic_cas(lock_ptr, 0, 1) == 1:
          pass
      tries = tl.full([], 0, dtype=tl.int32)
      running = True
      while running:
          old = tl.atomic_add(lock_ptr, 1)
          running = (old != 4) & (old < 9)
          if running:
              tries += 1
      index = tl.program_id(0)
      tl.store(y_ptr + index * stride_yn, tries.to(tl.float32), mask=index < N)"
    `);
  });

  test("should be what all lanes share, before the loops that use it", () => {
    expect(bodyOf(repeats.rows)).toMatchInlineSnapshot(`
      "z = tl.program_id(0)
      m = tl.program_id(1)
      lanes = tl.arange(0, BLOCK)
      total = tl.zeros([BLOCK], dtype=tl.float32)
      x_base = x_ptr + z.to(tl.int64) * stride_xz + m.to(tl.int64) * stride_xm
      w_base = w_ptr + z * (M * N * 4) + m * (N * 4) + 3
      for k in range(0, N, BLOCK):
          offsets = k + lanes
          value = tl.load(
              x_base + offsets.to(tl.int64) * stride_xn, mask=offsets < N, other=0.0
          )
          total += value * tl.load(w_base + offsets * 4, mask=offsets < N, other=0.0)
      y_base = y_ptr + z.to(tl.int64) * M * N + m.to(tl.int64) * N
      for k in range(0, N, BLOCK):
          offsets = k + lanes
          tl.store(
              y_base + offsets,
              total
              + tl.load(
                  x_base + offsets.to(tl.int64) * stride_xn, mask=offsets < N, other=0.0
              ),
              mask=offsets < N,
          )"
    `);
  });
});

test("names should hide no builtin of Python's and be the author's", () => {
  expect(jitFunctions(emit(repeats.named).text).join("\n")).toMatchInlineSnapshot(`
    "def rest(tokens, all_, N, x_ptr, stride_xn, BLOCK: tl.constexpr):
        sum_, _ = tl.split(tl.reshape(tokens, [BLOCK // 2, 2]))
        _1, next_ = tl.split(tl.reshape(all_, [BLOCK // 2, 2]))
        index = tl.program_id(0)
        sorted_ = tl.load(x_ptr + index * stride_xn, mask=index < N, other=0.0)
        return tl.reshape(tl.join(sum_, next_), [BLOCK]) + sorted_
    def named_kernel(x_ptr, y_ptr, N, stride_xn, stride_yn, BLOCK: tl.constexpr):
        input_ = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = input_ < N
        tokens = tl.load(x_ptr + input_ * stride_xn, mask=mask, other=0.0)
        tl.store(
            y_ptr + input_ * stride_yn,
            rest(tokens, tokens * 2.0, N, x_ptr, stride_xn, BLOCK),
            mask=mask,
        )"
  `);
});

test("a loop should carry pointers for all of it, and advance those of one arm there", () => {
  expect(bodyOf(repeats.exclusive)).toMatchInlineSnapshot(`
    "rm = tl.arange(0, BLOCK)
    rn = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    rk = tl.arange(0, BLOCK)
    a_ptrs = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    mask_m = rm[:, None] < M
    b_ptrs = b_ptr + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    mask_n = rn[None, :] < N
    c_ptrs = c_ptr + (rk[:, None] * stride_ck + rn[None, :] * stride_cn)
    for k in range(0, K, BLOCK):
        left = tl.load(a_ptrs, mask=mask_m & (rk[None, :] < K - k), other=0.0)
        mask = (rk[:, None] < K - k) & mask_n
        if FLAG:
            acc = tl.dot(left, tl.load(b_ptrs, mask=mask, other=0.0), acc)
            b_ptrs += BLOCK * stride_bk
        else:
            acc = tl.dot(left, tl.load(c_ptrs, mask=mask, other=0.0), acc)
        if k > 64:
            acc = tl.dot(left, tl.load(c_ptrs, mask=mask, other=0.0) * 2.0, acc)
        a_ptrs += BLOCK * stride_ak
        c_ptrs += BLOCK * stride_ck
    tl.store(
        out_ptr + (rm[:, None] * stride_out_m + rn[None, :] * stride_out_n),
        acc,
        mask=mask_m & mask_n,
    )"
  `);
});

describe("the emitted form computes what the author's does", () => {
  const { branched, later, earlier, maskedArms, inlined, named, exclusive, rows } = repeats;
  const all = { branched, later, earlier, maskedArms, inlined, named, exclusive, rows };
  test.each(Object.entries(all))("%s", async (name, made) => {
    const sizes = { M: 17, N: name === "exclusive" ? 20 : 37, K: 70, Z: 2 };
    const kernel = await build(made as never);
    const own = kernel.signature.sizes.map((size) => [size, sizes[size as keyof typeof sizes]]);
    for (const FLAG of [true, false]) {
      const constexprs = kernel.signature.constexprs.some((each) => each.name === "FLAG") ? { FLAG } : {};
      const at = { sizes: Object.fromEntries(own), dtypes: {}, constexprs, config: 0, seed: 1 };
      const findings = kernel.evaluate(at, { lowered: true }).findings.map(({ code }) => code);
      expect({ FLAG, findings }).toEqual({ FLAG, findings: [] });
    }
  });
});

test("a literal mask stands beside a view's own", async () => {
  const masked = kernel(
    "masked",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ x, y, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(at), tl.load(x.at(at), { mask: true, other: 3 }));
    },
  );
  expect((await build(masked)).python).toContain("tl.load(x_ptr + at * stride_xn, mask=mask & True, other=3.0)");
});
