/** Convolutions, pooling, and table lookups. */
import { sizeOf } from "../numerics/array.js";
import { torchArray, type TorchArray, type Args, type TorchValue } from "./array.js";
import { TorchError } from "./errors.js";
import { checkIndexBounds } from "./indexing.js";
import { array, number, numbers, checkNotEmpty } from "./call.js";
import { functional } from "./record.js";
import type { TorchNumber, TorchTensor } from "./values.js";

/** One number for all axes, or one per axis. */
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
  /** The maxima, and the index of each in its volume. */
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
  const perAxis = (value: TorchValue, fallback: number): number[] => {
    const values = numbers(value);
    return Array.from({ length: axes }, (_, axis) => values[axis] ?? values[0] ?? fallback);
  };
  const [strides, paddings, dilations] = [perAxis(stride, 1), perAxis(padding, 0), perAxis(dilation, 1)];
  const [batch, channels] = x.shape as [number, number];
  const [outputChannels, perGroup] = w.shape as [number, number];
  const inputSizes = x.shape.slice(2);
  const taps = w.shape.slice(2);
  const sizes = inputSizes.map(
    (size, axis) =>
      Math.floor((size + 2 * paddings[axis]! - dilations[axis]! * (taps[axis]! - 1) - 1) / strides[axis]!) + 1,
  );
  const groupCount = number(groups, 1);
  if (outputChannels === 0 || channels !== perGroup * groupCount || outputChannels % groupCount !== 0)
    throw new TorchError(
      `${channels} channels and ${outputChannels} outputs in ${groupCount} groups do not fit a weight of [${w.shape.join(", ")}]`,
    );
  const outputsPerGroup = outputChannels / groupCount;
  const biasData = bias === undefined || bias === null ? undefined : array(bias).data;
  const [positionCount, tapCount] = [sizeOf(sizes), sizeOf(taps)];
  const out = new Float64Array(batch * outputChannels * positionCount);
  for (let i = 0; i < out.length; i++) {
    const position = unravel(i % positionCount, sizes);
    const output = Math.trunc(i / positionCount) % outputChannels;
    const n = Math.trunc(i / (positionCount * outputChannels));
    const firstChannel = Math.trunc(output / outputsPerGroup) * perGroup;
    let sum = biasData?.[output] ?? 0;
    for (let tap = 0; tap < tapCount; tap++) {
      const offset = unravel(tap, taps);
      const source = position.map((p, axis) => p * strides[axis]! + offset[axis]! * dilations[axis]! - paddings[axis]!);
      if (source.some((s, axis) => s < 0 || s >= inputSizes[axis]!)) continue;
      const flat = source.reduce((flatIndex, s, axis) => flatIndex * inputSizes[axis]! + s, 0);
      for (let c = 0; c < perGroup; c++)
        sum +=
          x.data[(n * channels + firstChannel + c) * sizeOf(inputSizes) + flat]! *
          w.data[(output * perGroup + c) * tapCount + tap]!;
    }
    out[i] = sum;
  }
  return torchArray([batch, outputChannels, ...sizes], out);
}

function unravel(flat: number, sizes: readonly number[]): number[] {
  const index = sizes.map(() => 0);
  let remainder = flat;
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    index[axis] = remainder % sizes[axis]!;
    remainder = Math.trunc(remainder / sizes[axis]!);
  }
  return index;
}

/**
 * The maximum of each cube with edge length `kernel` in the last three axes, and its index in them. Of equal elements
 * the first wins; NaN counts as the maximum. Padding never counts.
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
    const first = [Math.trunc(i / (OH * OW)) % OD, Math.trunc(i / OW) % OH, i % OW].map(
      (index) => index * stride - padding,
    );
    let [best, bestIndex] = [-Infinity, -1];
    for (const d of validIndices(first[0]!, kernel, D))
      for (const h of validIndices(first[1]!, kernel, H))
        for (const w of validIndices(first[2]!, kernel, W)) {
          const index = (d * H + h) * W + w;
          const value = x.data[volume + index]!;
          if (value > best || Number.isNaN(value) || bestIndex < 0) [best, bestIndex] = [value, index];
        }
    [maxima[i], indices[i]] = [best, bestIndex];
  }
  return [torchArray(shape, maxima), torchArray(shape, indices)];
}

/** `first, first + 1, …`, without the indices outside the axis. */
function validIndices(first: number, length: number, size: number): readonly number[] {
  return Array.from({ length }, (_, i) => first + i).filter((index) => index >= 0 && index < size);
}

export const convolutions = {
  conv1d: functional<Convolution>({ params: CONVOLUTION, run: convolution }),
  conv2d: functional<Convolution>({ params: CONVOLUTION, run: convolution }),
  max_pool3d: functional<MaxPool>({
    required: ["kernel_size"],
    params: ["input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"],
    run: ({ input, kernel_size: kernel, stride, padding, return_indices: shouldReturnIndices }) => {
      const pooled = maxPool3d(array(input), Number(kernel), number(stride, Number(kernel)), number(padding, 0));
      return shouldReturnIndices === true ? pooled : pooled[0];
    },
  }),
  /** Looks up rows of a table. */
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
  /**
   * One row per label, with 1 at the label and 0 elsewhere. The default number of classes is the largest label plus 1.
   */
  one_hot: functional<(input: TorchTensor, num_classes?: TorchNumber) => TorchTensor>({
    params: ["input", "num_classes"],
    run: ({ input, num_classes: classes }) => {
      const { shape, data } = array(input);
      if (classes === undefined) checkNotEmpty(array(input), []);
      const width = number(
        classes,
        data.reduce((max, label) => Math.max(max, label + 1), 0),
      );
      const out = new Float64Array(data.length * width);
      data.forEach((label, i) => (out[i * width + checkIndexBounds(label, width)] = 1));
      return torchArray([...shape, width], out);
    },
  }),
};
