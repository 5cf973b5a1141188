/** Which kernels are shown to compute their reference, and which are not. */
import { describe, expect, test } from "vitest";
import { constexpr, kernel, op, tensor, tl } from "../../../../src/index.js";
import { tensorsOf } from "../../../../src/ir/nodes.js";
import { withMonomials } from "../../../../src/prove/algebra/polynomial.js";
import { type Computes, kernelComputes, operatorComputes } from "../../../../src/prove/equivalence/computes.js";
import { withTermTable } from "../../../../src/symbolic/term.js";
import { examples } from "../../../support/examples.js";
import { checkedOf, traced } from "../../../support/traced-examples.js";

function computes(definition: any, hasGradients = false): readonly Computes[] {
  const { ir, operator } = traced(definition);
  const { reference } = ir;
  if (reference?.kind !== "recorded") return [];
  return withTermTable(() =>
    withMonomials(() =>
      operator
        ? operatorComputes({
            signature: ir,
            forward: operator.forward,
            backward: hasGradients ? operator.backward : undefined,
            references: reference.outputs,
            checkedOf,
          }).map((each) => each.computes)
        : tensorsOf(ir, "out", "inout").map((output, i) =>
            kernelComputes(ir, output, reference.outputs[i]!, checkedOf),
          ),
    ),
  );
}

/** A kernel of one vector. */
const elementwise = (body: (v: any) => any, reference: (x: any, torch: any) => any) =>
  kernel(
    "elementwise",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      reference: ({ x }: any, torch: any) => reference(x, torch),
    },
    ({ x, y, BLOCK }: any) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), body(tl.load(x.at(i))));
    },
  );

const inner = (v: any, cube: number) => v.add(v.mul(v).mul(v).mul(cube)).mul(0.7978845608028654);
const tanh = (u: any) => {
  const e = tl.exp(u.mul(-2));
  return e.mul(-1).add(1).div(e.add(1));
};
const stableTanh = (u: any) => tl.sigmoid(u.mul(2)).mul(2).sub(1);
const gelu = (cube: number) => (v: any) => tanh(inner(v, cube)).add(1).mul(v).mul(0.5);

const right: Readonly<Record<string, readonly [body: (v: any) => any, reference: (x: any, torch: any) => any]>> = {
  "a cube": [(v) => v.mul(v).mul(v), (x, torch) => torch.pow(x, 3)],
  "silu spelled out": [(v) => v.div(tl.exp(v.mul(-1)).add(1)), (x, torch) => torch.nn.functional.silu(x)],
  "gelu by tanh": [
    (v) => stableTanh(inner(v, 0.044715)).add(1).mul(v).mul(0.5),
    (x, torch) => torch.nn.functional.gelu(x, { approximate: "tanh" }),
  ],
  "gelu by erf": [(v) => tl.erf(v.mul(0.70710678)).add(1).mul(v).mul(0.5), (x, torch) => torch.nn.functional.gelu(x)],
  "relu by a comparison": [(v) => tl.where(v.gt(0), v, 0), (x, torch) => torch.relu(x)],
  "exp by exp2": [(v) => tl.exp2(v.mul(1.44269504)), (x, torch) => torch.exp(x)],
  "a clamp": [(v) => tl.minimum(tl.maximum(v, -1), 1), (x, torch) => torch.clamp(x, -1, 1)],
};

test.each(Object.entries(right))("%s is shown", (_name, [body, reference]) => {
  expect(computes(elementwise(body, reference))).toEqual([{ kind: "equal" }]);
});

const unstable: typeof right = {
  "a sum that cancels": [(v) => v.add(1e8).sub(1e8), (x) => x.mul(1)],
  "a multiple that cancels": [(v) => v.mul(1e8).add(v).sub(v.mul(1e8)), (x) => x.mul(1)],
  "exp over 1 + exp": [(v) => tl.exp(v).div(tl.exp(v).add(1)), (x, torch) => torch.sigmoid(x)],
  "tanh by exp": [gelu(0.044715), (x, torch) => torch.nn.functional.gelu(x, { approximate: "tanh" })],
  "softplus by its formula": [(v) => tl.log(tl.exp(v).add(1)), (x, torch) => torch.nn.functional.softplus(x)],
};

test.each(Object.entries(unstable))("%s is unstable", (_name, [body, reference]) => {
  expect(computes(elementwise(body, reference)).map(({ kind }) => kind)).toEqual(["unstable"]);
});

