/** What is emitted is what is evaluated: the lowered kernel leaves, bit for bit, what the author's does. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cases } from "tilescript/testing";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import type { TestCase, CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { evaluateCase } from "../../../src/eval/evaluate-case.js";
import type { KernelIR } from "../../../src/ir/nodes.js";
import { lowerViews } from "../../../src/lower/views.js";
import { gemm } from "../../../examples/gemm.js";
import { sampleCases, sampledTests } from "../../support/sampled-tests.js";
import { examples } from "../../support/examples.js";
import { recipeOf } from "../random/draw.js";
import { SIZES } from "../random/example-cases.js";
import { inputFor } from "../random/inputs.js";
import { accept } from "../random/jobs.js";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import * as wrong from "./rewrite.js";
import { fc } from "../../support/property.js";

sampledTests("kernels in lowered form", "src/lower", "src/eval");

const SEED = Number(process.env["RANDOM_SEED"] ?? 20_261_121);
/** 1,000 random kernels take two minutes. */
const RANDOM = Number(process.env["LOWERED_KERNELS"] ?? 160);
/** Cases of each config of an example, and of each choice of dtypes. */
const EACH = 2;

/** The cases of a kernel: some of each config and of each choice of dtypes, in every layout, and one of each at size 1. */
function casesOf(kernel: CompiledKernel, name: string): TestCase[] {
  const options = { maxSize: 40, ...SIZES[name], empty: true };
  const all = choices(kernel);
  const count = Math.max(kernel.configs.length, all.length);
  return Array.from({ length: count }, (_, i) => {
    const config = i % kernel.configs.length;
    const dtypes = all[i % all.length]!;
    return fc.sample(cases(kernel, { ...options, config, dtypes }), { seed: SEED + i, numRuns: EACH });
  }).flat();
}

function choices({ signature }: CompiledKernel): readonly Readonly<Record<string, string>>[] {
  return Object.entries(signature.dtypes).reduce<readonly Readonly<Record<string, string>>[]>(
    (all, [name, members]) => all.flatMap((chosen) => members.map((member) => ({ ...chosen, [name]: member }))),
    [{}],
  );
}

describe("the examples", { timeout: 120_000 }, () => {
  test.each(examples.map(({ name, kernel }) => [name, kernel] as const))("%s", async (name, kernel) => {
    const compiled = await build(kernel);
    const drawn = casesOf(compiled, name);
    expect(drawn.length).toBeGreaterThan(0);
    for (const at of drawn) {
      const { findings, unchecked } = compiled.evaluate(at, { lowered: true });
      expect({ at, findings, outputs: unchecked.length }).toEqual({ at, findings: [], outputs: unchecked.length });
    }
  });
});

describe(`${RANDOM} random kernels from seed ${SEED}`, { timeout: 600_000 }, () => {
  test("compute what their lowered form computes", () => {
    const all = Array.from({ length: RANDOM }, (_, i) => SEED + i);
    const seeds = sampleCases("lowered random kernels", all, { key: String, perRun: 50 });
    let evaluated = 0;
    for (const seed of seeds) {
      const made = accepted(seed);
      if (!made) continue;
      const { compiled, sizes, scalars } = made;
      const read = compiled.signature.tensors.filter(({ role }) => role !== "out");
      const inputs = Object.fromEntries(read.map((each, k) => [each.name, inputFor(each, sizes, seed * 31 + k)]));
      const at = { sizes, scalars, dtypes: {}, config: 0, seed };
      const authored = compiled.evaluate(at, { inputs });
      if (authored.unchecked.length > 0 || authored.findings.length > 0) continue;
      evaluated++;
      expect({ seed, findings: compiled.evaluate(at, { inputs, lowered: true }).findings }).toEqual({
        seed,
        findings: [],
      });
    }
    expect(evaluated).toBeGreaterThan(seeds.length / 3);
  });
});

function accepted(seed: number): ReturnType<typeof accept> | undefined {
  try {
    return accept(recipeOf(seed), { values: true });
  } catch (error) {
    if (error instanceof TileScriptError) return undefined;
    throw error;
  }
}

// ---- what is found --------------------------------------------------------------------------------------------------

const x = tensor(tl.float32, ["N"]);
const y = tensor.out(tl.float32, ["N"]);
const BLOCK = 8;

/** A kernel of `x` and `y` over blocks of `N`. */
function over(body: (args: any, lanes: any) => void, params: object = { x, y }): KernelIR {
  const made = kernel(
    "over",
    { params, grid: ({ N }: any) => [tl.cdiv(N, BLOCK)] } as never,
    ((args: any) => body(args, tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK)))) as never,
  );
  return trace(definitionOf(made));
}

function codes(ir: KernelIR, at: Partial<TestCase> = {}): string[] {
  const given = { sizes: { N: 20 }, dtypes: {}, config: 0, seed: 1, ...at };
  const { findings } = evaluateCase(ir, signatureOf(ir), given, undefined);
  return [...new Set(findings.map(({ code }) => code))].sort();
}

