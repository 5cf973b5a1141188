/** Matrix products: `matmul`, `einsum`, linear layers, attention. */
import { map, mapLanes, torchArray, type TorchArray, transpose, zip, expandTo, reshapeTo, type Args } from "./array.js";
import { array, arrays, isArray, number } from "./call.js";
import { largest, softmax } from "./lanes.js";
import { both, functional, inTorch, type TorchFunction } from "./record.js";
import type { TorchNumber, TorchScalar, TorchTensor } from "./values.js";
import { broadcastShapes, sizeOf, stridesOf } from "../numerics/array.js";
import { TorchError } from "./errors.js";

/** @throws TorchError if the equation does not match the operands, or has an ellipsis, which is not supported. */
/** Each letter is an axis. Axes missing from the output are summed. Operands are contracted in pairs, from the left. */
function einsum(equation: string, operands: readonly TorchArray[]): TorchArray {
  const [inputText = "", right] = equation.replace(/\s/g, "").split("->");
  const inputs = inputText.split(",");
  if (inputText.includes(".") || inputs.length !== operands.length)
    throw new TorchError(`${equation} does not fit ${operands.length} operands`);
  const sizes = new Map<string, number>();
  inputs.forEach((letters, i) => {
    const { shape } = operands[i]!;
    if (letters.length !== shape.length) throw new TorchError(`${letters} does not fit [${shape.join(", ")}]`);
    [...letters].forEach((letter, axis) => {
      const [knownSize = 1, size] = [sizes.get(letter), shape[axis]!];
      if (knownSize !== 1 && size !== 1 && size !== knownSize)
        throw new TorchError(`${letter} of ${equation} is ${knownSize} and ${size}`);
      sizes.set(letter, knownSize === 1 ? size : knownSize);
    });
  });
  const occurrences = (letter: string): number => inputText.split(letter).length - 1;
  const output = [
    ...(right ??
      [...sizes.keys()]
        .filter((letter) => occurrences(letter) === 1)
        .toSorted()
        .join("")),
  ];
  const [first = "", ...others] = inputs;
  if (others.length === 0) return contract([first], operands, output, sizes);
  let [letters, result] = [first, operands[0]!];
  others.forEach((next, i) => {
    const laterLetters = [...output, ...others.slice(i + 1).join("")];
    const remainingLetters = [...new Set(letters + next)].filter((letter) => laterLetters.includes(letter));
    const resultLetters = i === others.length - 1 ? output : remainingLetters;
    result = contract([letters, next], [result, operands[i + 1]!], resultLetters, sizes);
    letters = resultLetters.join("");
  });
  return result;
}

/** The sum of products over the letters missing from the output. */
function contract(
  inputs: readonly string[],
  operands: readonly TorchArray[],
  output: readonly string[],
  sizes: ReadonlyMap<string, number>,
): TorchArray {
  const usedLetters = [...new Set(inputs.join(""))];
  const summedLetters = usedLetters.filter((letter) => !output.includes(letter));
  const letters = [...output, ...summedLetters];
  const steps = operands.map(({ shape }, i) => {
    const strides = stridesOf(shape);
    const axes = [...inputs[i]!];
    return letters.map((letter) =>
      axes.reduce(
        (sum, axisLetter, axis) => sum + (axisLetter === letter && shape[axis] !== 1 ? strides[axis]! : 0),
        0,
      ),
    );
  });
  const shape = output.map((letter) => sizes.get(letter)!);
  const allSizes = letters.map((letter) => sizes.get(letter)!);
  const inner = sizeOf(allSizes.slice(output.length));
  const out = new Float64Array(sizeOf(shape));
  // Iterates over all letters, the last fastest, and advances each operand's offset.
  const index = allSizes.map(() => 0);
  const offsets = operands.map(() => 0);
  for (let i = 0; i < out.length * inner; i++) {
    out[Math.trunc(i / inner)]! += operands.reduce((product, { data }, n) => product * data[offsets[n]!]!, 1);
    for (let axis = allSizes.length - 1; axis >= 0; axis--) {
      index[axis]! += 1;
      const isAtEnd = index[axis] === allSizes[axis];
      steps.forEach((step, n) => (offsets[n]! += isAtEnd ? -step[axis]! * (allSizes[axis]! - 1) : step[axis]!));
      if (!isAtEnd) break;
      index[axis] = 0;
    }
  }
  return torchArray(shape, out);
}