const stable: typeof right = {
  "exp over 1 + exp, as its reference": [
    (v) => tl.exp(v).div(tl.exp(v).add(1)),
    (x, torch) => torch.exp(x).div(torch.exp(x).add(1)),
  ],
  "exp of what is not positive": [(v) => tl.exp(v.mul(v).mul(-0.5)), (x, torch) => torch.exp(x.mul(x).mul(-0.5))],
  "elu by a comparison": [(v) => tl.where(v.gt(0), v, tl.exp(v).sub(1)), (x, torch) => torch.nn.functional.elu(x)],
  "a small number that cancels": [(v) => v.add(1).sub(1), (x) => x.mul(1)],
};

test.each(Object.entries(stable))("%s is stable", (_name, [body, reference]) => {
  expect(computes(elementwise(body, reference))).toEqual([{ kind: "equal" }]);
});

/** A function of the rows of a block. */
const rows = (body: (values: any) => any, reference: (x: any, torch: any) => any) =>
  kernel(
    "rows",
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M", "N"]),
        ROWS: constexpr(),
        BLOCK: constexpr(),
      },
      grid: ({ M, ROWS }) => [tl.cdiv(M, ROWS)],
      requires: ({ N, BLOCK }) => [N.ge(1), N.le(BLOCK)],
      config: { ROWS: 2, BLOCK: 64 },
      reference: ({ x }: any, torch: any) => reference(x, torch),
    },
    ({ x, y, N, ROWS, BLOCK }: any) => {
      const row = tl.programId(0).mul(ROWS).add(tl.arange(0, ROWS));
      const cols = tl.arange(0, BLOCK);
      const mask = cols.row.lt(N);
      const values = tl.load(x.at(row, cols), { mask, other: -Infinity });
      tl.store(y.at(row, cols), body(values), { mask });
    },
  );
const softmaxBy = (shift: (values: any) => any) => (values: any) => {
  const powers = tl.exp(shift(values));
  return powers.div(tl.sum(powers, 1).col);
};
const best = (values: any) => tl.max(values, 1).col;
const rowKinds = (body: (values: any) => any, reference: (x: any, torch: any) => any) =>
  computes(rows(body, reference)).map(({ kind }) => kind);

describe("softmax of rows", () => {
  test.each(
    Object.entries<(values: any) => any>({
      "of its row": (values) => values.sub(best(values)),
      "and a small number": (values) => values.sub(best(values)).add(1),
    }),
  )("with the maximum %s is stable", (_name, shift) => {
    expect(rowKinds(softmaxBy(shift), (x, torch) => torch.softmax(x, -1))).toEqual(["equal"]);
  });
  test.each(
    Object.entries<(values: any) => any>({
      "with the maximum added": (values) => values.add(best(values)),
      "with twice the maximum": (values) => values.sub(best(values).mul(2)),
      "without the maximum": (values) => values.mul(1),
      "with the maximum and a large number": (values) => values.sub(best(values)).sub(1000),
      "with the maximum or 0": (values) => values.sub(tl.maximum(best(values), 0)),
      "with the maximum of all rows": (values) => values.sub(tl.max(tl.max(values, 1), 0)),
    }),
  )("%s is unstable", (_name, shift) => {
    expect(rowKinds(softmaxBy(shift), (x, torch) => torch.softmax(x, -1))).toEqual(["unstable"]);
  });
  test("names the line that overflows", () => {
    const [result] = computes(
      rows(
        softmaxBy((values) => values.add(best(values))),
        (x, torch) => torch.softmax(x, -1),
      ),
    );
    expect(result).toMatchObject({ kind: "unstable", at: { file: expect.stringContaining("computes.test.ts") } });
  });
  test("the logarithm of softmax is stable", () => {
    const logSoftmax = (values: any) => {
      const shifted = values.sub(best(values));
      return shifted.sub(tl.log(tl.sum(tl.exp(shifted), 1)).col);
    };
    expect(rowKinds(logSoftmax, (x, torch) => torch.nn.functional.log_softmax(x, -1))).toEqual(["equal"]);
  });
});

