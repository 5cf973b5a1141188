/** Convolutions, pooling, and table lookups. */
import { sizeOf } from "../numerics/array.js";
import { sizeAt, torchArray, type TorchArray, type Args, type TorchValue, TorchError } from "./array.js";
import { checkIndexBounds } from "./indexing.js";
import { functional, type TorchFunction, array, number, numbers, checkNotEmpty } from "./record.js";
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

const CONVOLUTION: TorchFunction["params"] = ["input", "weight", "bias", "stride", "padding", "dilation", "groups"];

/** `[N, C, …]` with `[O, C / groups, …]`, over one or two axes. */
function convolution({ input, weight, bias, stride, padding, dilation, groups }: Args): TorchArray {
  const [x, w] = [array(input), array(weight)];
  const perAxis = (value: TorchValue, axis: number, fallback: number): number =>
    numbers(value)[axis] ?? numbers(value)[0] ?? fallback;
  const axes = x.shape
    .slice(2)
    .map((size, axis) =>
      convolvedAxis(
        size,
        sizeAt(w, axis + 2),
        perAxis(stride, axis, 1),
        perAxis(padding, axis, 0),
        perAxis(dilation, axis, 1),
      ),
    );
  const [batch, channels] = x.shape as [number, number];
  const [outputChannels, perGroup] = w.shape as [number, number];
  const sizes = axes.map(({ positions }) => positions);
  const groupCount = number(groups, 1);
  if (outputChannels === 0 || channels !== perGroup * groupCount || outputChannels % groupCount !== 0)
    throw new TorchError(
      `${channels} channels and ${outputChannels} outputs in ${groupCount} groups do not fit a weight of [${w.shape.join(", ")}]`,
    );
  const outputsPerGroup = outputChannels / groupCount;
  const biasData = bias === undefined || bias === null ? undefined : array(bias).data;
  const [inputCount, positionCount, tapCount] = [sizeOf(x.shape.slice(2)), sizeOf(sizes), sizeOf(w.shape.slice(2))];
  const out = new Float64Array(batch * outputChannels * positionCount);
  for (let i = 0; i < out.length; i++) {
    const output = Math.trunc(i / positionCount) % outputChannels;
    const n = Math.trunc(i / (positionCount * outputChannels));
    const firstChannel = Math.trunc(output / outputsPerGroup) * perGroup;
    let sum = biasData?.[output] ?? 0;
    for (let tap = 0; tap < tapCount; tap++) {
      const source = sourceIndex(axes, i % positionCount, tap);
      if (source === undefined) continue;
      for (let c = 0; c < perGroup; c++)
        sum +=
          x.data[(n * channels + firstChannel + c) * inputCount + source]! *
          w.data[(output * perGroup + c) * tapCount + tap]!;
    }
    out[i] = sum;
  }
  return torchArray([batch, outputChannels, ...sizes], out);
}

interface ConvolvedAxis {
  /** Number of elements of the input. */
  readonly size: number;
  /** Number of elements of the weight. */
  readonly taps: number;
  /** Number of elements of the output. */
  readonly positions: number;
  readonly stride: number;
  readonly padding: number;
  readonly dilation: number;
}

function convolvedAxis(size: number, taps: number, stride: number, padding: number, dilation: number): ConvolvedAxis {
  const positions = Math.floor((size + 2 * padding - dilation * (taps - 1) - 1) / stride) + 1;
  return { size, taps, positions, stride, padding, dilation };
}

/**
 * Index of the input's element that is multiplied by a tap of the weight at a position of the output, all in row-major
 * order. Undefined in the padding.
 */
function sourceIndex(axes: readonly ConvolvedAxis[], position: number, tap: number): number | undefined {
  let [index, inner, outerPosition, outerTap] = [0, 1, position, tap];
  for (const axis of axes.toReversed()) {
    const source =
      (outerPosition % axis.positions) * axis.stride + (outerTap % axis.taps) * axis.dilation - axis.padding;
    if (source < 0 || source >= axis.size) return undefined;
    index += source * inner;
    inner *= axis.size;
    outerPosition = Math.trunc(outerPosition / axis.positions);
    outerTap = Math.trunc(outerTap / axis.taps);
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
  const count = sizeOf(shape);
  const [maxima, indices] = [new Float64Array(count), new Float64Array(count)];
  for (let i = 0; i < count; i++) {
    const volume = Math.trunc(i / (OD * OH * OW)) * D * H * W;
    const window = (position: number, size: number) => validIndices(position * stride - padding, kernel, size);
    let [best, bestIndex] = [-Infinity, -1];
    for (const d of window(Math.trunc(i / (OH * OW)) % OD, D))
      for (const h of window(Math.trunc(i / OW) % OH, H))
        for (const w of window(i % OW, W)) {
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
      const [rows, width] = [sizeAt(table, 0), sizeAt(table, 1)];
      const data = new Float64Array(index.data.length * width);
      index.data.forEach((row, i) => {
        checkIndexBounds(row, rows);
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
