/** What stands in a spec on the first try, each with its one error in the editor and what the build says. */
import { type Chapter, mistake } from "./mistake.js";
import { type First, line } from "./first-contact.js";

const one = (params: string, spec: string, body: string): string =>
  `kernel("one", { params: { ${params} }, ${spec} }, ${body})`;
const first = (wrong: string, right: string, says: string): First => line(wrong, right, says);

const x = 'x: tensor.out(tl.float32, ["N"])';
const byN = "grid: ({ N }) => [N]";
const byBlock = "grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)]";
const storing = "({ x, N, BLOCK }) => tl.store(x.at(tl.arange(0, BLOCK)), N.to(tl.float32))";
const copying = "({ x, y }) => tl.store(y.at(0), tl.load(x.at(0)))";
const sized = (dims: string, rest = ""): string =>
  one(`x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ${dims})`, `grid: () => [1]${rest}`, copying);
const aDim =
  'is not a dim; write a name, such as "SIZE", and compute it in the spec, dims: { SIZE: ({ N }) => N.mul(2) }';

export const firstSpecs: readonly First[] = [
  // Params that no builder made: the sizes and the other params keep their types.
  first(
    one(`${x}, eps: 1e-5`, byN, "({ x, N, eps }) => tl.store(x.at(0), N.to(tl.float32).add(eps))"),
    one(
      `${x}, eps: constexpr.float()`,
      `${byN}, config: { eps: 1e-5 }`,
      "({ x, N, eps }) => tl.store(x.at(0), N.to(tl.float32).add(eps))",
    ),
    "one: eps is a number, not a param; write eps: constexpr.float() among the params and config: { eps: 0.00001 }",
  ),
  first(
    one(`${x}, BLOCK: 128`, byBlock, storing),
    one(`${x}, BLOCK: constexpr()`, `${byBlock}, config: { BLOCK: 128 }`, storing),
    "one: BLOCK is a number, not a param; write BLOCK: constexpr() among the params and config: { BLOCK: 128 }",
  ),
  first(
    one(`${x}, BLOCK: constexpr`, `${byBlock}, config: { BLOCK: 128 }`, storing),
    one(`${x}, BLOCK: constexpr()`, `${byBlock}, config: { BLOCK: 128 }`, storing),
    'one: BLOCK is a function that makes params; call it, as in constexpr() or tensor(tl.float32, ["N"])',
  ),
  first(
    one(`${x}, w: tl.float32`, byN, "({ x, w }) => tl.store(x.at(0), w)"),
    one(`${x}, w: scalar(tl.float32)`, byN, "({ x, w }) => tl.store(x.at(0), w)"),
    'one: w is a dtype, not a param; write w: tensor(tl.float32, ["N"]), or scalar(tl.float32)',
  ),
  first(
    one(`${x}, w: Number`, byN, "({ x, w }) => tl.store(x.at(0), w)"),
    one(`${x}, w: scalar(tl.float32)`, byN, "({ x, w }) => tl.store(x.at(0), w)"),
    "one: w is JavaScript's Number, not a param; write w: scalar(tl.float32) for a number of the call, or constexpr() for one of the config",
  ),
  // Dims
  first(
    sized('["2 * N"]', ", shapes: [{ N: 8 }]"),
    sized('["SIZE"]', ", dims: { SIZE: ({ N }) => N.mul(2) }, shapes: [{ N: 8 }]"),
    `tensor: "2 * N" ${aDim}`,
  ),
  first(
    sized('["2K"]', ", shapes: [{ N: 8 }]"),
    sized('["SIZE"]', ", dims: { SIZE: ({ N }) => N.mul(2) }, shapes: [{ N: 8 }]"),
    `tensor: "2K" ${aDim}`,
  ),
  first(
    one("x: tensor.out(tl.float32, [0])", "grid: () => [1]", "() => {}"),
    one("x: tensor.out(tl.float32, [1])", "grid: () => [1]", "() => {}"),
    'tensor: 0 is not a dim; write a name such as "M", or a positive number',
  ),
  first(
    one(`x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [])`, "grid: () => [1]", "() => {}"),
    sized("[1]"),
    'tensor: it has no dims; list one or more, such as ["N"], or [1] for a single element; a number that callers pass is scalar(dtype)',
  ),
  first(
    one('x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, "N")', "grid: () => [1]", "() => {}"),
    sized('["N"]'),
    'tensor: "N" is text, and the dims are a list; write ["N"]',
  ),
  first(
    one(`${x}, BLOCK: constexpr(128)`, byBlock, storing),
    one(`${x}, BLOCK: constexpr()`, `${byBlock}, config: { BLOCK: 128 }`, storing),
    "constexpr: takes nothing, got 128; write constexpr(), and the value in config: { BLOCK: 64 }",
  ),
];

