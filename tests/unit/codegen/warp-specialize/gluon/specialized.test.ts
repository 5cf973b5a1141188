/** Modules with a warp-specialized kernel: their Python, and that the plain kernel is what it is without. */
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { describe, expect, test } from "vitest";
import { build, compile, op, tensor, tl } from "tilescript";
import { attentionWithGradients } from "../../../../../examples/attention-gradients.js";
import { crossEntropy } from "../../../../../examples/cross-entropy.js";
import { attention } from "../../../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../../../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../../../../../examples/fp8-gemm.js";
import { gemmPersistentTma } from "../../../../../examples/gemm-persistent-tma.js";
import { gemmTma } from "../../../../../examples/gemm-tma.js";
import { gemm } from "../../../../../examples/gemm.js";
import { int4Gemm } from "../../../../../examples/int4-gemm.js";
import { linearGelu } from "../../../../../examples/linear-gelu.js";
import { relativeAttention } from "../../../../../examples/relative-attention.js";
import { softmax } from "../../../../../examples/softmax.js";
import { vectorAdd } from "../../../../../examples/vector-add.js";
import { moduleNames } from "../../../../../src/codegen/module/signature.js";
import { lint } from "../../../../support/emit.js";
import * as attentions from "../../fixtures/attentions.js";
import * as products from "../../fixtures/products.js";
import * as modifications from "../../fixtures/score-modifications.js";

const ruff = new Workspace({ "line-length": 88 }, PositionEncoding.Utf16);

const specialized = [
  ["gemm", gemm],
  ["gemm-tma", gemmTma],
  ["gemm-persistent-tma", gemmPersistentTma],
  ["linear-gelu", linearGelu],
  ["fp8-gemm", fp8Gemm],
  ["fp8-gemm-block-scaled", fp8GemmBlockScaled],
  ["int4-gemm", int4Gemm],
  ["scaled-rows", products.scaledRows],
  ["on-two-axes", products.onTwoAxes],
  ["twice", products.twice],
  ["normalized", products.normalized],
  ["attention", attention],
  ["in-two-loops", attentions.inTwoLoops],
  ["windowed", attentions.windowed],
  ["sliding-window", modifications.slidingWindow],
  ["soft-capped", modifications.softCapped],
  ["sloped", modifications.sloped],
  ["relative-attention", relativeAttention],
  ["biased", modifications.biased],
  ["loaded-slopes", modifications.loadedSlopes],
  ["padded", modifications.padded],
  ["documents", modifications.documents],
  ["lengths", modifications.lengths],
] as const;

/** A function of a module, from its decorators on. */
function functionIn(python: string, name: string): string {
  const end = python.slice(python.indexOf(`\ndef ${name}(`) + 1);
  const before = python.slice(0, python.indexOf(`\ndef ${name}(`));
  return before.slice(before.lastIndexOf("\n\n\n")) + end.slice(0, end.search(/\n\n\n(?=\S)/));
}

describe.each(specialized)("%s", (name, kernel) => {
  test("should leave ruff nothing to format and nothing to say", async () => {
    const built = await build(kernel);
    for (const specialize of ["always", "auto"] as const) {
      const { python } = built.emit({ warpSpecialize: specialize });
      expect(ruff.format(python)).toBe(python);
      expect(lint(python)).toEqual([]);
    }
  });

  test("should keep the plain kernel", async () => {
    const plain = await build(kernel);
    const both = plain.emit({ warpSpecialize: "always" }).python;
    const { jit } = plain.signature;
    expect(functionIn(both, jit)).toBe(functionIn(plain.python, jit));
    expect(both).toContain(`def ${plain.signature.name}_specialized_kernel(`);
  });
});

test.each([
  "gemm",
  "linear-gelu",
  "fp8-gemm",
  "fp8-gemm-block-scaled",
  "int4-gemm",
  "attention",
  "in-two-loops",
  "relative-attention",
])("should specialize %s as in its golden file", async (name) => {
  const [, kernel] = specialized.find(([each]) => each === name)!;
  const { python } = (await build(kernel)).emit({ warpSpecialize: "always" });
  await expect(python).toMatchFileSnapshot(`golden/${name}.py`);
});

