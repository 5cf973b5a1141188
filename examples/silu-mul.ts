/**
 * SiLU(gate) · up, the activation of gated MLPs, with its gradients: one pass over memory each way.
 *
 * Programs that start together take blocks of one row, side by side in memory: with rows on the grid's first axis they
 * would lie a row apart, and the GPU would move 4 % less each second.
 */
import { type Constexpr, constexpr, kernel, main, op, type Scalar, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** Rows may lie apart: gate and up are often the two halves of one matrix. */
const rows = tensor(T, ["M", "N"]);
const newRows = tensor.out(T, ["M", "N"]);

/** The row and the columns of this program. */
function place(N: Scalar<"int32">, BLOCK_N: Constexpr<"BLOCK_N">) {
  const blocks = tl.cdiv(N, BLOCK_N);
  const row = tl.inBounds(tl.programId(0).floorDiv(blocks));
  const cols = tl.programId(0).mod(blocks).mul(BLOCK_N).add(tl.arange(0, BLOCK_N));
  return { row, cols };
}

const siluMulForward = kernel(
  "silu_mul_forward",
  {
    doc: "y = gate * sigmoid(gate) * up, computed in float32.",
    params: { gate: rows, up: rows, y: newRows, BLOCK_N: constexpr() },
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N"],
      configs: [
        { BLOCK_N: 512, numWarps: 2 },
        { BLOCK_N: 1024, numWarps: 4 },
        { BLOCK_N: 1024, numWarps: 8 },
        { BLOCK_N: 2048, numWarps: 8 },
      ],
    },
    shapes: [{ M: 8192, N: 11008 }],
  },
  ({ gate, up, y, N, BLOCK_N }) => {
    const { row, cols } = place(N, BLOCK_N);
    const x = tl.load(gate.at(row, cols)).to(tl.float32);
    const scale = tl.load(up.at(row, cols)).to(tl.float32);
    tl.store(y.at(row, cols), x.mul(tl.sigmoid(x)).mul(scale).to(T));
  },
);

const siluMulGradients = kernel(
  "silu_mul_gradients",
  {
    doc: "The gradients of gate and up; sigmoid(gate) is computed again rather than stored.",
    params: { dy: rows, gate: rows, up: rows, dgate: newRows, dup: newRows, BLOCK_N: constexpr() },
    grid: ({ M, N, BLOCK_N }) => [M.mul(tl.cdiv(N, BLOCK_N))],
    autotune: {
      key: ["M", "N"],
      configs: [
        { BLOCK_N: 512, numWarps: 2 },
        { BLOCK_N: 1024, numWarps: 4 },
        { BLOCK_N: 1024, numWarps: 8 },
        { BLOCK_N: 2048, numWarps: 8 },
      ],
    },
    shapes: [{ M: 8192, N: 11008 }],
  },
  ({ dy, gate, up, dgate, dup, N, BLOCK_N }) => {
    const { row, cols } = place(N, BLOCK_N);
    const gradient = tl.load(dy.at(row, cols)).to(tl.float32);
    const x = tl.load(gate.at(row, cols)).to(tl.float32);
    const scale = tl.load(up.at(row, cols)).to(tl.float32);
    const sigmoid = tl.sigmoid(x);
    const silu = x.mul(sigmoid);
    // d silu / dx = sigmoid + x · sigmoid · (1 - sigmoid)
    const slope = sigmoid.add(silu.mul(tl.sub(1, sigmoid)));
    tl.store(dgate.at(row, cols), gradient.mul(scale).mul(slope).to(T));
    tl.store(dup.at(row, cols), gradient.mul(silu).to(T));
  },
);

export const siluMul = op(
  "silu_mul",
  {
    doc: "silu(gate) * up, with its gradients.",
    params: { gate: rows, up: rows, y: newRows },
    reference: ({ gate, up }, torch) => torch.nn.functional.silu(gate).mul(up),
    shapes: [
      { M: 128, N: 1000 },
      { M: 8192, N: 11008 },
    ],
  },
  ({ gate, up }) => siluMulForward.call({ gate, up }),
  ({ gate, up }, { y: dy }) => {
    const { dgate, dup } = siluMulGradients.call({ dy, gate, up });
    return { gate: dgate, up: dup };
  },
);

main(import.meta, siluMul);
