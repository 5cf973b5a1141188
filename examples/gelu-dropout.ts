/**
 * Dropout of GELU(x), with its gradient, in one pass each way. No mask is stored: which elements stay follows from a
 * seed, so the gradient draws the same ones again.
 */
import { constexpr, kernel, main, op, scalar, tensor, tl } from "tilescript";
import { philox } from "./dropout.js";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const values = tensor(T, ["N"], { contiguous: true });
const newValues = tensor.out(T, ["N"], { contiguous: true });
const p = scalar(tl.float32, { default: 0.5 });
const seed = scalar(tl.int32, { default: 0 });

const configs = [
  { BLOCK: 1024, numWarps: 4 },
  { BLOCK: 2048, numWarps: 8 },
] as const;

const geluDropoutForward = kernel(
  "gelu_dropout_forward",
  {
    doc: "gelu(x) / (1 - p) where a random number of the element is at least p, else 0.",
    params: { x: values, y: newValues, p, seed, BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs },
    // Each step has another seed: none is worth a binary of its own.
    doNotSpecialize: ["seed"],
    requires: ({ p }) => [p.ge(0), p.lt(1)],
    shapes: [{ N: 1 << 26 }],
  },
  ({ x, y, p, seed, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const v = tl.load(x.at(places)).to(tl.float32);
    // GELU is x · Φ(x), with Φ the normal distribution's integral.
    const phi = tl.erf(v.mul(Math.SQRT1_2)).add(1).mul(0.5);
    const scaled = v.mul(phi).div(tl.sub(1, p));
    tl.store(y.at(places), tl.where(tl.rand(seed, places).ge(p), scaled, 0).to(T));
  },
);

const geluDropoutGradient = kernel(
  "gelu_dropout_gradient",
  {
    doc: "dy times the slope of GELU, scaled, where the element stayed, else 0.",
    params: { dy: values, x: values, dx: newValues, p, seed, BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    autotune: { key: ["N"], configs },
    doNotSpecialize: ["seed"],
    requires: ({ p }) => [p.ge(0), p.lt(1)],
    shapes: [{ N: 1 << 26 }],
  },
  ({ dy, x, dx, p, seed, BLOCK }) => {
    const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const v = tl.load(x.at(places)).to(tl.float32);
    const phi = tl.erf(v.mul(Math.SQRT1_2)).add(1).mul(0.5);
    // The slope of x · Φ(x): Φ(x) + x · exp(-x² / 2) / √(2π).
    const density = tl.exp(v.mul(v).mul(-0.5)).mul(1 / Math.sqrt(2 * Math.PI));
    const slope = phi.add(v.mul(density));
    const scaled = tl.load(dy.at(places)).to(tl.float32).mul(slope).div(tl.sub(1, p));
    tl.store(dx.at(places), tl.where(tl.rand(seed, places).ge(p), scaled, 0).to(T));
  },
);

export const geluDropout = op(
  "gelu_dropout",
  {
    doc: "Dropout of gelu(x), with its gradient: each element stays with probability 1 - p, divided by it.",
    params: { x: values, y: newValues, p, seed },
    reference: {
      source: `
        ${philox}
        return torch.where(random >= p, torch.nn.functional.gelu(x) / (1 - p), 0)
      `,
    },
    shapes: [{ N: 100_003 }, { N: 1 << 26 }],
  },
  ({ x, p, seed }) => geluDropoutForward.call({ x, p, seed }),
  ({ x, p, seed }, { y: dy }) => {
    const { dx } = geluDropoutGradient.call({ dy, x, p, seed });
    return { x: dx };
  },
);

main(import.meta, geluDropout);