const wrong: typeof right = {
  "the root of a square": [(v) => tl.sqrt(v.mul(v)), (x) => x.mul(1)],
  "a quotient that may be 0 over 0": [(v) => v.div(v).mul(v), (x) => x.mul(1)],
  "exp of a logarithm": [(v) => tl.exp(tl.log(v)), (x) => x.mul(1)],
  "the logarithm of a square": [(v) => tl.log(v.mul(v)), (x, torch) => torch.log(x).mul(2)],
  "a factor next to 1": [(v) => v.mul(1.0000001), (x) => x.mul(1)],
  "a small summand": [(v) => v.add(1e-12), (x) => x.mul(1)],
  "another coefficient": [gelu(0.044175), (x, torch) => torch.nn.functional.gelu(x, { approximate: "tanh" })],
  "log2(e) to 5 digits": [(v) => tl.exp2(v.mul(1.4427)), (x, torch) => torch.exp(x)],
  "the other sign": [(v) => v.div(tl.exp(v).add(1)), (x, torch) => torch.nn.functional.silu(x)],
  "a comparison the other way": [(v) => tl.where(v.lt(0), v, 0), (x, torch) => torch.relu(x)],
  "a cast to integers": [(v) => v.to(tl.int32).to(tl.float32), (x) => x.mul(1)],
  "a bitcast": [(v) => v.to(tl.int32, { bitcast: true }).to(tl.float32, { bitcast: true }).add(0), (x) => x.mul(1)],
};

test.each(Object.entries(wrong))("%s is not", (_name, [body, reference]) => {
  expect(computes(elementwise(body, reference)).map(({ kind }) => kind)).toEqual(["unknown"]);
});

/** Softmax of rows in blocks, with a running maximum. */
const online = (change: Partial<typeof parts> = {}) => {
  const { masked, rescaled, first, key } = { ...parts, ...change };
  return kernel(
    "online",
    {
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
      grid: ({ M }) => [M],
      requires: ({ N }) => [N.ge(1)],
      config: { BLOCK: 64 },
      reference: ({ x }: any, torch: any) => torch.exp(x.sub(torch.amax(x, -1, true))).sum(-1),
    },
    ({ x, y, N, BLOCK }: any) => {
      const row = tl.programId(0);
      const best = tl.mut(tl.full([1], -Infinity, tl.float32));
      const total = tl.mut(tl.zeros([1], tl.float32));
      for (const start of tl.range(first(BLOCK), N, BLOCK)) {
        const cols = start.add(tl.arange(0, BLOCK));
        const values = tl.load(x.at(row, tl.inBounds(key(cols, N))), { mask: cols.lt(N), other: masked });
        const next = tl.maximum(best.value, tl.max(values, 0));
        total.value = rescaled(total.value, tl.exp(best.value.sub(next)), best.value).add(
          tl.sum(tl.exp(values.sub(next)), 0),
        );
        best.value = next;
      }
      tl.store(y.at(row.add(tl.arange(0, 1))), total.value);
    },
  );
};
const parts = {
  masked: -Infinity,
  rescaled: (total: any, scale: any, _best: any) => total.mul(scale),
  first: (_block: any): any => 0,
  key: (cols: any, _size: any): any => cols,
};

describe("a sum that follows a running maximum", () => {
  test("is shown", () => expect(computes(online())).toEqual([{ kind: "equal" }]));
  test.each(
    Object.entries<Partial<typeof parts>>({
      "with 0 in masked lanes": { masked: 0 },
      "without a rescaling": { rescaled: (total) => total },
      "with a summand in its first block": {
        rescaled: (total, scale, best) => tl.where(best.eq(-Infinity), total.add(5), total.mul(scale)),
      },
      "rescaled twice": { rescaled: (total, scale) => total.mul(scale).mul(scale) },
      "without its first block": { first: (block) => block },
      "of its first column": { key: (cols) => cols.mul(0) },
    }),
  )("is not shown %s", (_name, change) =>
    expect(computes(online(change)).map(({ kind }) => kind)).toEqual(["unknown"]),
  );
});

