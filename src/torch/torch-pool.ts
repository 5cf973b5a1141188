/** Pooling in references. */
import { torchArray, type TorchArray } from "./torch-array.js";

/**
 * The maximum of each cube of `kernel` elements a side in the last three axes, and its place in them; the first of equal
 * ones, and NaN where there is one. What lies in the padding counts as nothing.
 */
export function maxPool3d(x: TorchArray, kernel: number, stride: number, padding: number): [TorchArray, TorchArray] {
  const outer = x.shape.slice(0, -3);
  const [D, H, W] = x.shape.slice(-3) as [number, number, number];
  const windows = (size: number): number => Math.floor((size + 2 * padding - kernel) / stride) + 1;
  const [OD, OH, OW] = [windows(D), windows(H), windows(W)];
  const shape = [...outer, OD, OH, OW];
  const count = shape.reduce((product, size) => product * size, 1);
  const [maxima, indices] = [new Float64Array(count), new Float64Array(count)];
  for (let i = 0; i < count; i++) {
    const volume = Math.trunc(i / (OD * OH * OW)) * D * H * W;
    const first = [Math.trunc(i / (OH * OW)) % OD, Math.trunc(i / OW) % OH, i % OW].map((at) => at * stride - padding);
    let [best, place] = [-Infinity, -1];
    for (const d of within(first[0]!, kernel, D))
      for (const h of within(first[1]!, kernel, H))
        for (const w of within(first[2]!, kernel, W)) {
          const at = (d * H + h) * W + w;
          const value = x.data[volume + at]!;
          if (value > best || Number.isNaN(value) || place < 0) [best, place] = [value, at];
        }
    [maxima[i], indices[i]] = [best, place];
  }
  return [torchArray(shape, maxima), torchArray(shape, indices)];
}

/** `first, first + 1, …` as far as they lie in an axis. */
function within(first: number, length: number, size: number): readonly number[] {
  return Array.from({ length }, (_, i) => first + i).filter((at) => at >= 0 && at < size);
}