describe("the kernels of an operator", () => {
  const parts = compile(attentionWithGradients).parts ?? [];
  const gradients = parts.filter(({ signature }) => signature.name.endsWith("_gradients"));
  test.each(gradients.map((part) => [part.signature.name.replaceAll("_", "-"), part] as const))(
    "should specialize %s as in its golden file",
    async (name, part) => {
      const { python } = part.emit({ warpSpecialize: "always" });
      await expect(python).toMatchFileSnapshot(`golden/${name}.py`);
      for (const text of [python, part.emit({ warpSpecialize: "auto" }).python]) {
        expect(ruff.format(text)).toBe(text);
        expect(lint(text)).toEqual([]);
      }
    },
  );
});

test("should change no module of a kernel that has no such form, or is not asked for it", async () => {
  for (const kernel of [attentions.mixing, vectorAdd, softmax]) {
    const built = await build(kernel);
    expect(built.emit({ warpSpecialize: "auto" }).python).toBe(built.python);
  }
  const built = await build(gemm);
  expect(built.emit({ warpSpecialize: "never" }).python).toBe(built.python);
});

test("should hide no name of the module behind one of the author's", async () => {
  const { python } = (await build(products.named)).emit({ warpSpecialize: "always" });
  const multiply = functionIn(python, "_named_multiply");
  expect(multiply).toContain("gl_1 = acc * 2.0");
  expect(multiply).not.toMatch(/^ +(gl|tma) = /m);
});