/** Leading axes broadcast. A vector is a row on the left and a column on the right. */
function matmul(a: TorchArray, b: TorchArray): TorchArray {
  const lhs = a.shape.length === 1 ? reshapeTo(a, [1, a.data.length]) : a;
  const rhs = b.shape.length === 1 ? reshapeTo(b, [b.data.length, 1]) : b;
  const [m, k] = lhs.shape.slice(-2) as [number, number];
  const [inner, n] = rhs.shape.slice(-2) as [number, number];
  if (k !== inner) throw new TorchError(`[${a.shape.join(", ")}] and [${b.shape.join(", ")}] do not match`);
  const batch = broadcastShapes(lhs.shape.slice(0, -2), rhs.shape.slice(0, -2));
  const x = expandTo(lhs, [...batch, m, k]).data;
  const y = expandTo(rhs, [...batch, k, n]).data;
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

/** Processes four rows of `b` at a time, which reduces the loads and stores of each sum to a quarter. */
function multiply(
  a: Float64Array,
  b: Float64Array,
  out: Float64Array,
  [m, n, k]: readonly [number, number, number],
): void {
  const unrolledEnd = k - (k % 4);
  for (let row = 0; row < m; row++) {
    const start = row * n;
    for (let p = 0; p < unrolledEnd; p += 4) {
      const index = row * k + p;
      const [x0, x1, x2, x3] = [a[index]!, a[index + 1]!, a[index + 2]!, a[index + 3]!];
      const [b0, b1, b2, b3] = [p * n, (p + 1) * n, (p + 2) * n, (p + 3) * n];
      for (let j = 0; j < n; j++)
        out[start + j] = out[start + j]! + x0 * b[b0 + j]! + x1 * b[b1 + j]! + x2 * b[b2 + j]! + x3 * b[b3 + j]!;
    }
    for (let p = unrolledEnd; p < k; p++) {
      const x = a[row * k + p]!;
      for (let j = 0; j < n; j++) out[start + j] = out[start + j]! + x * b[p * n + j]!;
    }
  }
}

type Product = (input: TorchTensor, other: TorchTensor) => TorchTensor;
type BatchProduct = (input: TorchTensor, mat2: TorchTensor) => TorchTensor;

const matrixProduct: TorchFunction = {
  params: ["input", "mat2"],
  run: ({ input, mat2 }) => matmul(array(input), array(mat2)),
};

/**
 * `softmax(query keyᵀ · scale + mask) value` over the last two axes. A boolean mask hides the keys where it is false;
 * causal attention hides the keys after the query's position. A query without visible keys gives 0.
 */
function attention(
  { query, key, value, attn_mask, is_causal, scale }: Args,
  isTruth: (param: string) => boolean,
): TorchArray {
  const [q, k] = [array(query), array(key)];
  const factor = number(scale, 1 / Math.sqrt(q.shape.at(-1)!));
  const scores = map(matmul(q, transpose(k, -2, -1)), (x) => x * factor);
  const isBooleanMask = isTruth("attn_mask");
  const applyMask = isBooleanMask
    ? (score: number, mask: number): number => (mask !== 0 ? score : -Infinity)
    : (score: number, mask: number): number => score + mask;
  const masked = isArray(attn_mask) ? zip([scores, attn_mask], applyMask) : scores;
  const [rows, columns] = masked.shape.slice(-2) as [number, number];
  const isVisible = (i: number) => is_causal !== true || i % columns <= Math.trunc(i / columns) % rows;
  const visible = torchArray(
    masked.shape,
    masked.data.map((x, i) => (isVisible(i) ? x : -Infinity)),
  );
  const weights = (lane: Float64Array) => (largest(lane) === -Infinity ? lane.map(() => 0) : softmax(lane));
  return matmul(mapLanes(visible, -1, weights), array(value));
}

export const products = {
  /** The same as `@`: leading axes broadcast, and a vector is a row on the left and a column on the right. */
  matmul: both<Product>({ params: ["input", "other"], run: ({ input, other }) => matmul(array(input), array(other)) }),
  mm: both<BatchProduct>(matrixProduct),
  bmm: both<BatchProduct>(matrixProduct),
  /** `input + mat1 @ mat2` */
  addmm: both<(input: TorchTensor, mat1: TorchTensor, mat2: TorchTensor) => TorchTensor>({
    params: ["input", "mat1", "mat2"],
    run: ({ input, mat1, mat2 }) => zip([array(input), matmul(array(mat1), array(mat2))], (x, y) => x + y),
  }),
  outer: both<(input: TorchTensor, vec2: TorchTensor) => TorchTensor>({
    params: ["input", "vec2"],
    run: ({ input, vec2 }) => {
      const [x, y] = [array(input), array(vec2)];
      const column = torchArray([x.data.length, 1], x.data);
      return zip([column, y], (a, b) => a * b);
    },
  }),
  /** A sum of products with one letter per axis: `torch.einsum("ij,kj->ik", a, b)`. */
  einsum: inTorch<(equation: string, ...operands: readonly TorchTensor[]) => TorchTensor>({
    params: ["equation"],
    variadic: "operands",
    truth: ["operands"],
    viewedList: "operands",
    run: ({ equation, operands }) => einsum(String(equation), arrays(operands)),
  }),
  /** `input @ weight.T + bias` */
  linear: functional<(input: TorchTensor, weight: TorchTensor, bias?: TorchTensor) => TorchTensor>({
    params: ["input", "weight", "bias"],
    run: ({ input, weight, bias }) => {
      const product = matmul(array(input), transpose(array(weight), 0, 1));
      return zip([product, array(bias ?? 0)], (x, y) => x + y);
    },
  }),
  /** `softmax(query @ key.mT * scale + attn_mask) @ value` */
  scaled_dot_product_attention: functional<
    (
      query: TorchTensor,
      key: TorchTensor,
      value: TorchTensor,
      keywords?: { is_causal?: boolean | TorchScalar; scale?: TorchNumber; attn_mask?: TorchTensor },
    ) => TorchTensor
  >({
    params: ["query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"],
    run: (args, _random, isTruth) => attention(args, isTruth),
  }),
};
