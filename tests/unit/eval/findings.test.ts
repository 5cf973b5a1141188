/** Each thing that the sanitizer tells, on the smallest kernel that does it, with the author's line. */
import { Message } from "../../../src/diagnostics/message.js";
import { describe, expect, test } from "vitest";
import { definitionOf } from "../../../src/dsl/definition.js";
import { kernel } from "../../../src/pipeline/build.js";
import { constexpr, tensor } from "../../../src/dsl/params.js";
import { trace } from "../../../src/dsl/trace.js";
import * as tl from "../../../src/dsl/tl.js";
import { evaluateKernel } from "../../../src/eval/evaluate-kernel.js";
import { Findings } from "../../../src/eval/findings.js";
import { evaluate, float32s, lineOf, onlyFinding } from "../../support/evaluate.js";

const line = (mark: string) => lineOf(import.meta.url, mark);

const params = { x: tensor(tl.float32, ["N"]), out: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() };
const spec = {
  params,
  grid: ({ N, BLOCK }: { readonly N: unknown; readonly BLOCK: unknown }) => [tl.cdiv(N as never, BLOCK as never)],
  config: { BLOCK: 4 },
} as const;
const one = { ...spec, grid: () => [1] } as const;

type Body = Parameters<typeof kernel<"k", typeof params>>[2];
const kernelOf = (body: Body) => kernel("k", spec as never, body as never);
const kernelOfOne = (body: Body) => kernel("k", one as never, body as never);

describe("out of bounds", () => {
  test("should report a read beside the tensor by raw pointer", () => {
    const k = kernelOf(({ x, out, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const values = tl.load(x.ptr.add(offsets)); // raw read
      tl.store(out.at(offsets), values);
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 6 } }));
    expect(finding).toMatchObject({ code: "out-of-bounds", program: [1], lane: [2] });
    expect(finding.at?.line).toBe(line("raw read"));
    expect(finding.message).toContain("element 6 of x is read");
    expect(finding.message).toContain("(and 1 more like it)");
  });

  test("should report a write beside the tensor, and not perform it", () => {
    const k = kernelOf(({ out, BLOCK }) => {
      const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(out.ptr.add(offsets.sub(1)), tl.zeros([BLOCK], tl.float32), { mask: offsets.lt(7) }); // raw write
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 6 } }));
    expect(finding).toMatchObject({ code: "out-of-bounds", program: [0], lane: [0] });
    expect(finding.at?.line).toBe(line("raw write"));
    expect(finding.message).toContain("element -1 of out is written");
  });

  test("should see the gaps of a tensor with strides", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      tl.store(out.at(lanes), tl.load(x.ptr.add(lanes)));
    });
    const { findings } = evaluate(k, { sizes: { N: 4 }, layouts: { x: "sliced" } });
    expect(findings[0]).toMatchObject({ code: "out-of-bounds", lane: [1] });
  });

  test("should reach a tensor with strides by its strides", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      tl.store(out.at(lanes), tl.load(x.ptr.add(lanes.mul(x.stride(0)))));
    });
    expect(evaluate(k, { sizes: { N: 4 }, layouts: { x: "sliced" } }).findings).toEqual([]);
  });

  test("should report a tl.inBounds that is false, with index and size", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      tl.store(out.at(lanes), tl.load(x.at(tl.inBounds(lanes)))); // false claim
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 3 } }));
    expect(finding).toMatchObject({ code: "false-in-bounds", program: [0], lane: [3] });
    expect(finding.at?.line).toBe(line("false claim"));
    expect(finding.message).toContain("index 3 on axis 0 of x, whose size there is 3");
  });
});