/** Softmax of rows in two loops: whole blocks, and the last one. A lane may see no element. */
const twoLoops = (change: Partial<typeof lanes> = {}) => {
  const { guard, rest, end } = { ...lanes, ...change };
  return kernel(
    "two_loops",
    {
      params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
      grid: ({ M }) => [M],
      requires: ({ N }) => [N.ge(1)],
      config: { BLOCK: 64 },
      reference: ({ x }: any, torch: any) => torch.exp(x.sub(torch.amax(x, -1, true))).sum(-1),
    },
    ({ x, y, N, BLOCK }: any) => {
      const row = tl.programId(0);
      const best = tl.mut(tl.full([BLOCK], -Infinity, tl.float32));
      const total = tl.mut(tl.zeros([BLOCK], tl.float32));
      const visit = (start: any) => {
        const values = tl.load(x.at(row, start.add(tl.arange(0, BLOCK))), { other: -Infinity });
        const next = tl.maximum(best.value, values);
        const shift = guard(next);
        total.value = total.value.mul(tl.exp(best.value.sub(shift))).add(tl.exp(values.sub(shift)));
        best.value = next;
      };
      const whole = N.floorDiv(BLOCK).mul(BLOCK);
      for (const start of tl.range(0, end(whole, BLOCK), BLOCK)) visit(start);
      for (const start of tl.range(rest(whole, BLOCK), N, BLOCK)) visit(start);
      const top = tl.max(best.value, 0);
      const sum = tl.sum(total.value.mul(tl.exp(best.value.sub(top))), 0);
      tl.store(y.at(row.add(tl.arange(0, 1))), sum.broadcastTo([1]));
    },
  );
};
const lanes = {
  guard: (next: any) => tl.where(next.eq(-Infinity), 0, next),
  rest: (whole: any, _block: any): any => whole,
  end: (whole: any, _block: any): any => whole,
};

describe("lanes with a maximum of their own, in two loops", () => {
  test.each([0, 1])("are shown with a guard of %i", (value) => {
    const guard = (next: any) => tl.where(next.eq(-Infinity), value, next);
    expect(computes(twoLoops({ guard }))).toEqual([{ kind: "equal" }]);
  });
  test.each(
    Object.entries<Partial<typeof lanes>>({
      "without a guard": { guard: (next) => next },
      "with the arms exchanged": { guard: (next) => tl.where(next.eq(-Infinity), next, 0) },
      "without the last block": { rest: (whole, block) => whole.add(block) },
      "with a block twice": { rest: (whole, block) => whole.sub(block) },
      "without the block before the last": { end: (whole, block) => whole.sub(block) },
    }),
  )("are not shown %s", (_name, change) =>
    expect(computes(twoLoops(change)).map(({ kind }) => kind)).toEqual(["unknown"]),
  );
});

/** A vector that is updated, in two stores. */
const updated = (body: (parts: any) => void, reference: (x: any) => any) =>
  kernel(
    "updated",
    {
      params: { x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      reference: ({ x }: any) => reference(x),
    },
    ({ x, BLOCK }: any) => body({ x, i: tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)) }),
  );

describe("a tensor that is updated", () => {
  test("is what it was before the launch", () => {
    const twice = updated(
      ({ x, i }) => tl.store(x.at(i), tl.load(x.at(i)).mul(2)),
      (x) => x.mul(2),
    );
    expect(computes(twice)).toEqual([{ kind: "equal" }]);
  });
  test("is not what it was once it is written", () => {
    const late = updated(
      ({ x, i }) => {
        tl.store(x.at(i), tl.load(x.at(i)).mul(2));
        tl.store(x.at(i), tl.load(x.at(i)).mul(2));
      },
      (x) => x.mul(2),
    );
    expect(computes(late)).toEqual([{ kind: "unknown", missing: WRITTEN_BEFORE }]);
  });
  test("may be written in a loop that has not read it yet", () => {
    const doubled = updatedRows(({ x, row, cols }) => tl.store(x.at(row, cols), tl.load(x.at(row, cols)).mul(2)));
    expect(computes(doubled)).toEqual([{ kind: "equal" }]);
  });
  test("may not be read after an earlier iteration has written it", () => {
    const carried = updatedRows(({ x, row, cols, BLOCK }) => {
      const before = tl.load(x.at(row, tl.maximum(cols.sub(BLOCK), 0)));
      tl.debugBarrier();
      tl.store(x.at(row, cols), before.mul(2));
      tl.debugBarrier();
    });
    expect(computes(carried)).toEqual([{ kind: "unknown", missing: WRITTEN_BEFORE }]);
  });
  test("may not be read after an inner loop has written it", () => {
    const again = updatedRows(({ x, row, cols }) => {
      const old = tl.load(x.at(row, cols));
      for (const _ of tl.range(0, 2)) tl.store(x.at(row, cols), old.mul(2));
      tl.store(x.at(row, cols), tl.load(x.at(row, cols)));
    });
    expect(computes(again)).toEqual([{ kind: "unknown", missing: WRITTEN_BEFORE }]);
  });
});

