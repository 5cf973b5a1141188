/** The largest errors of CUDA's device functions, by the tables of its programming guide. */

/**
 * How far a result may be from the exact one rounded: in steps between floats or absolutely. Where the guide says
 * nothing it is undefined.
 */
export type Bound = { readonly steps: number } | { readonly absolute: number } | undefined;
type Rule =
  readonly [single: number, double: number] | ((isDouble: boolean, x: number, y: number, value: number) => Bound);

/** Absolute where values are far from 0, and zeros many. */
const bessel: Rule = (isDouble, x) =>
  Math.abs(x) < 8 ? { steps: isDouble ? 7 : 9 } : { absolute: isDouble ? 5e-12 : 2.2e-6 };
/** By the steps away from 1, where logarithms are small. */
const log =
  (steps: number, nearOne: number): Rule =>
  (_, x) =>
    x >= 0.5 && x <= 2 ? { absolute: nearOne } : { steps };
const [SIN, COS] = [2 ** -21.41, 2 ** -21.19];

// prettier-ignore
const rules: Readonly<Record<string, Rule>> = {
  acos: [2, 2], acosh: [4, 3], asin: [2, 2], asinh: [3, 3], atan: [2, 2], atan2: [3, 2], atanh: [3, 2], cbrt: [1, 1],
  cos: [2, 2], cosh: [2, 1], cospi: [1, 2], cylBesselI0: [6, 6], cylBesselI1: [6, 6], erf: [2, 2], erfc: [4, 5],
  erfcinv: [4, 6], erfcx: [4, 4], erfinv: [2, 5], exp: [2, 1], exp10: [2, 1], exp2: [2, 1], expm1: [1, 1],
  hypot: [3, 2], j0: bessel, j1: bessel, log: [1, 1], log10: [2, 1], log1p: [1, 1], log2: [1, 1], norm3d: [3, 2],
  norm4d: [3, 2], pow: [4, 2], normcdf: [5, 5], normcdfinv: [5, 8], rcbrt: [1, 1], rhypot: [2, 1], rnorm3d: [2, 1],
  rnorm4d: [2, 1], rsqrt: [2, 1], sin: [2, 2], sinh: [3, 2], sinpi: [1, 2], sqrt: [1, 0], tan: [4, 2], tanh: [2, 1],
  tgamma: [5, 10], y0: bessel, y1: bessel,
  // The guide names order 128 alone.
  jn: (isDouble) => ({ absolute: isDouble ? 5e-12 : 2.2e-6 }),
  yn: (isDouble, n, x) =>
    isDouble
      ? Math.abs(x) > 1.5 * n ? { absolute: 5e-12 } : undefined
      : Math.abs(x) < n ? { steps: Math.ceil(2 + 2.5 * n) } : { absolute: 2.2e-6 },
  lgamma: (isDouble, x) =>
    isDouble ? (x > -23.0001 && x < -2.2637 ? undefined : { steps: 4 }) : x > -10.001 && x < -2.264 ? undefined : { steps: 6 },
  fastDividef: (_, _x, y) => ({ steps: Math.abs(y) <= 2 ** 126 ? 2 : 0 }),
  fastExpf: (_, x) => ({ steps: 2 + Math.floor(Math.abs(1.173 * x)) }),
  fastExp10f: (_, x) => ({ steps: 2 + Math.floor(Math.abs(2.97 * x)) }),
  fastLogf: log(3, 2 ** -21.41), fastLog2f: log(2, 2 ** -22), fastLog10f: log(3, 2 ** -24),
  // Named for angles up to π; the evaluator reduces all as the instructions do.
  fastSinf: () => ({ absolute: SIN }), fastCosf: () => ({ absolute: COS }),
  // By how they are made: sin · (1 / cos), with two more roundings.
  fastTanf: (_, _x, _y, tan) => {
    const cos = 1 / Math.hypot(1, tan);
    return { absolute: (SIN + Math.abs(tan) * COS) / (cos - COS) + Math.abs(tan) * 2 ** -22 };
  },
  // And exp2(y · log2(x)): the exponent's error, times log 2, is the relative one of the result.
  fastPowf: (_, x, y) => {
    const exponent = Math.abs(Math.log2(x));
    const error = Math.abs(y) * ((x >= 0.5 && x <= 2 ? 2 ** -22 : exponent * 2 ** -22) + exponent * 2 ** -24);
    return { steps: 2 + Math.ceil(error * Math.LN2 * 2 ** 24 || 0) };
  },
  // One in the last place of the upper word, which is all that the instruction gives.
  rcp64h: [0, 2 ** 32],
};

/** The bound of an overload's result, here `value`. Where the guide has no entry results are exact. */
export function boundOf(name: string, isDouble: boolean, operands: readonly number[], value: number): Bound {
  const rule = rules[name] ?? [0, 0];
  return typeof rule === "function"
    ? rule(isDouble, operands[0]!, operands[1]!, value)
    : { steps: rule[isDouble ? 1 : 0] };
}
