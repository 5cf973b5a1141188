/** Mistakes of operators. `softmax` is the kernel that stands after the setting. */
import { type Chapter, mistake } from "./mistake.js";

const tensors =
  'x: tensor(tl.float16, ["M", "N"]), scales: tensor(tl.float32, ["M"]), y: tensor.out(tl.float16, ["M", "N"])';
/** An operator with these functions. */
const made = (forward: string, backward = "", spec = "") =>
  `op("scaled", { params: { ${tensors} }${spec} }, ${forward}${backward && `, ${backward}`});`;

/** A kernel with an output that may be left out, in an operator. */
const asking = (call: string) =>
  `const sums = kernel("sums", { params: { x: tensor(tl.float16, ["M", "N"]), y: tensor.out(tl.float16, ["M", "N"]), rows: tensor.out(tl.float32, ["M"]).optional() }, grid: ({ M }) => [M] }, () => {});
op("scaled", { params: { ${tensors} } }, ({ x }) => { const made = ${call}; return { y: made.rows.to(tl.float16) }; });`;

const forward = "({ x, scales }) => softmax.call({ x, scales })";

export const operators: Chapter = {
  title: "Operators",
  of: "kernels",
  mistakes: [
    mistake("a kernel called without a tensor that it reads", made("({ x }) => softmax.call({ x })"), made(forward)),
    mistake(
      "a kernel called with an argument that it does not have",
      made("({ x, scales }) => softmax.call({ x, scales, bias: scales })"),
      made(forward),
    ),
    mistake(
      "a kernel called with a number for a tensor",
      made("({ x }) => softmax.call({ x, scales: 1 })"),
      made("({ x }, torch) => softmax.call({ x, scales: torch.ones([4]) })"),
    ),
    mistake(
      "a kernel called with a constexpr of its configs",
      made("({ x, scales }) => softmax.call({ x, scales, BLOCK: 32 })"),
      made("({ x, scales }) => softmax.call({ x, scales, CAUSAL: true })"),
    ),
    mistake(
      "a kernel called with a tensor for a number",
      made("({ x, scales }) => softmax.call({ x, scales, alpha: x })"),
      made("({ x, scales }) => softmax.call({ x, scales, alpha: 2 })"),
    ),
    mistake(
      "a kernel called with one of its outputs",
      made("({ x, scales }) => softmax.call({ x, scales, y: x })"),
      made("({ x, scales }) => ({ y: softmax.call({ x, scales }).y })"),
    ),
    mistake(
      "an output that may be left out, asked for with something else than true",
      asking("sums.call({ x, rows: x })"),
      asking("sums.call({ x, rows: true })"),
    ),
    mistake("an output that nobody asked for", asking("sums.call({ x })"), asking("sums.call({ x, rows: true })")),
    mistake(
      "a kernel called with a size that its tensors have",
      made("({ x, scales }) => softmax.call({ x, scales, N: 64 })"),
      made(forward),
    ),
    mistake(
      "an output that a called kernel does not have",
      made("({ x, scales }) => ({ y: softmax.call({ x, scales }).z })"),
      made("({ x, scales }) => ({ y: softmax.call({ x, scales }).y })"),
    ),
    mistake(
      "an input that the operator does not have",
      made("({ q, scales }) => softmax.call({ x: q, scales })"),
      made(forward),
    ),
    mistake(
      "an operator that does not return what it declares",
      made("({ x, scales }) => ({ z: softmax.call({ x, scales }).y })"),
      made("({ x, scales }) => ({ y: softmax.call({ x, scales }).y })"),
    ),
    mistake("an operator that returns a number", made("({ M }) => ({ y: M })"), made("({ x }) => ({ y: x.mul(2) })")),
    mistake("an operator with a grid", made(forward, "", ", grid: () => [1]"), made(forward)),
    mistake(
      "a gradient of what is no input",
      made(forward, "(_, { y: dy }) => ({ z: dy })"),
      made(forward, "(_, { y: dy }) => ({ x: dy.clone() })"),
    ),
    mistake(
      "a gradient of an output",
      made(forward, "(_, { y: dy }) => ({ y: dy })"),
      made(forward, "(_, { y: dy }) => ({ scales: dy.sum(1) })"),
    ),
    mistake(
      "a gradient that is a number",
      made(forward, "({ M }) => ({ x: M })"),
      made(forward, "({ x, M }) => ({ x: x.mul(M) })"),
    ),
    mistake(
      "a gradient that looks at what nothing returned",
      made(forward, "({ rstd }, { y: dy }) => ({ x: dy.mul(rstd) })"),
      made(
        "({ x, scales }) => ({ ...softmax.call({ x, scales }), rstd: x.float().sum(1) })",
        "({ rstd }, { y: dy }) => ({ x: dy.mul(rstd) })",
      ),
    ),
    mistake(
      "the gradient of an output that there is not",
      made(forward, "(_, { z: dz }) => ({ x: dz })"),
      made(forward, "(_, { y: dy }) => ({ x: dy.clone() })"),
    ),
  ],
};
