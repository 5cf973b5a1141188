/** Errors that only Python shows, at the author's line: on Triton's interpreter, and where Triton compiles. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { build } from "tilescript";
import { sampledTests } from "../support/sampled-tests.js";
import { codeFrame } from "../../src/runtime/report/text-blocks.js";
import { openDevice, localCompilers } from "../../src/runtime/devices/devices.js";
import { compileForTargets } from "../../src/runtime/target-compile/targets.js";
import { findPython } from "../../src/runtime/worker/environment.js";
import { parseTargets } from "../../src/runtime/system/gpu-targets.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import * as failing from "../support/fixtures/failing.js";
import { interpreter } from "../support/cli.js";

sampledTests("failures");

const file = fileURLToPath(new URL("../support/fixtures/failing.ts", import.meta.url));
const lines = readFileSync(file, "utf8").split("\n");
const lineOf = (text: string) => lines.findIndex((line) => line.includes(text)) + 1;

const device = interpreter();

describe("on the interpreter", { timeout: 60_000 }, () => {
  it.each([
    [
      "an error in the kernel",
      failing.badPython,
      0,
      "python-error",
      "no attribute 'no_such_thing'",
      "tl.no_such_thing",
    ],
    [
      "an assertion about constexprs",
      failing.staticAssertion,
      1,
      "python-error",
      "the block is too small",
      "staticAssert(",
    ],
    ["an assertion about values", failing.deviceAssertion, 0, "python-error", "the values are small", "deviceAssert("],
    ["a wrapper's ValueError", failing.refused, 0, "python-error", "N <= 64", "export const refused"],
    ["an error in the reference", failing.badReference, 0, "python-error", "no_such_function", "reference: python`"],
  ] as const)("%s", async (_, kernel, config, kind, message, text) => {
    const at = { sizes: { N: 100 }, dtypes: {}, config, seed: 0 };
    const { status, failure } = await verifyCase(await build(kernel), device(), at);
    expect(status).toBe("failed");
    expect(failure).toMatchObject({
      kind,
      message: expect.stringContaining(message),
      at: { file, line: lineOf(text) },
    });
    expect(codeFrame(failure!.at!)).toContain(`> ${lineOf(text)} | ${lines[lineOf(text) - 1]}`);
    expect(failure!.raw).toMatch(/^Traceback/);
  });
});

describe("a reference that does not fit", { timeout: 60_000 }, () => {
  const at = { sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 };
  const shape = "y has shape [100], its reference has []; return one of y's shape";
  const kind =
    "y holds floats (float32), its reference gives integers; convert its result, such as with .to(tl.float32)";
  it.each([
    ["a kernel's", failing.otherShape, "x.mul(2).sum()", shape],
    ["an operator's", failing.otherShapeOperator, "x.mul(2).sum(0)", shape],
    ["one of other elements", failing.otherKind, "x.mul(2).long()", kind],
  ] as const)("%s has the same message on the interpreter and on the evaluator", async (_, kernel, text, message) => {
    for (const on of [device(), await openDevice({ device: "eval" })]) {
      const { status, failure } = await verifyCase(await build(kernel), on, at);
      expect(status).toBe("failed");
      expect(failure).toMatchObject({ kind: "reference", message, at: { file, line: lineOf(text) } });
    }
  });

  it("stops at the call that torch refuses, where it is called from TypeScript too", async () => {
    const compiled = await build(failing.misfit);
    const line = lineOf("torch.matmul(x.");
    const { failure } = await verifyCase(compiled, await openDevice({ device: "eval" }), at);
    const message = "matmul: [1, 100] and [1, 100] do not match";
    expect(failure).toMatchObject({ kind: "torch", message, at: { file, line } });
    expect(() => compiled.evaluate(at)).toThrow(`failing.ts:${line}:`);
  });
});

describe("where Triton compiles", { timeout: 120_000 }, () => {
  it("should find the author's line for what Triton, ptxas and Python refuse", async () => {
    const { environment } = await findPython();
    const kernels = [failing.badPython, failing.staticAssertion, failing.badAssembly];
    const found = await compileForTargets(await Promise.all(kernels.map(build)), {
      service: localCompilers(environment!),
      targets: parseTargets("cuda:90"),
      selections: kernels.map(() => ({ seed: 0 })),
    });
    const failures = found.map(({ compilations }) => compilations.flatMap(({ failure }) => failure ?? []));
    expect(failures).toMatchObject([
      [
        {
          kind: "compile-error",
          message: "AttributeError: module 'triton.language' has no attribute 'no_such_thing'",
          at: { file, line: lineOf("tl.no_such_thing") },
        },
      ],
      // The first config compiles.
      [{ kind: "compile-error", message: "the block is too small", at: { file, line: lineOf("staticAssert(") } }],
      [
        {
          kind: "compile-error",
          message: "ptxas: Not a name of any known instruction: 'bogus'",
          at: { file, line: lineOf("bogus.f32") },
        },
      ],
    ]);
  });
});
