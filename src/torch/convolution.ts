/** Convolutions, pooling, and tables that are looked up. */
import { sizeOf } from "../numerics/array.js";
import { torchArray, type TorchArray } from "./array.js";
import { TorchError } from "./errors.js";
import { checkIndexBounds } from "./indexing.js";
import { type Args, array, number, numbers, ofSome, type TorchValue } from "./call.js";
import { functional } from "./record.js";
import type { TorchNumber, TorchTensor } from "./values.js";

/** One number for all axes, or one for each. */
type EachAxis = TorchNumber | readonly TorchNumber[];

interface ConvolutionKeywords {
  bias?: TorchTensor;
  stride?: EachAxis;
  padding?: EachAxis;
  dilation?: EachAxis;
  groups?: TorchNumber;
}
type Convolution = (input: TorchTensor, weight: TorchTensor, keywords?: ConvolutionKeywords) => TorchTensor;

interface MaxPool {
  (
    input: TorchTensor,
    kernel_size: TorchNumber,
    stride?: TorchNumber,
    padding?: TorchNumber,
    keywords?: { return_indices?: false },
  ): TorchTensor;
  /** The maxima, and the place of each in its volume. */
  (
    input: TorchTensor,
    kernel_size: TorchNumber,
    stride: TorchNumber | undefined,
    padding: TorchNumber | undefined,
    keywords: { return_indices: true },
  ): readonly [TorchTensor, TorchTensor];
}

const CONVOLUTION = ["input", "weight", "bias", "stride", "padding", "dilation", "groups"];

/** `[N, C, …]` with `[O, C / groups, …]`, over one or two axes. */
function convolution({ input, weight, bias, stride, padding, dilation, groups }: Args): TorchArray {
  const [x, w] = [array(input), array(weight)];
  const axes = x.shape.length - 2;
  const each = (value: TorchValue, otherwise: number): number[] => {
    const given = numbers(value);
    return Array.from({ length: axes }, (_, axis) => given[axis] ?? given[0] ?? otherwise);
  };
  const [steps, pads, gaps] = [each(stride, 1), each(padding, 0), each(dilation, 1)];
  const [batch, channels] = x.shape as [number, number];
  const [outputs, perGroup] = w.shape as [number, number];
  const inputSizes = x.shape.slice(2);
  const taps = w.shape.slice(2);
  const sizes = inputSizes.map(
    (size, axis) => Math.floor((size + 2 * pads[axis]! - gaps[axis]! * (taps[axis]! - 1) - 1) / steps[axis]!) + 1,
  );
  const groupCount = number(groups, 1);
  if (outputs === 0 || channels !== perGroup * groupCount || outputs % groupCount !== 0)
    throw new TorchError(
      `${channels} channels and ${outputs} outputs in ${groupCount} groups do not fit a weight of [${w.shape.join(", ")}]`,
    );
  const outputsPerGroup = outputs / groupCount;
  const added = bias === undefined || bias === null ? undefined : array(bias).data;
  const [places, tapCount] = [sizeOf(sizes), sizeOf(taps)];
  const out = new Float64Array(batch * outputs * places);
  for (let i = 0; i < out.length; i++) {
    const place = unravel(i % places, sizes);
    const output = Math.trunc(i / places) % outputs;
    const n = Math.trunc(i / (places * outputs));
    const first = Math.trunc(output / outputsPerGroup) * perGroup;
    let sum = added?.[output] ?? 0;
    for (let tap = 0; tap < tapCount; tap++) {
      const offset = unravel(tap, taps);
      const source = place.map((p, axis) => p * steps[axis]! + offset[axis]! * gaps[axis]! - pads[axis]!);
      if (source.some((s, axis) => s < 0 || s >= inputSizes[axis]!)) continue;
      const flat = source.reduce((sofar, s, axis) => sofar * inputSizes[axis]! + s, 0);
      for (let c = 0; c < perGroup; c++)
        sum +=
          x.data[(n * channels + first + c) * sizeOf(inputSizes) + flat]! *
          w.data[(output * perGroup + c) * tapCount + tap]!;
    }
    out[i] = sum;
  }
  return torchArray([batch, outputs, ...sizes], out);
}

function unravel(flat: number, sizes: readonly number[]): number[] {
  const place = sizes.map(() => 0);
  let rest = flat;
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    place[axis] = rest % sizes[axis]!;
    rest = Math.trunc(rest / sizes[axis]!);
  }
  return place;
}

/**
 * The maximum of each cube of `kernel` elements a side in the last three axes, and its place in them; the first of equal
 * ones, and NaN where there is one. Padding never counts.
 */
function maxPool3d(x: TorchArray, kernel: number, stride: number, padding: number): [TorchArray, TorchArray] {
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

export const convolutions = {
  conv1d: functional<Convolution>({ params: CONVOLUTION, run: convolution }),
  conv2d: functional<Convolution>({ params: CONVOLUTION, run: convolution }),
  max_pool3d: functional<MaxPool>({
    needs: ["kernel_size"],
    params: ["input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"],
    run: ({ input, kernel_size: kernel, stride, padding, return_indices: wantsIndices }) => {
      const pooled = maxPool3d(array(input), Number(kernel), number(stride, Number(kernel)), number(padding, 0));
      return wantsIndices === true ? pooled : pooled[0];
    },
  }),
  /** Rows of a table. */
  embedding: functional<(input: TorchTensor, weight: TorchTensor) => TorchTensor>({
    params: ["input", "weight"],
    run: ({ input, weight }) => {
      const [index, table] = [array(input), array(weight)];
      const width = table.shape[1]!;
      const data = new Float64Array(index.data.length * width);
      index.data.forEach((row, i) => {
        checkIndexBounds(row, table.shape[0]!);
        data.set(table.data.subarray(row * width, (row + 1) * width), i * width);
      });
      return torchArray([...index.shape, width], data);
    },
  }),
  /** A row of 0 with a 1 at each label; as many classes as the greatest label asks for, unless they are given. */
  one_hot: functional<(input: TorchTensor, num_classes?: TorchNumber) => TorchTensor>({
    params: ["input", "num_classes"],
    run: ({ input, num_classes: classes }) => {
      const { shape, data } = array(input);
      if (classes === undefined) ofSome(array(input), []);
      const width = number(
        classes,
        data.reduce((most, label) => Math.max(most, label + 1), 0),
      );
      const out = new Float64Array(data.length * width);
      data.forEach((label, i) => (out[i * width + checkIndexBounds(label, width)] = 1));
      return torchArray([...shape, width], out);
    },
  }),
};
