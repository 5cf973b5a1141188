/** What is told of numbers: index arithmetic that wraps or truncates, lanes that disagree, and NaN where it comes from. */
import { describe, expect, test } from "vitest";
import { kernel, pointer, scalar, tensor, tl } from "tilescript";
import { evaluate, float32s, lineOf, onlyFinding } from "../../support/evaluate.js";

const line = (mark: string) => lineOf(import.meta.url, mark);

const int32s = (...values: readonly number[]) => ({
  dtype: "int32",
  shape: [values.length],
  data: Int32Array.from(values),
});

describe("index arithmetic", () => {
  /** Four lanes of a tensor, at offsets of the author. */
  const loads = (offsetsOf: (lanes: any, stride: any) => any) =>
    kernel(
      "k",
      {
        params: {
          x: tensor(tl.float32, ["N"]),
          out: tensor.out(tl.float32, [4]),
          stride: scalar(tl.int32),
        },
        grid: () => [1],
      },
      ({ x, out, stride }) => {
        const lanes = tl.arange(0, 4);
        const offsets = offsetsOf(lanes, stride) as typeof lanes;
        tl.store(out.at(lanes), tl.load(x.ptr.add(offsets), { mask: offsets.ge(0).and(offsets.lt(4)), other: 0 }));
      },
    );
  const run = (offsetsOf: (lanes: any, stride: any) => any, stride: number) =>
    evaluate(loads(offsetsOf), { sizes: { N: 4 }, scalars: { stride } });

  test("should report a product that wraps, with the values and the cast", () => {
    const wraps = (lanes: any, stride: any) => lanes.mul(stride); // wraps
    const finding = onlyFinding(run(wraps, 2 ** 30));
    expect(finding).toMatchObject({ code: "overflow", program: [0], lane: [2] });
    expect(finding.at?.line).toBe(line("wraps"));
    expect(finding.message).toContain("2 * 1073741824 is 2147483648, which wraps to -2147483648 in int32");
    expect(finding.message).toContain("tl.int64");
    expect(finding.message).toContain("{ offsets: tl.int64 }");
    expect(run(wraps, 2 ** 29).findings).toEqual([]);
  });

  test("should be silent in the wider dtype, and where unsigned numbers wrap", () => {
    expect(run((lanes, stride) => lanes.to(tl.int64).mul(stride), 2 ** 30).findings).toEqual([]);
    expect(run((lanes, stride) => lanes.to(tl.uint32).mul(stride.to(tl.uint32)).mod(4), 2 ** 30).findings).toEqual([]);
  });

  test("should follow an index through state, branches, loops and helper functions", () => {
    const offset = tl.fn((lanes: any, stride: any) => lanes.mul(stride)); // in the helper
    const finding = onlyFinding(
      run((lanes, stride) => {
        const offsets = tl.mut(lanes);
        for (const _ of tl.range(0, 1)) offsets.value = offset(lanes, stride) as any;
        return tl.when(stride.gt(0), () => offsets.value).otherwise(() => lanes);
      }, 2 ** 30),
    );
    expect(finding.at?.line).toBe(line("in the helper"));
  });

  test("should report a negative dividend where C and Python differ", () => {
    const before = (lanes: any, n: any) => lanes.sub(2).mod(n); // truncates
    const finding = onlyFinding(run(before, 4));
    expect(finding).toMatchObject({ code: "negative-division", program: [0], lane: [0] });
    expect(finding.at?.line).toBe(line("truncates"));
    expect(finding.message).toContain("-2 % 4 is -2 in Triton, which truncates toward zero as C does, and 2 in Python");
    expect(onlyFinding(run((lanes, n) => lanes.sub(2).floorDiv(n), 4)).message).toContain("-2 // 4 is 0 in Triton");
    expect(run((lanes, n) => lanes.sub(2).add(n).mod(n), 4).findings).toEqual([]);
    // Both give -1.
    expect(run((lanes, n) => lanes.sub(4).floorDiv(n).mul(n), 1).findings).toEqual([]);
  });

  test("should be silent about a choice between indices, one of which is negative", () => {
    const wrapped = (lanes: any) => tl.where(lanes.lt(2), lanes.sub(2).add(4), lanes.sub(2));
    const chosen = (lanes: any) => tl.where(lanes.lt(2), lanes.sub(4), lanes);
    expect(run(wrapped, 1).findings).toEqual([]);
    expect(run(chosen, 1).findings).toEqual([]);
  });

  test("should be silent about values that are only stored", () => {
    const k = kernel(
      "k",
      { params: { x: tensor(tl.int32, [4]), out: tensor.out(tl.int32, [4]) }, grid: () => [1] },
      ({ x, out }) => {
        const lanes = tl.arange(0, 4);
        const values = tl.load(x.at(lanes));
        tl.store(out.at(lanes), values.mul(values).add(values.mod(3)));
      },
    );
    const { findings } = evaluate(k, { sizes: {} }, { x: int32s(-7, 65536, 1 << 30, -1) });
    expect(findings).toEqual([]);
  });
});