test("should keep the names of its helpers from authors", async () => {
  // Each module takes these itself, so that they come after an author's.
  const taken = /^_(?:gemm|attention)_|^_set_specialized_blocks$|^_fitting_configs$/;
  const kept = moduleNames();
  for (const kernel of [gemm, attention]) {
    const { python } = (await build(kernel)).emit({ warpSpecialize: "auto" });
    const own = [...python.matchAll(/^(?:def |class )?(_\w+)(?:\(| = |:)/gm)].map(([, name]) => name!);
    expect(own).toContain("_is_faster");
    expect(own.filter((name) => !taken.test(name) && kept.isFree(name))).toEqual([]);
    const locals = [...python.matchAll(/^    (?:    )?def (_\w+)\(/gm)].map(([, name]) => name!);
    expect(locals).toContain("_plain");
    expect(locals.filter((name) => !name.startsWith("__") && kept.isFree(name))).toEqual([]);
  }
});

test("should give its own constexprs other names than the author's", async () => {
  const { python } = (await build(attentions.named)).emit({ warpSpecialize: "always" });
  const configs = python.slice(python.indexOf("triton.Config", python.indexOf("_set_specialized_blocks")));
  expect(configs).toMatch(/"STAGES": 7\b/);
  expect(configs).toMatch(/"STAGES_1": 2\b/);
  expect(functionIn(python, "_named_load")).toContain("slot = iteration % STAGES_1");
});

test("should compute with the tile where the author asks for the program, in loops too", async () => {
  const { python } = (await build(products.asksLate)).emit({ warpSpecialize: "always" });
  for (const part of ["_asks_late_load", "_asks_late_multiply"]) {
    const text = functionIn(python, part);
    expect(text.match(/gl\.program_id\(/g)).toHaveLength(1);
    expect(text).toMatch(/range\(\s*gl\.program_id\(0\)/);
    expect(text).toMatch(/% index\b/);
    expect(text).toMatch(/\/\/ index\b/);
  }
});

test("should give each program number 0 on an axis that the grid lacks", async () => {
  const { python } = (await build(products.asksBeside)).emit({ warpSpecialize: "always" });
  for (const part of ["_asks_beside_load", "_asks_beside_multiply"])
    expect(functionIn(python, part)).toMatch(/\w+ \/\/ index % 1\b|\(\w+ \/\/ index\) % 1\b/);
});

test("should compute rows that only masks take behind the iterations without masks", async () => {
  const { python } = (await build(attention)).emit({ warpSpecialize: "always" });
  const multiply = functionIn(python, "_attention_multiply");
  const places = [/for _ in range\(0, whole,/, /\brm = /, /for start in range\(whole,/].map((each) =>
    multiply.search(each),
  );
  expect(places).not.toContain(-1);
  expect(places.toSorted((a, b) => a - b)).toEqual(places);
});

test("should load what an iteration adds to its scores while its products run, with a mask of its own in each loop", async () => {
  const { python } = (await build(modifications.biased)).emit({ warpSpecialize: "always" });
  const iterations = functionIn(python, "_biased_multiply")
    .split(/\n +for (?=\w+ in range\()/)
    .slice(2);
  const loads = iterations.filter((iteration) => iteration.includes("gl.load("));
  expect(loads).toHaveLength(2);
  for (const iteration of loads) {
    const places = [/\bscoring = /, /\bcolumns = /, /gl\.load\(/, /warpgroup_mma_wait\(1/].map((each) =>
      iteration.search(each),
    );
    expect(places).not.toContain(-1);
    expect(places.toSorted((a, b) => a - b)).toEqual(places);
    expect(iteration).toMatch(/mask=mask_s & \(columns\[None, :\] < S\)/);
  }
});

test("should give a program several tiles of attention, unless the kernel asks how many programs there are", async () => {
  const grids = [attentions.inOneLoop, attentions.fromTheLast].map(async (kernel) => {
    const { python } = (await build(kernel)).emit({ warpSpecialize: "always" });
    return {
      tiles: python.match(/^ +if tile < tiles:$/gm)?.length ?? 0,
      isOwn: !/def _programs[^]*?multi_processor_count/.test(python),
      waits: /wait\(q_emptied/.test(python),
    };
  });
  expect(await Promise.all(grids)).toEqual([
    { tiles: 2, isOwn: false, waits: true },
    { tiles: 0, isOwn: true, waits: false },
  ]);
});

test("should refuse a kernel without the form, where it must have it, at the line that leaves it", async () => {
  const built = await build(attentions.mixing);
  expect(() => built.emit({ warpSpecialize: "always" })).toThrow(
    /mixing has no warp-specialized form: tl\.flip may mix rows/,
  );
});

test("should give a kernel whose spec asks for it both kernels", async () => {
  const { python, warnings } = await build(products.asked);
  expect(python).toContain("def asked_specialized_kernel(");
  expect(warnings).toEqual([]);
});

test("should warn at the line that leaves the form, where a spec asks for it if there is one", async () => {
  const { python, warnings } = await build(products.askedInVain);
  expect(python).not.toContain("_specialized_kernel");
  expect(warnings.map(({ code, severity }) => [code, severity])).toEqual([["not-specialized", "warning"]]);
  expect(warnings[0]!.message).toBe(
    "asked_in_vain is not warp-specialized: it combines rows; the wrapper launches the plain kernel on every GPU",
  );
  expect(products.lineOf(warnings[0]!.at!.line)).toContain("tl.sum(acc.value, 0)");
});

test("should leave a module for torch.compile plain", async () => {
  const built = await build(gemm);
  const op = { namespace: "test", form: "triton_op" } as const;
  expect(built.emit({ op, warpSpecialize: "always" }).python).toBe(built.emit({ op }).python);
});

test("should give a kernel of an operator the form, as a caller asks", async () => {
  const operator = await build(attentionWithGradients);
  const launches = (python: string) => [...python.matchAll(/(\w+)_specialized_kernel\[/g)].map(([, name]) => name);
  expect(launches(operator.python)).toEqual([]);
  const timed = operator.emit({ warpSpecialize: "auto" });
  const kernels = ["attention_forward", "attention_key_gradients", "attention_query_gradients"];
  expect(launches(timed.python)).toEqual(kernels);
  expect(timed.python).toMatch(/if _is_faster\(/);
  const always = operator.emit({ warpSpecialize: "always" });
  expect(launches(always.python)).toEqual(kernels);
  expect(always.python).not.toMatch(/_is_faster/);
  expect([timed.warnings, always.warnings]).toEqual([undefined, undefined]);
});

test("should give the kernel of an operator the form that its own spec asks for, or warn", async () => {
  const T = tl.dtype("T", [tl.float16, tl.bfloat16]);
  const params = { a: tensor(T, ["M", "K"]), b: tensor(T, ["K", "N"]), c: tensor.out(T, ["M", "N"]) };
  const operatorOf = (product: any) => op("product_op", { params }, ({ a, b }: any) => product.call({ a, b }));
  const [alone, built] = [await build(products.asked), await build(operatorOf(products.asked))];
  expect(built.specialized).toEqual(alone.specialized);
  expect(built.python).toMatch(/asked_specialized_kernel\[/);
  expect(built.warnings).toEqual([]);
  const plain = await build(operatorOf(products.askedInVain));
  expect(plain.specialized).toBeUndefined();
  expect(plain.python).not.toContain("_specialized_kernel");
  expect(plain.warnings.map(({ code }) => code)).toEqual(["not-specialized"]);
});

test("should refuse an operator of which no kernel has the form, where it must have it", async () => {
  const operator = await build(crossEntropy);
  expect(() => operator.emit({ warpSpecialize: "always" })).toThrow(
    /cross_entropy_forward has no warp-specialized form/,
  );
  expect(operator.emit({ warpSpecialize: "auto" }).warnings).toHaveLength(2);
});
