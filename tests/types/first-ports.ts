/** What came up where authors who know Triton ported kernels for the first time, and what the build says. */
import { type First, line } from "./first-contact.js";

const traced = "is JavaScript's and cannot compute with a traced value";

/** Lines that the build refuses; the editor has words for few of them. */
export const portedLines: readonly First[] = [
  // Addresses
  line("tl.load(a + rm * K + rk);", "", `\`*\` ${traced}; write rm.mul(K)`),
  line(
    "tl.load(a + rm + rk);",
    "",
    `\`+\` ${traced}; write a.at(…) for a tensor, with one index for each axis, or a.add(rm).add(rk) for a pointer`,
  ),
  line(
    "a[rm, rk];",
    "",
    "`[…]` is JavaScript's and takes no traced value; write tl.load(a.at(rm, rk)) to read, tl.store(a.at(rm, rk), value) to write",
  ),
  line("a.at([rm, rk]);", "", "at: [M, K] needs one index an axis, 1 given; write x.at(i, j), an index for each"),
  // Operators of several
  line("(f - acc.value) * 2;", "", `\`-\` ${traced}; write f.sub(acc.value)`),
  line("inside & (rm < M);", "", `\`&\` ${traced}; write inside.and(rm.lt(M))`),
  line("f ** 2;", "", `\`**\` ${traced}; write f.mul(f)`),
  line("f ** -0.5;", "", `\`**\` ${traced}; write tl.rsqrt(f)`),
  line("f ** scale;", "", `\`**\` ${traced}; write libdevice.pow(f, scale)`),
  line("Math.sqrt(f);", "", `\`Math.sqrt\` ${traced}; write tl.sqrt(f)`),
  line("Math.max(f, acc.value);", "", `\`Math.max\` ${traced}; write tl.maximum(f, acc.value)`),
  line("Math.tanh(f);", "", `\`Math.tanh\` ${traced}; write libdevice.tanh(f)`),
  // Names
  line("tl.arange(0, N);", "", "N is not defined here; take it in the function's first argument, ({ N, … }) => …"),
  line(
    "tl.rand(seed, rm);",
    "",
    "seed is not defined here; make it with const, import it, or declare it among the params and take it, ({ seed, … }) => …",
  ),
  line("descriptor(tl.float32);", "", 'descriptor is not defined here; write import { descriptor } from "tilescript"'),
  line("tl.full([BLOCK_M], -inf, tl.float32);", "", "inf: Python's name, not JavaScript's; write Infinity"),
  line(
    "f.mul(float(M));",
    "",
    "float: Python's name, not JavaScript's; write Infinity, -Infinity or the number itself; of a value, x.to(tl.float32)",
  ),
  line(
    "tl.sum(f, dim = 1);",
    "",
    "dim: Python's name, not JavaScript's; write the axis at its place, x.sum(1), or by name in an object at the end, x.sum({ dim: 1 })",
  ),
  line("tl.float32(rm);", "", "float32: a dtype is not a function; write x.to(tl.float32)"),
  line("f.sort();", "", "sort: this tile has none; write tl.sort(x)"),
  line(
    "tl.associativeScan([rm, rm], 0, (a, b, c, d) => [a.add(c), b.add(d)]);",
    "",
    "associativeScan: the function takes two lists, one for each side; write ([a0, a1], [b0, b1]) => […]",
  ),
  // State
  line(
    "tl.mut(0).value = rm;",
    "",
    "value: the variable holds a scalar int32, the new value is [BLOCK_M] of int32; begin it so, tl.mut(tl.zeros([BLOCK_M], tl.int32))",
  ),
];

const params = `params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1]`;
const copied = `({ x, y }: any) => tl.store(y.at(tl.arange(0, 8)), tl.load(x.at(tl.arange(0, 8))))`;
const referring = (reference: string): string => `kernel("one", { ${params}, reference: ${reference} }, ${copied})`;

/** Specs, and what the build says. */
export const portedKernels: readonly (readonly [code: string, says: string])[] = [
  [
    referring("({ x }: any, torch: any) => x.to(torch.half)"),
    "reference: torch.half is not a value here; write tl.float16",
  ],
  [
    referring("(x: any, torch: any) => torch.cumsum(x, 0)"),
    "reference: the function's first argument has all inputs; take those that you need by name, ({ x }, torch) => …",
  ],
  [
    referring("({ X }: any) => X.mul(2)"),
    "reference: there is no input X; there are x, N, to take by name, ({ x }, torch) => …",
  ],
  [referring("({ x }: any) => ({ z: x })"), "reference: gives z, which is not an output; the outputs are y"],
  [
    'kernel("one", { params: { eps: 1e-5 as any }, grid: () => [1] }, () => {})',
    "one: eps is a number, not a param; write eps: constexpr.float() among the params and config: { eps: 0.00001 }",
  ],
  [
    'kernel("one", { params: { x: tensor.optional(tl.float32, ["N"]) }, grid: () => [1] } as any, () => {})',
    "optional: tensor has none; write .optional() behind it, tensor(…).optional()",
  ],
  [
    '[tl.dtype("T", "float16", "bfloat16")]',
    'dtype: the second argument lists dtypes; write tl.dtype("T", [tl.float16, tl.float32])',
  ],
];
