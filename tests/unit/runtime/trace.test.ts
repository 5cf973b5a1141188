/** The command `trace`: what it draws, lists and refuses. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import { gemm } from "../../../examples/gemm.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { vectorAdd } from "../../../examples/vector-add.js";
import { buildWith } from "../../../src/pipeline/build.js";
import { runCli } from "../../../src/runtime/cli/cli.js";
import type { TraceReport } from "../../../src/runtime/report/reports.js";
import { expectUsageError, type CliResult } from "../../support/cli.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-trace-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function trace(kernel: unknown, name: string, ...args: string[]): Promise<CliResult> {
  let [out, err] = ["", ""];
  const streams = { out: (text: string) => (out += text), err: (text: string) => (err += text), color: false };
  const code = await runCli("file.ts", args, [{ name, compile: (configs) => buildWith(kernel, configs) }], streams);
  return { code, out, err };
}

const cube = ["--shape", "M=40,N=40,K=40", "--constexprs", "BLOCK_M=16,BLOCK_N=16,BLOCK_K=16,GROUP_M=2"];

test("a program's accesses are listed with their lines, drawn, and reported as JSON", async () => {
  const file = join(folder, "gemm.svg");
  const { code, out, err } = await trace(gemm, "gemm", "--trace", file, "--program", "5", ...cube);
  expect({ code, err }).toEqual({ code: 0, err: `wrote ${file}\n` });
  const lines = readFileSync("examples/gemm.ts", "utf8").split("\n");
  const lineOf = (text: string) => 1 + lines.findIndex((line) => line.includes(text));
  expect(out.split("\n")[5]).toBe(`line ${lineOf("tl.load(a.at")}: load a, tile [16, 16]: 128 active, 128 masked`);
  expect(out.trimEnd().split("\n")).toHaveLength(1 + 7);
  expect(readFileSync(file, "utf8")).toContain("128 stored, 128 masked off");

  const report = JSON.parse(
    (await trace(gemm, "gemm", "--trace", "--program", "5", "--json", ...cube)).out,
  ) as TraceReport;
  expect(report).toMatchObject({ ok: true, kernel: "gemm", program: [5] });
  expect(report.accesses).toHaveLength(7);
  expect(report.tensors!.map(({ tensor, stored }) => [tensor, stored])).toEqual([
    ["a", 0],
    ["b", 0],
    ["c", 128],
  ]);
});

test("the map of programs counts who writes what, with sizes of our own", async () => {
  const { code, out } = await trace(layerNorm, "layer_norm", "--trace", "--map");
  expect(code).toBe(0);
  expect(out).toMatch(/^y: (\d+) programs write (\d+) of \2 elements, 0 of them by several$/m);
});

describe("mistakes", () => {
  const said = async (...args: string[]) =>
    expectUsageError.bind(undefined, await trace(vectorAdd, "vectorAdd", "--trace", ...args));

  test("a program that is none", async () => {
    (await said("--program", "9", "--shape", "N=2000"))(/--program: there is no program \(9\) in a grid of \(2\)/);
    (await said("--program", "first"))(/Write 5, or 1,2 for a grid of two axes/);
    (await said("--program", "1", "--map"))(/--map draws all programs; leave out --program/);
  });

  test("values that the configs do not have", async () => {
    (await said("--constexprs", "BLOK=16"))(/there is no constexpr BLOK of the configs; they have BLOCK/);
    (await said("--constexprs", "BLOCK=x"))(/BLOCK=x is not a number/);
  });
});

test("findings are shown with the author's line, and the command fails", async () => {
  const wrong = kernel(
    "wrong",
    { params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) }, grid: () => [1] },
    ({ x, y }) => {
      const lanes = tl.inBounds(tl.arange(0, 8));
      tl.store(y.at(lanes), tl.load(x.at(lanes)));
    },
  );
  const { code, out, err } = await trace(wrong, "wrong", "--trace", "--shape", "N=5");
  expect(code).toBe(1);
  expect(out).toMatch(/load x, tile \[8\]: 5 active, 0 masked, 3 refused/);
  expect(err).toMatch(/^false-in-bounds in program \(0\), lane \[5\]: .*\n.*trace\.test\.ts:\d+:\d+\n[^]*\^/);
});
