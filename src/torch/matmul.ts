/** `torch.matmul` in float64. */
import { broadcastShapes, sizeOf } from "../numerics/array.js";
import { expandTo, reshapeTo, torchArray, type TorchArray } from "./array.js";
import { TorchError } from "./errors.js";

/** As torch has it: leading axes broadcast, a vector counts as a row on the left and as a column on the right. */
export function matmul(a: TorchArray, b: TorchArray): TorchArray {
  const left = a.shape.length === 1 ? reshapeTo(a, [1, a.data.length]) : a;
  const right = b.shape.length === 1 ? reshapeTo(b, [b.data.length, 1]) : b;
  const [m, k] = left.shape.slice(-2) as [number, number];
  const [inner, n] = right.shape.slice(-2) as [number, number];
  if (k !== inner) throw new TorchError(`[${a.shape.join(", ")}] and [${b.shape.join(", ")}] do not match`);
  const batch = broadcastShapes(left.shape.slice(0, -2), right.shape.slice(0, -2));
  const x = expandTo(left, [...batch, m, k]).data;
  const y = expandTo(right, [...batch, k, n]).data;
  const out = new Float64Array(sizeOf(batch) * m * n);
  for (let i = 0; i < sizeOf(batch); i++) {
    multiply(
      x.subarray(i * m * k, (i + 1) * m * k),
      y.subarray(i * k * n, (i + 1) * k * n),
      out.subarray(i * m * n, (i + 1) * m * n),
      [m, n, k],
    );
  }
  const shape = [...batch, ...(a.shape.length === 1 ? [] : [m]), ...(b.shape.length === 1 ? [] : [n])];
  return torchArray(shape, out);
}

/** Four rows of `b` at a time, so that each sum is loaded and stored a quarter as often. */
function multiply(
  a: Float64Array,
  b: Float64Array,
  out: Float64Array,
  [m, n, k]: readonly [number, number, number],
): void {
  const whole = k - (k % 4);
  for (let row = 0; row < m; row++) {
    const start = row * n;
    for (let p = 0; p < whole; p += 4) {
      const at = row * k + p;
      const [x0, x1, x2, x3] = [a[at]!, a[at + 1]!, a[at + 2]!, a[at + 3]!];
      const [b0, b1, b2, b3] = [p * n, (p + 1) * n, (p + 2) * n, (p + 3) * n];
      for (let j = 0; j < n; j++)
        out[start + j] = out[start + j]! + x0 * b[b0 + j]! + x1 * b[b1 + j]! + x2 * b[b2 + j]! + x3 * b[b3 + j]!;
    }
    for (let p = whole; p < k; p++) {
      const x = a[row * k + p]!;
      for (let j = 0; j < n; j++) out[start + j] = out[start + j]! + x * b[p * n + j]!;
    }
  }
}
