/**
 * Dropout of GELU(x), with its gradient, in one pass each way. No mask is stored: which elements stay follows from a
 * seed, so the gradient draws the same ones again.
 *
 * Random numbers cost more than everything else here, and Philox makes four at once. So a lane takes four elements, one
 * of each quarter of x; which number an element has does not depend on the block's size. The random bits are compared as
 * they are, which saves making floats of them.
 */
import { constexpr, kernel, main, op, type Scalar, scalar, type Shape, tensor, type TileOf, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

const values = tensor(T, ["N"], { contiguous: true });
const newValues = tensor.out(T, ["N"], { contiguous: true });
const p = scalar(tl.float32, { default: 0.5 });
const seed = scalar(tl.int32, { default: 0 });

const configs = [
  { BLOCK: 512, numWarps: 2 },
  { BLOCK: 512, numWarps: 4 },
  { BLOCK: 1024, numWarps: 4 },
  { BLOCK: 2048, numWarps: 4 },
] as const;

/** Of Philox, as many as PyTorch takes. */
const ROUNDS = 10;

/** The least random bits of an element that stays, and what it is multiplied by. */
function kept(p: Scalar<"float32">) {
  const least = tl
    .full([], 2 ** 32, tl.float32)
    .mul(p)
    .to(tl.uint32);
  const scale = tl.div(1, tl.sub(1, p));
  return [least, scale] as const;
}

/**
 * Φ, the integral of the normal distribution, off by less than 5e-7 of itself, also where it is small: GELU is s · Φ(s),
 * and sums that are all negative have nothing larger beside them. With t = 1 / (1 + 0.43 |s| / √2) the tail is exp(-s²/2)
 * times a polynomial of t, whose coefficients make the largest relative error least. `tl.erf` takes more instructions.
 */
export function phi<S extends Shape>(s: TileOf<typeof tl.float32, S>): TileOf<typeof tl.float32, S> {
  const scaled = tl.abs(s).mul(0.43 * Math.SQRT1_2);
  // Squared, a reciprocal root takes 2 instructions; a division takes 9, as it also serves divisors below 1.
  const root = tl.rsqrt(scaled.add(1));
  const t = root.mul(root);
  const polynomial = [0.189250165, -0.0405197663, 0.122209569, 0.102834351, 0.122131788, 0.121260838].reduce(
    (sum, coefficient) => sum.mul(t).add(coefficient),
    t.mul(0.0364728579).add(-0.153639839),
  );
  const tail = polynomial.mul(t).mul(tl.exp2(s.mul(s).mul(-Math.LOG2E / 2)));
  return tl.where(s.lt(0), tail, tl.sub(1, tail));
}

const geluDropoutForward = kernel(
  "gelu_dropout_forward",
  {
    doc: "gelu(x) / (1 - p) where a random number of the element is at least p, else 0.",
    params: { x: values, y: newValues, p, seed, BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(tl.cdiv(N, 4), BLOCK)],
    autotune: { key: ["N"], configs },
    // Each step has another seed: none is worth a binary of its own.
    doNotSpecialize: ["seed"],
    requires: ({ p }) => [p.ge(0), p.lt(1)],
    shapes: [{ N: 1 << 26 }],
  },
  ({ x, y, p, seed, N, BLOCK }) => {
    const quarter = tl.cdiv(N, 4);
    const lanes = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const [least, scale] = kept(p);
    const random = tl.randint4x(seed, lanes, ROUNDS);
    random.forEach((bits, i) => {
      const places = lanes.add(quarter.mul(i));
      const mask = lanes.lt(quarter);
      const v = tl.load(x.at(places), { mask }).to(tl.float32);
      const scaled = v.mul(phi(v)).mul(scale);
      tl.store(y.at(places), tl.where(bits.ge(least), scaled, 0).to(T), { mask });
    });
  },
);

const geluDropoutGradient = kernel(
  "gelu_dropout_gradient",
  {
    doc: "dy times the slope of GELU, scaled, where the element stayed, else 0.",
    params: { dy: values, x: values, dx: newValues, p, seed, BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(tl.cdiv(N, 4), BLOCK)],
    autotune: { key: ["N"], configs },
    doNotSpecialize: ["seed"],
    requires: ({ p }) => [p.ge(0), p.lt(1)],
    shapes: [{ N: 1 << 26 }],
  },
  ({ dy, x, dx, p, seed, N, BLOCK }) => {
    const quarter = tl.cdiv(N, 4);
    const lanes = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const [least, scale] = kept(p);
    const random = tl.randint4x(seed, lanes, ROUNDS);
    random.forEach((bits, i) => {
      const places = lanes.add(quarter.mul(i));
      const mask = lanes.lt(quarter);
      const v = tl.load(x.at(places), { mask }).to(tl.float32);
      // The slope of x · Φ(x): Φ(x) + x · exp(-x² / 2) / √(2π).
      const density = tl.exp(v.mul(v).mul(-0.5)).mul(1 / Math.sqrt(2 * Math.PI));
      const slope = phi(v).add(v.mul(density));
      const scaled = tl.load(dy.at(places), { mask }).to(tl.float32).mul(slope).mul(scale);
      tl.store(dx.at(places), tl.where(bits.ge(least), scaled, 0).to(T), { mask });
    });
  },
);

export const geluDropout = op(
  "gelu_dropout",
  {
    doc: "Dropout of gelu(x), with its gradient: each element stays with probability 1 - p, divided by it.",
    params: { x: values, y: newValues, p, seed },
    // Philox in ten rounds, as `tl.rand4x` has it: the counter is the place in a quarter, the key is the seed.
    reference: {
      source: `
        low = 0xFFFFFFFF
        quarter = (x.numel() + 3) // 4
        c0 = torch.arange(quarter, device=x.device)
        c1 = c2 = c3 = torch.zeros_like(c0)
        k0, k1 = seed & low, 0
        for _ in range(10):
            a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c2 = (b >> 32 & low) ^ c1 ^ k0, (a >> 32 & low) ^ c3 ^ k1
            c1, c3 = b & low, a & low
            k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
        bits = torch.cat([c0, c1, c2, c3])[: x.numel()]
        least = int(torch.tensor(p, dtype=torch.float32).double() * 2**32)
        return torch.where(bits >= least, torch.nn.functional.gelu(x) / (1 - p), 0)
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