const WRITTEN_BEFORE = "nothing shows that a program has not yet written what it reads of x";

/** A kernel that changes the columns of a row in place, a block at a time, to x * 2. */
const updatedRows = (body: (parts: any) => void) =>
  kernel(
    "updated_rows",
    {
      params: { x: tensor.inout(tl.float32, ["M", "N"]), BLOCK: constexpr() },
      grid: ({ M }) => [M],
      config: { BLOCK: 64 },
      reference: ({ x }: any) => x.mul(2),
    },
    ({ x, N, BLOCK }: any) => {
      for (const start of tl.range(0, N, BLOCK))
        body({ x, BLOCK, row: tl.inBounds(tl.programId(0)), cols: start.add(tl.arange(0, BLOCK)) });
    },
  );

describe("a tensor that kernels of an operator update", () => {
  const step = (name: string, body: (y: any, x: any) => any, mask?: (i: any, N: any) => any) =>
    kernel(
      name,
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 64 },
      },
      ({ x, y, N, BLOCK }: any) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), body(tl.load(y.at(i)), tl.load(x.at(i))), mask ? { mask: mask(i, N) } : {});
      },
    );
  const add = step("add", (y, x) => y.add(x));
  const double = step("double", (y) => y.mul(2));
  const set = step("set", (_, x) => x.mul(1));
  const addHalf = step(
    "add_half",
    (y, x) => y.add(x),
    (i, N) => i.lt(N.floorDiv(2)),
  );
  type Chained = (x: any, torch: any, N: any) => any;
  const chain = (reference: Chained, forward: Chained) =>
    op(
      "chain",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
        reference: ({ x, N }: any, torch: any) => reference(x, torch, N),
      },
      ({ x, N }: any, torch: any) => ({ y: forward(x, torch, N) }),
    );
  /** 2 * (0 + x) + x, or with other steps. */
  const steps = (factor: number, ...kernels: readonly ReturnType<typeof step>[]) =>
    chain(
      (x) => x.mul(factor),
      (x, torch) => {
        const y = torch.zeros_like(x);
        for (const each of kernels) each.call({ x, y });
        return y;
      },
    );

  test.each([
    ["one after the other", steps(3, add, double, add)],
    ["whatever was in it before", steps(1, add, double, set)],
    [
      "after it had no elements",
      chain(
        (x) => x.mul(2),
        (x, torch, N) => {
          const y = torch.empty([N], { dtype: tl.float32 });
          set.call({ x, y });
          add.call({ x, y });
          return y;
        },
      ),
    ],
    [
      "in a part of its elements",
      chain(
        (x, torch, N) => torch.where(torch.arange(0, N).lt(N.floorDiv(2)), x, 0),
        (x, torch) => {
          const y = torch.zeros_like(x);
          addHalf.call({ x, y });
          return y;
        },
      ),
    ],
    [
      "is copied where PyTorch copies it",
      chain(
        (x) => x.mul(3),
        (x, torch) => {
          const y = torch.zeros_like(x);
          add.call({ x, y });
          const before = y.clone();
          add.call({ x: before, y });
          return y.add(before);
        },
      ),
    ],
  ])("is what they leave in it, %s", (_, right) => {
    expect(computes(right)).toEqual([{ kind: "equal" }]);
  });

  test.each([
    ["a wrong order", steps(3, add, add, double), "nothing shows that 4·x[i0] equals 3·x[i0]"],
    ["a step that is left out", steps(3, add, double), "nothing shows that 2·x[i0] equals 3·x[i0]"],
    [
      "elements that nothing sets",
      chain(
        (x) => x.mul(1),
        (x, torch, N) => {
          const y = torch.empty([N], { dtype: tl.float32 });
          add.call({ x, y });
          return y;
        },
      ),
      "nothing shows that undefined equals x[i0]",
    ],
    [
      "a view of what is updated later",
      chain(
        (x) => x.mul(1),
        (x, torch) => {
          const y = torch.zeros_like(x);
          add.call({ x, y });
          const view = y.view([-1]);
          add.call({ x, y });
          return view.mul(1);
        },
      ),
      "a tensor that may share memory with one that is updated later",
    ],
    [
      "an update through a view",
      chain(
        (x) => x.mul(0),
        (x, torch) => {
          const y = torch.zeros_like(x);
          add.call({ x, y: y.view([-1]) });
          return y;
        },
      ),
      "add updates y, which may share memory with another tensor",
    ],
    [
      "a tensor that is read and updated in one launch",
      chain(
        (x) => x.mul(2),
        (x, torch) => {
          const y = torch.zeros_like(x);
          add.call({ x, y });
          add.call({ x: y, y });
          return y;
        },
      ),
      "add updates y, which may share memory with another tensor",
    ],
    [
      "more launches than are followed",
      steps(17, ...Array.from({ length: 17 }, () => add)),
      "17 launches, of kernels that update tensors, are too many",
    ],
  ])("is not shown with %s", (_, wrong, missing) => {
    expect(computes(wrong)).toEqual([{ kind: "unknown", missing }]);
  });
});

