/** Activation functions. All are elementwise, except `glu`. */
import { erf } from "../numerics/special.js";
import { map, sizeAt, type TorchArray, type Args, zip } from "./array.js";
import { TorchError } from "./errors.js";
import { array, axisOrDefault, elementwise, number } from "./call.js";
import { narrow } from "./indexing.js";
import { both, everywhere, functional, type Unary } from "./record.js";
import type { TorchNumber, TorchTensor } from "./values.js";

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
/** `log(1 + exp(x))`, computed without overflow. */
export const softplus = (x: number): number => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)));
const gelu = (x: number): number => 0.5 * x * (1 + erf(x * Math.SQRT1_2));
const geluTanh = (x: number): number => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/** The first half of an axis, multiplied by the sigmoid of the second half. */
function glu({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axis = axisOrDefault(dim, -1, x);
  const half = sizeAt(x, axis) / 2;
  if (!Number.isInteger(half)) throw new TorchError(`an axis of ${sizeAt(x, axis)} elements has no half`);
  return zip([narrow(x, axis, 0, half), narrow(x, axis, half, half)], (value, gate) => value / (1 + Math.exp(-gate)));
}

export const activations = {
  sigmoid: both<Unary>(elementwise(sigmoid)),
  relu: everywhere<Unary>(elementwise((x) => (x < 0 ? 0 : x))),
  silu: functional<Unary>(elementwise((x) => x * sigmoid(x))),
  softplus: functional<Unary>(elementwise((x) => (x > 20 ? x : Math.log1p(Math.exp(x))))),
  gelu: functional<(input: TorchTensor, keywords?: { approximate?: "none" | "tanh" }) => TorchTensor>({
    params: ["input", "approximate"],
    run: ({ input, approximate }) => map(array(input), approximate === "tanh" ? geluTanh : gelu),
  }),
  leaky_relu: functional<(input: TorchTensor, negative_slope?: TorchNumber) => TorchTensor>({
    params: ["input", "negative_slope"],
    run: ({ input, negative_slope: slope }) => map(array(input), (x) => (x < 0 ? x * number(slope, 0.01) : x)),
  }),
  elu: functional<(input: TorchTensor, alpha?: TorchNumber) => TorchTensor>({
    params: ["input", "alpha"],
    run: ({ input, alpha }) => map(array(input), (x) => (x > 0 ? x : number(alpha, 1) * Math.expm1(x))),
  }),
  relu6: functional<Unary>(elementwise((x) => Math.min(Math.max(x, 0), 6))),
  hardswish: functional<Unary>(elementwise((x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6)),
  logsigmoid: functional<Unary>(elementwise((x) => -softplus(-x))),
  mish: functional<Unary>(elementwise((x) => x * Math.tanh(softplus(x)))),
  /** The first half of an axis, multiplied by the sigmoid of the second half. */
  glu: functional<(input: TorchTensor, dim?: number) => TorchTensor>({ params: ["input", "dim"], run: glu }),
};
