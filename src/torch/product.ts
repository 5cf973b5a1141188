/** Functions of torch that multiply matrices: products, `einsum`, linear layers, attention. */
import { map, mapLanes, torchArray, type TorchArray, transpose, zip } from "./array.js";
import { type Args, array, arrays, isArray, number } from "./call.js";
import { einsum } from "./einsum.js";
import { largest, softmax } from "./lanes.js";
import { matmul } from "./matmul.js";
import { both, functional, inTorch, type TorchFunction } from "./record.js";
import type { TorchNumber, TorchScalar, TorchTensor } from "./values.js";

type Product = (input: TorchTensor, other: TorchTensor) => TorchTensor;
type BatchProduct = (input: TorchTensor, mat2: TorchTensor) => TorchTensor;

const ofMatrices: TorchFunction = {
  params: ["input", "mat2"],
  run: ({ input, mat2 }) => matmul(array(input), array(mat2)),
};

/**
 * softmax(query keyᵀ · scale + mask) value over the last two axes. Where a mask of truth values is false, and after its
 * own place if it is causal, a query sees no key; one that sees none gives 0.
 */
function attention(
  { query, key, value, attn_mask, is_causal, scale }: Args,
  isTruth: (param: string) => boolean,
): TorchArray {
  const [q, k] = [array(query), array(key)];
  const factor = number(scale, 1 / Math.sqrt(q.shape.at(-1)!));
  const scores = map(matmul(q, transpose(k, -2, -1)), (x) => x * factor);
  const isShown = isTruth("attn_mask");
  const add = (score: number, mask: number): number => (!isShown ? score + mask : mask !== 0 ? score : -Infinity);
  const masked = isArray(attn_mask) ? zip([scores, attn_mask], add) : scores;
  const [rows, columns] = masked.shape.slice(-2) as [number, number];
  const seen = (i: number) => is_causal !== true || i % columns <= Math.trunc(i / columns) % rows;
  const visible = torchArray(
    masked.shape,
    masked.data.map((x, i) => (seen(i) ? x : -Infinity)),
  );
  const weigh = (lane: Float64Array) => (largest(lane) === -Infinity ? lane.map(() => 0) : softmax(lane));
  return matmul(mapLanes(visible, -1, weigh), array(value));
}

export const products = {
  /** As `@`: leading axes broadcast, and a vector is a row on the left and a column on the right. */
  matmul: both<Product>({ params: ["input", "other"], run: ({ input, other }) => matmul(array(input), array(other)) }),
  mm: both<BatchProduct>(ofMatrices),
  bmm: both<BatchProduct>(ofMatrices),
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
  /** A sum of products, a letter for each axis: `torch.einsum("ij,kj->ik", a, b)`. */
  einsum: inTorch<(equation: string, ...operands: readonly TorchTensor[]) => TorchTensor>({
    params: ["equation"],
    rest: "operands",
    truth: ["operands"],
    viewsOnly: "operands",
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