describe("what is wrong is found in both forms", () => {
  test.each<[string, KernelIR, authored: string[], emitted?: string[]]>([
    ["nothing", over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.at(i)))), []],
    ["a raw pointer past the end", over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.ptr.add(i)))), ["out-of-bounds"]],
    [
      "a raw pointer before the start",
      over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.ptr.sub(1)))),
      ["out-of-bounds", "uninitialized"],
    ],
    [
      "a store that two programs make",
      over(({ x, y }, i) => tl.store(y.at(i.mod(8)), tl.load(x.at(i)))),
      ["never-written", "race"],
    ],
    [
      "elements that are left out",
      over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.at(i)), { mask: i.gt(0) })),
      ["never-written"],
    ],
    [
      "lanes that meet",
      over(({ x, y }, i) => {
        tl.store(y.at(i), 0);
        tl.store(y.at(i.floorDiv(8)), tl.load(x.at(i)));
      }),
      ["lane-conflict", "race"],
    ],
    // A claim is a statement of the author's about an axis. Its lowered form has addresses only: it is found where they leave the tensor.
    [
      "a claim that is false past the end",
      over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.at(tl.inBounds(i))))),
      ["false-in-bounds"],
      ["out-of-bounds"],
    ],
    // Masked lanes hold 0 as they are emitted, so that nothing without a value is stored.
    [
      "a mask without other",
      over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.at(i), { mask: i.gt(0) }))),
      ["uninitialized"],
      [],
    ],
  ])("%s", (_, ir, authored, emitted = authored) => {
    expect(codes(ir)).toEqual(authored);
    expect(codes(lowerViews(ir))).toEqual(emitted);
  });
});

// ---- a lowering that is wrong ---------------------------------------------------------------------------------------

/** Reads beside each element, so that both bounds matter, with what is masked among the results. */
const beside = over(({ x, y }, i) => tl.store(y.at(i), tl.load(x.at(i.sub(1))).add(tl.load(x.at(i.add(1))))));
const transposing = trace(
  definitionOf(
    kernel(
      "transposing",
      { params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M", "N"]) }, grid: () => [1] },
      ({ x, y }) => {
        const [rm, rn] = [tl.arange(0, 8), tl.arange(0, 16)];
        tl.store(y.at(rm, rn), tl.load(x.at(rm, rn)).add(1));
      },
    ),
  ),
);
/** Multiplies matrices, so that pointers are carried; K is not a multiple of its block. */
const product = trace(definitionOf(gemm));

/** Every second block from the second on, counted by blocks: pointers begin at a multiple of what counts, and move by one. */
const multiples = trace(
  definitionOf(
    kernel(
      "multiples",
      {
        params: {
          a: tensor(tl.float16, ["M", "K"]),
          b: tensor(tl.float16, ["K", "N"]),
          c: tensor.out(tl.float32, ["M", "N"]),
        },
        grid: () => [1],
      },
      ({ a, b, c, K }) => {
        const r = tl.arange(0, BLOCK);
        const acc = tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32));
        for (const step of tl.range(1, tl.cdiv(K, BLOCK), 2)) {
          const rk = step.mul(BLOCK).add(tl.arange(0, BLOCK));
          acc.value = tl.dot(tl.load(a.at(r, rk)), tl.load(b.at(rk, r)), acc.value);
        }
        tl.store(c.at(r, r), acc.value);
      },
    ),
  ),
);

describe("a lowering that is wrong is noticed", () => {
  const small = { sizes: { M: 5, N: 12, K: 37 }, dtypes: { T: "float16" }, config: 7 };
  test.each<[string, KernelIR, (ir: KernelIR) => KernelIR, Partial<TestCase>]>([
    ["a lower bound that is missing", beside, wrong.withoutLowerBounds, {}],
    ["an upper bound that is missing", beside, wrong.withoutUpperBounds, {}],
    ["an upper bound that is missing, under a claim", product, wrong.withoutUpperBounds, small],
    ["strides of another axis", transposing, wrong.withSwappedStrides, { sizes: { M: 5, N: 12 } }],
    ["a wrong step of carried pointers", product, wrong.withWrongSteps, small],
    [
      "a wrong step of pointers that move by a multiple",
      multiples,
      wrong.withWrongSteps,
      { sizes: { M: 5, N: 7, K: 100 } },
    ],
    ["masked lanes that hold something else", beside, wrong.withOtherLanes, {}],
    ["masked lanes that hold something else, in a product", product, wrong.withOtherLanes, small],
  ])("%s", (_, ir, change, at) => {
    const given = { sizes: { N: 20 }, dtypes: {}, config: 0, seed: 1, ...at };
    const lowered = lowerViews(ir);
    const found = (form: KernelIR) => evaluateCase(ir, signatureOf(ir), given, undefined, { lowered: form }).findings;
    expect(found(lowered)).toEqual([]);
    expect(found(change(lowered)).length).toBeGreaterThan(0);
  });
});

test("a launch constexpr below 0 is masked below, in what is emitted", async () => {
  const shifted = await build(
    kernel(
      "shifted",
      {
        params: { x, y, OFFSET: constexpr.launch(({ N }) => N.sub(1000)) },
        grid: ({ N }) => [tl.cdiv(N, BLOCK)],
      },
      ({ x, y, OFFSET }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i.add(OFFSET))));
      },
    ),
  );
  expect(shifted.python).toContain(">= 0");
  const at = { sizes: { N: 20 }, dtypes: {}, config: 0, seed: 1 };
  expect(shifted.evaluate(at, { lowered: true }).findings).toEqual([]);
});
