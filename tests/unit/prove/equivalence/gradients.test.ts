/** Which gradients of operators are shown to be the derivatives of their references, and which are not. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, op, tensor, tl } from "../../../../src/index.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { type Computes, operatorComputes, Derivative } from "../../../../src/prove/equivalence/computes.js";
import { NoRule } from "../../../../src/prove/equivalence/rational.js";
import { elementwiseRules, tensorOf } from "../../../../src/prove/equivalence/torch-elementwise.js";
import { input, one, type Real } from "../../../../src/prove/equivalence/real.js";
import { andTerm, atLeast, below, number, symbol, withTermTable } from "../../../../src/symbolic/term.js";
import { RealValuation } from "../../../support/real-valuation.js";
import { checkedOf, traced } from "../../../support/traced-examples.js";

function gradients(definition: any): Readonly<Record<string, Computes>> {
  const { ir, operator } = traced(definition);
  const { reference } = ir;
  if (reference?.kind !== "recorded" || !operator?.backward) throw new Error("an operator with a gradient is expected");
  const compared = withTermTable(() =>
    withMonomials(() => operatorComputes({ ...operator, references: reference.outputs, checkedOf })),
  );
  return Object.fromEntries(
    compared.flatMap(({ tensor: { name }, isGradient, computes }) => (isGradient ? [[name, computes]] : [])),
  );
}

// ---- derivatives ------------------------------------------------------------------------------------------------------

const element = (index = symbol("i")): Real => input("x", [index]);
const POINTS = [-1.7, -0.4, 0.3, 0.9, 2.2];

const functions = Object.entries(elementwiseRules).flatMap(([name, rule]) => {
  const shape = [number(1)];
  const of = (at: (i: ReturnType<typeof symbol>) => Real) => ({ shape, at: ([i = number(0)]) => at(i) });
  try {
    const result = tensorOf(rule({ input: of(element) as any }));
    const value = result.at([number(0)]);
    return result.pick || value === element(number(0)) ? [] : [{ name, value }];
  } catch (error) {
    // A function of more than one operand.
    if (error instanceof NoRule || error instanceof TypeError) return [];
    throw error;
  }
});

test("functions of one operand are tested", () => expect(functions.length).toBeGreaterThanOrEqual(20));

/** Functions whose derivative at a point PyTorch chooses. */
const OPEN = new Set(["relu6", "hardswish"]);

test.each(functions)("the derivative of $name is that of its values", ({ name, value }) => {
  const derivative = () => new Derivative("x", [number(0)]).of(value, one, []);
  if (OPEN.has(name)) {
    expect(derivative).toThrow(NoRule);
    return;
  }
  const at = (x: number, real: Real): number | undefined =>
    new RealValuation(new Map(), { x: { dtype: "float64", shape: [1], data: [x] } as any }).value(real);
  const step = 1e-5;
  let compared = 0;
  for (const x of POINTS) {
    const [before, after, slope] = [at(x - step, value), at(x + step, value), at(x, derivative())];
    if (!Number.isFinite(before) || !Number.isFinite(after)) continue;
    compared++;
    expect(Math.abs((after! - before!) / (2 * step) - slope!), `${name} at ${x}`).toBeLessThan(
      1e-6 * (1 + Math.abs(slope!)),
    );
  }
  expect(compared).toBeGreaterThan(0);
});

test("an element of a sum is summed where the index is that of the element", () => {
  const k = symbol("k~own");
  const domain = andTerm(atLeast(k, number(0)), below(k, number(5)));
  const derivative = new Derivative("x", [number(3)]).of(
    { kind: "fold", fold: "sum", variable: "k~own", domain, body: input("x", [k]) },
    one,
    [],
  );
  expect(new RealValuation(new Map(), {}).value(derivative)).toBe(1);
});

// ---- operators --------------------------------------------------------------------------------------------------------

const matrix = (name: "M" | "N" = "N") => tensor(tl.float32, ["M", name]);
const newMatrix = tensor.out(tl.float32, ["M", "N"]);

const same = kernel(
  "same",
  {
    params: { x: matrix(), y: newMatrix, BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)) },
    grid: ({ M }) => [M],
  },
  ({ x, y, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const cols = tl.arange(0, BLOCK);
    tl.store(y.at(row, cols), tl.load(x.at(row, cols)));
  },
);

interface Row {
  readonly x: any;
  readonly dy: any;
  readonly sum: (values: any) => any;
  readonly count: any;
}