/** The same for the editor. */
export const specs: Chapter = {
  title: "What stands in a spec on the first try",
  of: "kernels",
  mistakes: firstSpecs.map(({ wrong, right }) => mistake(wrong, `${wrong};`, `${right};`)),
};

/** Lines of a kernel's body that are one error in the editor, though more is done with what they give. */
export const followedLines: readonly First[] = [
  first(
    "const cast = f.float(); cast.mul(2).sum(1).add(1);",
    "const cast = f.to(tl.float32); cast.mul(2).sum(1).add(1);",
    "float: this tile has none; write x.to(tl.float32)",
  ),
  first(
    "tl.sqrt(acc.div(2).sub(1).mul(f));",
    "tl.sqrt(acc.value.div(2).sub(1).mul(f));",
    "div: this is state; read it with .value, as in acc.value.div",
  ),
  first(
    "tl.store(p, total.at(0, 0).mul(2).add(1));",
    "tl.store(p, tl.load(total.at(0, 0)).mul(2).add(1));",
    "mul: this is an address; load it first, tl.load(…)",
  ),
  first(
    "const sum = tl.mut(0); sum.value = sum.value.add(tl.sum(f));",
    "const sum = tl.mut(tl.full([], 0, tl.float32)); sum.value = sum.value.add(tl.sum(f));",
    "value: the variable holds int32, the new value is float32; begin it so, tl.mut(tl.full([], 0, tl.float32)), or cast with .to(tl.int32)",
  ),
  first(
    "const most = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.int32)); most.value = f;",
    "const most = tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32)); most.value = f;",
    "value: the variable holds int32, the new value is float32; begin it so, tl.mut(tl.zeros([BLOCK_M, BLOCK_N], tl.float32)), or cast with .to(tl.int32)",
  ),
  first(
    "tl.when(CAUSAL, () => tl.store(p, 0), () => tl.store(p, 1));",
    "tl.when(CAUSAL, () => tl.store(p, 0)).otherwise(() => tl.store(p, 1));",
    "when: takes 2 arguments by position, got 3; write tl.when(condition, () => { … }).otherwise(() => { … })",
  ),
  first(
    "const eighth = f.to(tl.float8_e4m3fn); eighth;",
    "const eighth = f.to(tl.float8e4nv); eighth;",
    "float8_e4m3fn: tl has none; write tl.float8e4nv",
  ),
];

/** Lines about which the checker says several things, and the build one for each mistake. */
export const followedLinesOfTheBuild: readonly First[] = [
  first(
    "const i = rm + 1; tl.load(ids.at(i));",
    "",
    "`+` is JavaScript's and cannot compute with a traced value; write rm.add(1)",
  ),
];

const referring = (reference: string): string =>
  `kernel("one", { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1], reference: ${reference} }, ({ x, y }: any) => tl.store(y.at(tl.arange(0, 8)), tl.load(x.at(tl.arange(0, 8)))))`;

/** JavaScript's operators in references, each at its line. */
export const operatorReferences: readonly (readonly [code: string, says: string, line?: number])[] = [
  [
    referring("({ x }: any) => {\n  const twice = x * 2;\n  return twice;\n}"),
    "reference: JavaScript's operators cannot compute with a torch value; write its methods, x.mul(y) for x * y, x.matmul(y) for x @ y, x.gt(y) for x > y",
    4,
  ],
  [
    referring("({ x, N }: any) =>\n  x.mul(N / 2)"),
    "reference: JavaScript's operators cannot compute with a recorded number; write its methods, N.mul(2) for N * 2, N.floorDiv(2) for N // 2",
    4,
  ],
  [
    referring("({ x }: any) =>\n  x[x]"),
    "reference: `[…]` is JavaScript's and takes no torch value; write x.index_select(0, index) for x[index], or torch.gather(x, 1, index) for one of each row",
    4,
  ],
];