/** A vector in two halves, each with a store of its own. */
const halves = (from: (half: any) => any) => {
  const inner = kernel(
    "halves",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        half: tensor(tl.float32, ["HALF"]),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr.launch(({ HALF }) => tl.nextPowerOf2(HALF)),
      },
      dims: { N: ({ HALF }: any) => HALF.mul(2) },
      grid: () => [1],
      config: {},
    } as any,
    ({ x, y, HALF, BLOCK }: any) => {
      const i = tl.arange(0, BLOCK);
      const mask = i.lt(HALF);
      tl.store(y.at(tl.inBounds(i)), tl.load(x.at(tl.inBounds(i)), { mask, other: 0 }), { mask });
      const second = tl.inBounds(i.add(from(HALF)));
      tl.store(y.at(second), tl.load(x.at(tl.inBounds(i.add(HALF))), { mask, other: 0 }), { mask });
    },
  );
  return op(
    "halves_op",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        half: tensor(tl.float32, ["HALF"]),
        y: tensor.out(tl.float32, ["N"]),
      },
      dims: { N: ({ HALF }: any) => HALF.mul(2) },
      reference: ({ x }: any) => x.mul(1),
    } as any,
    ({ x, half }: any) => (inner as any).call({ x, half }),
  );
};

describe("an output of several stores", () => {
  test("is what the store of each element writes", () =>
    expect(computes(halves((half) => half))).toEqual([{ kind: "equal" }]));
  test("is not shown where stores meet", () =>
    expect(computes(halves((half) => half.sub(1)))).toEqual([
      { kind: "unknown", missing: "several stores that may write one element" },
    ]));
});

/** The sum of a function of each element of a row, with infinity past the end. */
const padded = (summand: (values: any) => any, reference: (x: any, torch: any) => any) =>
  kernel(
    "padded",
    {
      params: {
        x: tensor(tl.float32, ["M", "N"]),
        y: tensor.out(tl.float32, ["M"]),
        BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      },
      grid: ({ M }) => [M],
      reference: ({ x }: any, torch: any) => reference(x, torch).sum(-1),
    },
    ({ x, y, BLOCK }: any) => {
      const row = tl.inBounds(tl.programId(0));
      const values = tl.load(x.at(row, tl.arange(0, BLOCK)), { other: Infinity });
      tl.store(y.at(row), tl.sum(summand(values), 0));
    },
  );

describe("infinity past the end of a row", () => {
  test.each<[string, (values: any) => any, (x: any, torch: any) => any, string]>([
    ["is no power of its negation", (v) => tl.exp(tl.sub(0, v)), (x, torch) => torch.exp(x.neg()), "equal"],
    ["is no summand", (v) => v, (x) => x.mul(1), "unknown"],
    ["is no power of itself", (v) => tl.exp(v), (x, torch) => torch.exp(x), "unknown"],
    ["is no maximum", (v) => tl.maximum(v, 0), (x, torch) => torch.relu(x), "unknown"],
  ])("%s", (_name, summand, reference, kind) => {
    expect(computes(padded(summand, reference)).map((each) => each.kind)).toEqual([kind]);
  });
});

