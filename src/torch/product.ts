/** Matrix products: `matmul`, `einsum`, linear layers, attention. */
import {
  map,
  mapLanes,
  sizeAt,
  torchArray,
  type TorchArray,
  transpose,
  zip,
  expandTo,
  reshapeTo,
  type Args,
  TorchError,
  largest,
  softmax,
} from "./array.js";
import { both, functional, inTorch, type TorchFunction, array, arrays, isArray, number } from "./record.js";
import type { TorchNumber, TorchScalar, TorchTensor } from "./values.js";
import { broadcastShapes, sizeOf, stridedIndex, stridesOf } from "../numerics/array.js";

/** An operand of `einsum`, with a letter for each axis. */
interface Factor {
  readonly letters: readonly string[];
  readonly array: TorchArray;
}

/**
 * Each letter is an axis. Axes missing from the output are summed. Operands are contracted in pairs, from the left.
 *
 * @throws TorchError if the equation does not match the operands, or has an ellipsis, which is not supported.
 */
function einsum(equation: string, operands: readonly TorchArray[]): TorchArray {
  const [inputText = "", outputText] = equation.replace(/\s/g, "").split("->");
  const inputs = inputText.split(",");
  if (inputText.includes(".") || inputs.length !== operands.length)
    throw new TorchError(`${equation} does not fit ${operands.length} operands`);
  const factors = operands.map((operand, i): Factor => ({ letters: [...(inputs[i] ?? "")], array: operand }));
  const sizes = sizesOfLetters(equation, factors);
  const occurrences = (letter: string): number => inputText.split(letter).length - 1;
  const unrepeatedLetters = [...sizes.keys()].filter((letter) => occurrences(letter) === 1);
  const output = outputText === undefined ? unrepeatedLetters.toSorted() : [...outputText];
  const sizeOfLetter = (letter: string): number => {
    const size = sizes.get(letter);
    if (size === undefined) throw new TorchError(`${letter} of ${equation} is no axis of an operand`);
    return size;
  };
  const [first, ...others] = factors;
  if (!first || others.length === 0) return contract(factors, output, sizeOfLetter);
  const product = others.reduce<Factor>((factor, next, i) => {
    const laterLetters = [...output, ...others.slice(i + 1).flatMap(({ letters }) => letters)];
    const letters = [...new Set([...factor.letters, ...next.letters])].filter((letter) =>
      laterLetters.includes(letter),
    );
    const resultLetters = i === others.length - 1 ? output : letters;
    return { letters: resultLetters, array: contract([factor, next], resultLetters, sizeOfLetter) };
  }, first);
  return product.array;
}

/** The size of each letter's axes. Axes of size 1 broadcast. */
function sizesOfLetters(equation: string, factors: readonly Factor[]): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { letters, array } of factors) {
    if (letters.length !== array.shape.length)
      throw new TorchError(`${letters.join("")} does not fit [${array.shape.join(", ")}]`);
    for (const [axis, letter] of letters.entries()) {
      const [knownSize, size] = [sizes.get(letter) ?? 1, sizeAt(array, axis)];
      if (knownSize !== 1 && size !== 1 && size !== knownSize)
        throw new TorchError(`${letter} of ${equation} is ${knownSize} and ${size}`);
      sizes.set(letter, knownSize === 1 ? size : knownSize);
    }
  }
  return sizes;
}

/** The sum of products over the letters missing from the output. */
function contract(
  factors: readonly Factor[],
  output: readonly string[],
  sizeOfLetter: (letter: string) => number,
): TorchArray {
  const usedLetters = [...new Set(factors.flatMap(({ letters }) => letters))];
  const summedLetters = usedLetters.filter((letter) => !output.includes(letter));
  const [shape, summedShape] = [output.map(sizeOfLetter), summedLetters.map(sizeOfLetter)];
  const operands = factors.map((factor) => ({
    data: factor.array.data,
    outer: stridedIndex(
      shape,
      output.map((letter) => strideAlong(letter, factor)),
    ),
    inner: stridedIndex(
      summedShape,
      summedLetters.map((letter) => strideAlong(letter, factor)),
    ),
  }));
  const [out, termCount] = [new Float64Array(sizeOf(shape)), sizeOf(summedShape)];
  for (let i = 0; i < out.length; i++) {
    let sum = 0;
    for (let term = 0; term < termCount; term++)
      sum += operands.reduce((product, { data, outer, inner }) => product * data[outer[i]! + inner[term]!]!, 1);
    out[i] = sum;
  }
  return torchArray(shape, out);
}

/** The distance between neighbors along all axes with this letter, of which one may have several. */
function strideAlong(letter: string, { letters, array }: Factor): number {
  const strides = stridesOf(array.shape).filter((_, axis) => letters[axis] === letter && array.shape[axis] !== 1);
  return strides.reduce((sum, stride) => sum + stride, 0);
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
  const factor = number(scale, 1 / Math.sqrt(sizeAt(q, q.shape.length - 1)));
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