describe("lanes of one store", () => {
  const scatter = kernel(
    "k",
    {
      params: { x: tensor(tl.float32, ["N"]), index: tensor(tl.int32, ["N"]), out: tensor.out(tl.float32, [3]) },
      grid: () => [1],
    },
    ({ x, index, out }) => {
      const lanes = tl.arange(0, 4);
      tl.store(out.gather(tl.load(index.at(lanes))), tl.load(x.at(lanes))); // two lanes meet
    },
  );
  const scattered = (index: readonly number[], values: readonly number[]) =>
    evaluate(scatter, { sizes: { N: 4 } }, { index: int32s(...index), x: float32s(...values) });

  test("should be reported where they write different values to one element", () => {
    const finding = onlyFinding(scattered([0, 1, 2, 1], [5, 6, 7, 8]));
    expect(finding).toMatchObject({ code: "lane-conflict", program: [0], lane: [1] });
    expect(finding.at?.line).toBe(line("two lanes meet"));
    expect(finding.message).toContain("out[1] gets 6 from this lane and 8 from lane (3) of the same store");
  });

  test("should be silent where they write the same value, NaN too", () => {
    expect(scattered([0, 1, 2, 1], [5, 6, 7, 6]).findings).toEqual([]);
    expect(scattered([0, 1, 2, 1], [5, NaN, 7, NaN]).findings).toEqual([]);
  });
});

describe("NaN and infinity", () => {
  const logs = kernel(
    "k",
    { params: { x: tensor(tl.float32, ["N"]), out: tensor.out(tl.float32, ["N"]) }, grid: () => [1] },
    ({ x, out, N }) => {
      const lanes = tl.arange(0, 4);
      const values = tl.load(x.at(lanes), { other: -Infinity });
      const shifted = values.sub(tl.max(values, 0)); // subtracts
      const logs = tl.log(values); // takes logarithms
      tl.store(out.at(lanes), tl.where(lanes.lt(N), logs.add(shifted), 0));
    },
  );
  const run = (values: readonly number[], nonFinite = true) =>
    evaluate(logs, { sizes: { N: values.length } }, { x: float32s(...values) }, undefined, { nonFinite });

  test("should be reported where they first appear, with the operands", () => {
    const finding = onlyFinding(run([1, -3, 2, 4]));
    expect(finding).toMatchObject({ code: "non-finite", program: [0], lane: [1] });
    expect(finding.at?.line).toBe(line("takes logarithms"));
    expect(finding.message).toContain("tl.log makes NaN where x = -3");
    expect(onlyFinding(run([1, 2, 0, 4])).message).toContain("tl.log makes a negative infinity where x = 0");
  });

  test("should be reported where infinities cancel, and not where they come from outside", () => {
    const finding = run([Infinity, 2, 3, 4]).findings[0];
    expect(finding).toMatchObject({ code: "non-finite", lane: [0] });
    expect(finding?.at?.line).toBe(line("subtracts"));
    expect(finding?.message).toContain("tl.sub makes NaN where x = Infinity and y = Infinity");
    // A NaN of the input is not made here.
    expect(run([1, NaN, 3, 4]).findings).toEqual([]);
  });

  test("should be reported on request only", () => {
    expect(run([1, -3, 0, 4], false).findings).toEqual([]);
  });

  test("should not name a reduction of what was infinite, nor what a cast keeps", () => {
    // Lane 3 is masked: -Infinity goes through max, log makes NaN of it, which is new.
    expect(run([1, 2, 3]).findings.map(({ message }) => message)).toEqual([
      expect.stringContaining("tl.log makes NaN where x = -Infinity"),
    ]);
  });
});