describe("values that were never given", () => {
  test("should be reported where they are stored", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const values = tl.load(x.ptr.add(lanes), { mask: lanes.lt(2) }); // leaves lanes unset
      tl.store(out.at(lanes), values.add(1)); // stores poison
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 4 } }));
    expect(finding).toMatchObject({ code: "uninitialized", program: [0], lane: [2] });
    expect(finding.at?.line).toBe(line("stores poison"));
    expect(finding.message).toContain("out[2]");
    expect(finding.message).toContain(`; the load in line ${line("leaves lanes unset")} left it unset (and 1 more`);
  });

  test("should name the loads that left them unset, and no others, by way of loops, branches and helpers", () => {
    const doubled = tl.fn("doubled", (v) => v.mul(2));
    const k = kernelOfOne(({ x, out, N, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const whole = tl.load(x.ptr.add(lanes), { mask: lanes.lt(N), other: 0 });
      const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
      for (const _ of tl.range(0, 2)) {
        sum.value = sum.value.add(tl.load(x.ptr.add(lanes), { mask: lanes.lt(3) })); // in the loop
      }
      const chosen = tl
        .when(N.gt(1), () => tl.load(x.ptr.add(lanes), { mask: lanes.lt(1) })) // in the arm
        .otherwise(() => whole);
      tl.store(out.at(lanes), doubled(sum.value).add(chosen).add(whole));
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 4 } }));
    const lines = ["in the loop", "in the arm"].map((mark) => `line ${line(mark)}`);
    expect(finding.message).toContain(`; the loads in ${lines.join(" and ")} left it unset`);
  });

  test("should be reported once where several copies of a JavaScript function load them", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const put = (from: number) => tl.store(out.at(lanes), tl.load(x.ptr.add(lanes), { mask: lanes.lt(from) })); // each copy
      put(1);
      put(2);
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 4 } }));
    expect(finding.message).toContain(`the load in line ${line("each copy")} left it unset (and 4 more like it)`);
  });

  test("should spread through a reduction", () => {
    const k = kernelOfOne(({ x, out, N, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const total = tl.sum(tl.load(x.ptr.add(lanes), { mask: lanes.lt(N) }), 0);
      tl.store(out.at(lanes), tl.zeros([BLOCK], tl.float32).add(total));
    });
    expect(onlyFinding(evaluate(k, { sizes: { N: 3 } }))).toMatchObject({ code: "uninitialized", lane: [0] });
    expect(evaluate(k, { sizes: { N: 4 } }).findings).toEqual([]);
  });

  test("should be silenced by a where that chooses the other side", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const values = tl.load(x.ptr.add(lanes), { mask: lanes.lt(2) });
      tl.store(out.at(lanes), tl.where(lanes.lt(2), values, 7));
    });
    const { outputs, findings } = evaluate(k, { sizes: { N: 4 } }, { x: float32s(1, 2, 3, 4) });
    expect([[...outputs["out"]!.data], findings]).toEqual([[1, 2, 7, 7], []]);
  });

  test("should be silent where `other` fills, a view fills, and the store masks", () => {
    const k = kernelOfOne(({ x, out, N, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const filled = tl.load(x.ptr.add(lanes), { mask: lanes.lt(2), other: 5 });
      const masked = tl.load(x.ptr.add(lanes), { mask: lanes.lt(N) });
      const total = tl.sum(tl.load(x.at(lanes)), 0);
      tl.store(out.at(lanes), filled.add(masked).add(total));
    });
    const { outputs, findings } = evaluate(k, { sizes: { N: 3 } }, { x: float32s(1, 2, 3) });
    expect([[...outputs["out"]!.data], findings]).toEqual([[8, 10, 14], []]);
  });

  test("should be silent where the other operand of a bit operation decides alone, and only there", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const some = tl.load(x.ptr.add(lanes), { mask: lanes.lt(2) }).to(tl.int32);
      const flags = some.gt(1);
      const both = [flags.and(lanes.lt(2)), lanes.lt(2).logicalAnd(flags), lanes.lt(2).and(lanes.lt(4), flags)];
      const either = [flags.or(lanes.ge(2)), lanes.ge(2).logicalOr(flags)];
      const bits = [some.and(tl.where(lanes.lt(2), 3, 0)), some.or(tl.where(lanes.lt(2), 0, -1)).and(3)];
      const sum = [...both, ...either]
        .map((each) => each.to(tl.int32))
        .concat(bits)
        .reduce((a, b) => a.add(b));
      tl.store(out.at(lanes), sum.to(tl.float32));
      tl.store(out.at(lanes), flags.and(lanes.lt(3)).to(tl.float32)); // poison in lane 2
      tl.store(out.at(lanes), some.or(1).to(tl.float32)); // poison in both
    });
    const { outputs, findings } = evaluate(k, { sizes: { N: 4 } }, { x: float32s(1, 2, 3, 4) });
    expect(outputs["out"]).toBeDefined();
    expect(findings.map(({ code, at, lane }) => [code, at?.line, lane])).toEqual([
      ["uninitialized", line("poison in lane 2"), [2]],
      ["uninitialized", line("poison in both"), [2]],
    ]);
  });

  test("should be reported where they decide an address, a mask, a branch and a loop", () => {
    const k = kernelOfOne(({ x, out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const none = tl.load(x.ptr.add(lanes), { mask: lanes.lt(0) }).to(tl.int32);
      const bound = tl.sum(none, 0);
      tl.store(out.at(none), 1); // poison address
      tl.store(out.at(lanes), 1, { mask: none.lt(1) }); // poison mask
      tl.when(bound.lt(1), () => tl.store(out.at(lanes), 1)); // poison branch
      for (const i of tl.range(0, bound)) tl.store(out.at(i), 1); // poison loop
    });
    const { findings } = evaluate(k, { sizes: { N: 4 } });
    const marks = ["poison address", "poison mask", "poison branch", "poison loop"];
    expect(findings.map(({ code, at }) => [code, at?.line])).toEqual(
      marks.map((mark) => ["uninitialized", line(mark)]),
    );
  });

  test("should be reported where an output is read that nothing was written to", () => {
    const k = kernelOfOne(({ out, BLOCK }) => {
      const lanes = tl.arange(0, BLOCK);
      const values = tl.load(out.at(lanes)); // reads the output
      tl.store(out.at(lanes), tl.where(lanes.lt(0), values, 1));
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 4 } }));
    expect(finding).toMatchObject({ code: "uninitialized", lane: [0] });
    expect(finding.at?.line).toBe(line("reads the output"));
  });
});