/** An operator whose gradient a kernel computes from rows of x and of the gradient of y. */
const byRows = (reference: (x: any, torch: any) => any, gradient: (row: Row) => any) => {
  const backward = kernel(
    "gradient",
    {
      params: {
        x: matrix(),
        dy: matrix(),
        dx: newMatrix,
        BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      },
      grid: ({ M }) => [M],
      requires: ({ N }) => [N.ge(1)],
    },
    ({ x, dy, dx, N, BLOCK }) => {
      const row = tl.inBounds(tl.programId(0));
      const cols = tl.arange(0, BLOCK);
      const isInside = cols.lt(N);
      const values = tl.load(x.at(row, cols), { mask: isInside, other: 0 });
      const gradients = tl.load(dy.at(row, cols), { mask: isInside, other: 0 });
      const result = gradient({
        x: values,
        dy: gradients,
        sum: (tile) => tl.sum(tl.where(isInside, tile, 0), 0),
        count: N.to(tl.float32),
      });
      tl.store(dx.at(row, cols), result, { mask: isInside });
    },
  );
  return op(
    "by_rows",
    { params: { x: matrix(), y: newMatrix }, reference: ({ x }, torch) => reference(x, torch) },
    ({ x }) => same.call({ x }),
    ({ x }, { y: dy }) => ({ x: backward.call({ x, dy }).dx }),
  );
};

type Gradients = Readonly<Record<string, (row: Row) => any>>;
const softmaxOf = ({ x, sum }: Row) => {
  const powers = tl.exp(x);
  return powers.div(sum(powers));
};
const references: Readonly<Record<string, { of: (x: any, torch: any) => any; right: Gradients; wrong: Gradients }>> = {
  "a square": {
    of: (x) => x.mul(x),
    right: { "2·x": ({ x, dy }) => dy.mul(x).mul(2) },
    wrong: {
      "without a factor": ({ x, dy }) => dy.mul(x),
      "without the gradient": ({ x }) => x.mul(2),
      "with a summand": ({ x, dy }) => dy.mul(x).mul(2).add(dy),
    },
  },
  relu: {
    of: (x, torch) => torch.relu(x),
    right: { "where x is positive": ({ x, dy }) => tl.where(x.gt(0), dy, 0) },
    wrong: {
      "where x may be 0": ({ x, dy }) => tl.where(x.ge(0), dy, 0),
      "where x is negative": ({ x, dy }) => tl.where(x.lt(0), dy, 0),
    },
  },
  softmax: {
    of: (x, torch) => torch.softmax(x, -1),
    right: {
      "by its formula": (row) => {
        const p = softmaxOf(row);
        return p.mul(row.dy.sub(row.sum(p.mul(row.dy))));
      },
    },
    wrong: {
      "without the sum": (row) => softmaxOf(row).mul(row.dy),
      "with the mean": (row) => {
        const p = softmaxOf(row);
        return p.mul(row.dy.sub(row.sum(p.mul(row.dy)).div(row.count)));
      },
      "with the sum of gradients": (row) => softmaxOf(row).mul(row.dy.sub(row.sum(row.dy))),
      "with the other sign": (row) => {
        const p = softmaxOf(row);
        return p.mul(row.sum(p.mul(row.dy)).sub(row.dy));
      },
    },
  },
  "the mean of a row": {
    of: (x) => x.sub(x.mean(-1, true)),
    right: { "less the mean": ({ dy, sum, count }) => dy.sub(sum(dy).div(count)) },
    wrong: {
      "less the sum": ({ dy, sum }) => dy.sub(sum(dy)),
      alone: ({ dy }) => dy,
      "of x": ({ x, dy, sum, count }) => dy.sub(sum(x).div(count)),
    },
  },
  "a product with the sum of a row": {
    of: (x) => x.mul(x.sum(-1, true)),
    right: { "both factors": ({ x, dy, sum }) => dy.mul(sum(x)).add(sum(dy.mul(x))) },
    wrong: {
      "the first factor alone": ({ x, dy, sum }) => dy.mul(sum(x)),
      "the second factor alone": ({ x, dy, sum }) => sum(dy.mul(x)).add(x.mul(0)),
    },
  },
};

describe.each(Object.entries(references))("%s", (_name, { of, right, wrong }) => {
  test.each(Object.entries(right))("%s is shown", (_case, gradient) => {
    expect(gradients(byRows(of, gradient)).x!.kind).toMatch(/^(?:equal|unstable)$/);
  });
  test.each(Object.entries(wrong))("%s is not", (_case, gradient) => {
    expect(gradients(byRows(of, gradient)).x).toMatchObject({ kind: "unknown" });
  });
});

test("the maximum of a row has no derivative where elements are equal", () => {
  const shifted = byRows(
    (x, torch) => x.sub(torch.amax(x, -1, true)),
    ({ dy }) => dy,
  );
  expect(gradients(shifted).x).toEqual({ kind: "unknown", missing: "the derivative of a maximum" });
});
