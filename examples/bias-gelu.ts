/**
 * GELU(x + bias), for a product that was computed elsewhere, with its gradients: one pass over memory each way. Where the
 * product is your own kernel too, `linear-gelu.ts` applies both before the block is stored.
 */
import { type Constexpr, constexpr, kernel, main, op, type Scalar, tensor, tl } from "tilescript";
import { phi } from "./gelu-dropout.js";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const rows = tensor(T, ["M", "N"]);
const newRows = tensor.out(T, ["M", "N"]);
const bias = tensor(T, ["N"]);

const configs = [
  { BLOCK_N: 512, numWarps: 2 },
  { BLOCK_N: 1024, numWarps: 4 },
  { BLOCK_N: 2048, numWarps: 8 },
] as const;

/** The row and the columns of this program. Programs that start together take blocks of one row, side by side. */
function place(N: Scalar<"int32">, BLOCK_N: Constexpr<"BLOCK_N">) {
  const blocks = tl.cdiv(N, BLOCK_N);
  const row = tl.inBounds(tl.programId(0).floorDiv(blocks));
  const cols = tl.programId(0).mod(blocks).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
  return { row, cols };
}

const biasGeluForward = kernel(
  "bias_gelu_forward",
  {
    doc: "y = gelu(x + bias), computed in float32.",
    params: { x: rows, bias, y: newRows, BLOCK_N: constexpr() },
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    autotune: { key: ["M", "N"], configs },
    shapes: [{ M: 8192, N: 11008 }],
  },
  ({ x, bias, y, N, BLOCK_N }) => {
    const { row, cols } = place(N, BLOCK_N);
    const shift = tl.load(bias.at(cols)).to(tl.float32);
    const s = tl.load(x.at(row, cols)).to(tl.float32).add(shift);
    tl.store(y.at(row, cols), s.mul(phi(s)).to(T));
  },
);

const biasGeluGradient = kernel(
  "bias_gelu_gradient",
  {
    doc: "The gradient of x + bias; the sum is computed again rather than stored.",
    params: { dy: rows, x: rows, bias, dx: newRows, BLOCK_N: constexpr() },
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    autotune: { key: ["M", "N"], configs },
    shapes: [{ M: 8192, N: 11008 }],
  },
  ({ dy, x, bias, dx, N, BLOCK_N }) => {
    const { row, cols } = place(N, BLOCK_N);
    const shift = tl.load(bias.at(cols)).to(tl.float32);
    const s = tl.load(x.at(row, cols)).to(tl.float32).add(shift);
    // The slope of s · Φ(s): Φ(s) + s · exp(-s² / 2) / √(2π).
    const density = tl.exp(s.mul(s).mul(-0.5)).mul(1 / Math.sqrt(2 * Math.PI));
    const slope = phi(s).add(s.mul(density));
    const gradient = tl.load(dy.at(row, cols)).to(tl.float32);
    tl.store(dx.at(row, cols), gradient.mul(slope).to(T));
  },
);

export const biasGelu = op(
  "bias_gelu",
  {
    doc: "gelu(x + bias), with its gradients.",
    params: { x: rows, bias, y: newRows },
    reference: ({ x, bias }, torch) => torch.nn.functional.gelu(x.add(bias)),
    shapes: [
      { M: 128, N: 1000 },
      { M: 8192, N: 11008 },
    ],
  },
  ({ x, bias }) => biasGeluForward.call({ x, bias }),
  ({ x, bias }, { y: dy }) => {
    const { dx } = biasGeluGradient.call({ dy, x, bias });
    // Left out where the bias needs no gradient.
    return { x: dx, bias: dx.sum(0, { dtype: tl.float32 }).to(T) };
  },
);

main(import.meta, biasGelu);