describe("programs that meet", () => {
  const overlapping = kernelOf(({ out, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).sub(tl.programId(0)).add(tl.arange(0, BLOCK));
    tl.store(out.at(offsets), tl.zeros([BLOCK], tl.float32)); // writes twice
  });

  test("should report two that write one element, in any order", () => {
    const finding = onlyFinding(evaluate(overlapping, { sizes: { N: 7 } }));
    expect(finding).toMatchObject({ code: "race", program: [1], lane: [0] });
    expect(finding.at?.line).toBe(line("writes twice"));
    expect(finding.message).toContain("out[3] is written here and also written by program (0)");
    const ir = trace(definitionOf(overlapping));
    const inputs = { x: float32s(0, 0, 0, 0, 0, 0, 0) };
    const run = { sizes: { N: 7 }, dtypes: {}, constexprs: { BLOCK: 4 }, inputs, order: "shuffled" as const };
    for (const seed of [1, 2, 3, 4])
      expect(evaluateKernel(ir, { ...run, seed }).findings.map(({ code }) => code)).toEqual(["race"]);
  });

  test("should report one that reads what another writes", () => {
    const k = kernel(
      "shift",
      {
        params: { x: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 4 },
      },
      ({ x, BLOCK }) => {
        const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const next = tl.load(x.at(offsets.add(1)));
        // Between programs it orders nothing.
        tl.debugBarrier();
        tl.store(x.at(offsets), next); // writes what the first reads
      },
    );
    const finding = onlyFinding(evaluate(k, { sizes: { N: 8 } }));
    expect(finding).toMatchObject({ code: "race", program: [1], lane: [0] });
    expect(finding.at?.line).toBe(line("writes what the first reads"));
    expect(finding.message).toContain("x[4] is written here and read by program (0)");
  });
});

describe("outputs", () => {
  test("should report what is never written", () => {
    const k = kernelOfOne(({ out, BLOCK }) => {
      tl.store(out.at(tl.arange(0, BLOCK)), tl.zeros([BLOCK], tl.float32)); // leaves some out
    });
    const finding = onlyFinding(evaluate(k, { sizes: { N: 6 } }));
    expect(finding).toMatchObject({ code: "never-written", program: [], lane: [] });
    expect(finding.at?.line).toBe(line("leaves some out"));
    expect(finding.message).toContain("(the grid is [1])");
    expect(finding.message).toContain("2 of 6 elements of out are never written, the first is out[4]");
  });
});

test("findings are one for each rule and place, and no more than can be read", () => {
  const findings = new Findings();
  const what = () => ({ message: new Message("race", "wrong", ""), program: [0], lane: [1] });
  for (let line = 1; line <= 25; line++) findings.add("race", { file: "k.ts", line, column: 1 }, 2, what);
  findings.add("race", { file: "k.ts", line: 1, column: 1 }, 3, what);
  expect(findings.list()).toHaveLength(20);
  expect(findings.list()[0]?.message).toBe("wrong (and 4 more like it)");
  expect(findings.unlisted).toBe(10);
});