/** A vector of which each group of elements has a scale, that of a block's first element. */
const groups = (size: number, ...blocks: readonly number[]) =>
  kernel(
    "groups",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        scale: tensor(tl.float32, ["GROUPS"]),
        y: tensor.out(tl.float32, ["N"]),
        BLOCK: constexpr(),
      },
      dims: { GROUPS: ({ N }) => tl.cdiv(N, size) },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      autotune: { key: ["N"], configs: blocks.map((BLOCK) => ({ BLOCK })) },
      reference: ({ x, scale, N }: any) => x.mul(scale.repeat_interleave(size, 0).narrow(0, 0, N)),
    },
    ({ x, scale, y, BLOCK }: any) => {
      const first = tl.programId(0).mul(BLOCK);
      const i = first.add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(i)).mul(tl.load(scale.at(first.floorDiv(size)))));
    },
  );

describe("a scale of each group of elements", () => {
  test("is that of the first element of a block in the group", () =>
    expect(computes(groups(128, 32, 64, 128))).toEqual([{ kind: "equal" }]));
  test.each([
    [96, 64],
    [64, 128],
  ])("of %i is not that of the first element of a block of %i", (size, block) =>
    expect(computes(groups(size, block)).map(({ kind }) => kind)).toEqual(["unknown"]),
  );
});

/** A product of integers, whose sums over fewer than `end` elements shall fit in int32. */
const integerProduct = (end: number, next: (sum: any, added: any) => any = (_, added) => added) =>
  kernel(
    "integer_product",
    {
      params: {
        a: tensor(tl.int8, ["M", "K"]),
        b: tensor(tl.int8, ["K", "N"]),
        c: tensor.out(tl.float32, ["M", "N"]),
        BLOCK: constexpr(),
      },
      grid: ({ M, N, BLOCK }) => [tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
      requires: ({ K }) => [K.lt(end)],
      reference: ({ a, b }: any, torch: any) => torch.matmul(a.float(), b.float()),
    },
    ({ a, b, c, K, BLOCK }: any) => {
      const rm = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const rn = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
      const acc: any = tl.mut(tl.zeros([BLOCK, BLOCK], tl.int32) as any);
      for (const k of tl.range(0, K, BLOCK)) {
        const rk = k.add(tl.arange(0, BLOCK));
        acc.value = next(acc.value, tl.dot(tl.load(a.at(rm, rk)), tl.load(b.at(rk, rn)), acc.value));
      }
      tl.store(c.at(rm, rn), acc.value.to(tl.float32));
    },
  );

describe("a sum of products of integers", () => {
  test("is exact where it fits in int32", () =>
    expect(computes(integerProduct(2 ** 17 - 64))).toEqual([{ kind: "equal" }]));
  test.each(
    Object.entries({
      "whose number is too large": integerProduct(2 ** 17 + 64),
      "that is doubled": integerProduct(2 ** 10, (_, added) => added.mul(2)),
      "that is added twice": integerProduct(2 ** 10, (sum, added) => sum.add(added)),
    }),
  )("%s is not", (_name, definition) => expect(computes(definition).map(({ kind }) => kind)).toEqual(["unknown"]));
});

/** The outputs of examples that are shown, each with all of its file. */
const SHOWN = [
  "add-layer-norm",
  "add-rms-norm",
  "all-reduce",
  "asin",
  "attention-gradients",
  "cross-entropy",
  "dependent-launch",
  "flash-attention",
  "fp8-gemm",
  "fp8-gemm-block-scaled",
  "gemm",
  "gemm-block-scaled",
  "gemm-float32",
  "gemm-persistent",
  "gemm-persistent-tma",
  "gemm-split-k",
  "gemm-tma",
  "int8-gemm",
  "layer-norm",
  "linear-cross-entropy",
  "mamba-chunk-scan",
  "paged-attention",
  "relative-attention",
  "rms-norm",
  "rotary",
  "silu-mul",
  "softmax",
  "softmax-long",
  "softmax-rows",
  "vector-add",
  "vector-sum",
];

/** Those of them whose gradients are all shown. */
const SHOWN_GRADIENTS = new Set([
  "add-layer-norm",
  "add-rms-norm",
  "cross-entropy",
  "layer-norm",
  "rms-norm",
  "rotary",
  "silu-mul",
]);

test.each(examples.filter(({ name }) => SHOWN.includes(name)))(
  "$name computes its reference",
  ({ name, kernel: definition }) => {
    const kinds = computes(definition, SHOWN_GRADIENTS.has(name)).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(["equal"]));
  },
);