describe("raw pointers", () => {
  const fill = kernel("k", { params: { p: pointer(tl.float32), n: scalar(tl.int32) }, grid: () => [1] }, ({ p, n }) => {
    const lanes = tl.arange(0, 4);
    tl.store(p.add(lanes), tl.load(p.add(lanes), { mask: lanes.lt(n), other: 1 }).mul(2)); // beyond the buffer
  });
  const run = (size: number) =>
    evaluate(fill, { sizes: {}, scalars: { n: 3 } }, { p: float32s(...Array.from({ length: size }, () => 4)) });

  test("should reach the tensor that is given for them, and give it back", () => {
    const { outputs, findings } = run(4);
    expect([[...outputs["p"]!.data], findings]).toEqual([[8, 8, 8, 2], []]);
  });

  test("should not leave it", () => {
    const finding = onlyFinding(run(3));
    expect(finding).toMatchObject({ code: "out-of-bounds", lane: [3] });
    expect(finding.at?.line).toBe(line("beyond the buffer"));
    expect(finding.message).toContain("element 3 of p is written");
  });
});

describe("the order of programs", () => {
  /** Each program takes the next ticket and writes its own number there. */
  const tickets = kernel(
    "k",
    {
      params: { counter: tensor.inout(tl.int32, [1]), out: tensor.out(tl.int32, ["N"]) },
      grid: ({ N }) => [N],
    },
    ({ counter, out }) => {
      const ticket = tl.atomicAdd(counter.at(tl.inBounds(tl.programId(0).mul(0))), 1);
      tl.store(out.at(ticket), tl.programId(0));
    },
  );
  const run = (order: any, seed = 1) => {
    const at = { sizes: { N: 6 }, seed };
    return [...evaluate(tickets, at, { counter: int32s(0) }, undefined, { order }).outputs["out"]!.data];
  };

  test("should be as asked, and the same for the same seed", () => {
    expect(run(undefined)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(run("reversed")).toEqual([5, 4, 3, 2, 1, 0]);
    expect(run([2, 0, 1, 5, 3, 4])).toEqual([2, 0, 1, 5, 3, 4]);
    expect(run("shuffled", 7)).toEqual(run("shuffled", 7));
    expect(run("shuffled", 7)).not.toEqual(run("shuffled", 8));
    expect(run("shuffled").toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("should name each program once", () => {
    expect(() => run([0, 1, 2])).toThrow("or each program from 0 to 5 once");
    expect(() => run([0, 1, 2, 3, 4, 4])).toThrow("or each program from 0 to 5 once");
  });
});

describe("a number beside a tile of a narrow float", () => {
  const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
  /** What the first lanes hold as float32. */
  const lanes = (dtype: "float16" | "bfloat16", body: (x: any, i: any) => any): readonly unknown[] => {
    const k = kernel(
      "k",
      { params: { x: tensor(T, [4]), y: tensor.out(tl.float32, [4]) }, grid: () => [1] },
      ({ x, y }) => {
        const i = tl.arange(0, 4);
        tl.store(y.at(i), body(x, i).to(tl.float32));
      },
    );
    const x = { dtype, shape: [4], data: Float32Array.of(7, 13, 0.5, -1) };
    return [...evaluate(k, { sizes: {}, dtypes: { T: dtype } }, { x }).outputs["y"]!.data];
  };
  const tenth = { float16: 0.0999755859375, bfloat16: 0.10009765625 } as const;

  test.each(["float16", "bfloat16"] as const)("should be rounded to %s, as Triton rounds it", (dtype) => {
    const held = tenth[dtype];
    const load = (x: any, i: any, other: number) => tl.load(x.at(i), { mask: i.lt(0), other });
    expect(lanes(dtype, (x, i) => load(x, i, 0.1))).toEqual([held, held, held, held]);
    expect(lanes(dtype, () => tl.full([4], 0.1, T))).toEqual([held, held, held, held]);
    expect(lanes(dtype, (x, i) => load(x, i, held).eq(0.1))).toEqual([1, 1, 1, 1]);
    expect(lanes(dtype, (x, i) => tl.where(i.lt(2), tl.load(x.at(i)), 0.1)).slice(2)).toEqual([held, held]);
    const large = dtype === "float16" ? Infinity : 70144;
    expect(lanes(dtype, (x, i) => load(x, i, 70000))[0]).toBe(large);
    // 7 · 0.1 rounds to another float16 than 7 times the float16 beside 0.1, and 13 · 0.1 to another bfloat16.
    const [seven, thirteen] = lanes(dtype, (x, i) => tl.load(x.at(i)).mul(0.1));
    expect([seven, thirteen]).toEqual(dtype === "float16" ? [0.69970703125, 1.2998046875] : [0.69921875, 1.3046875]);
  });
});
