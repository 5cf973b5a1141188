/** Compiling for GPUs that are not there, through real Triton. */
import { copyFile, mkdtemp, utimes } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { build, type CompiledKernel, constexpr, kernel, pointer, scalar, tensor, tl } from "tilescript";
import { gemm } from "../../examples/gemm.js";
import { vectorAdd } from "../../examples/vector-add.js";
import { compileCases } from "../../src/runtime/cases/command-cases.js";
import { allLayouts } from "../../src/runtime/cases/selection.js";
import { sampledTests } from "../support/sampled-tests.js";
import { localCompilers } from "../../src/runtime/devices/devices.js";
import { compileForTargets, type KernelCompilations } from "../../src/runtime/target-compile/targets.js";
import { findPython, type PythonEnvironment } from "../../src/runtime/worker/environment.js";
import type { MachineCode } from "../../src/runtime/worker/protocol.js";
import { compileDiagnostics, compileJson, compileText } from "../../src/runtime/report/compile-report.js";
import { parseTargets } from "../../src/runtime/system/gpu-targets.js";
import pc from "picocolors";
import * as failing from "../support/fixtures/failing.js";
import * as products from "../unit/codegen/fixtures/products.js";
import { cli } from "../support/cli.js";
import { requirePython } from "../support/python.js";

sampledTests("compilations for targets");

let environment: PythonEnvironment;
let env: NodeJS.ProcessEnv;
let large: CompiledKernel;

beforeAll(async () => {
  await requirePython();
  environment = (await findPython()).environment!;
  // Nothing that an earlier run left.
  const folder = await mkdtemp(join(tmpdir(), "tilescript-compile-"));
  env = { ...process.env, XDG_CACHE_HOME: folder, TRITON_CACHE_DIR: join(folder, "triton") };
  large = await build(failing.tooLarge);
}, 60_000);

const compile = (kernel: CompiledKernel, targets: string, selection = {}, withConstants = false) =>
  compileForTargets([kernel], {
    service: localCompilers(environment, { env }),
    env,
    targets: parseTargets(targets),
    selections: [{ seed: 0, ...selection }],
    withConstants,
  }).then(([found]) => found!);

describe("compiling for targets", { timeout: 300_000 }, () => {
  it("should compile each config of a warp-specialized kernel for Hopper, and for no other", async () => {
    const both = await build(products.asked);
    expect(both.specialized!.length).toBeGreaterThan(0);
    const found = await compile(both, "cuda:80,cuda:90", { dtypes: { T: "float16" } });
    const own = found.compilations.filter(({ specialized }) => specialized !== undefined);
    expect(own.map(({ target, specialized }) => `${target.name} ${specialized}`)).toEqual(
      [...both.specialized!.keys()].map((place) => `cuda:90 ${place}`),
    );
    for (const { failure, resources, occupancy } of own) {
      expect(failure).toBeUndefined();
      expect(resources!.specialized!.values).toMatchObject({
        CONSUMERS: expect.any(Number),
        STAGES: expect.any(Number),
      });
      expect(resources!.shared).toBeGreaterThan(65_536);
      // Two consumers of four warps, and one warp that loads.
      expect(resources!.warps).toBeGreaterThan(8);
      expect(occupancy!.programs).toBe(1);
    }
    expect(found.compilations.filter(({ specialized }) => specialized === undefined)).toHaveLength(2);
    const facts = { triton: "", python: "", seconds: 0 };
    expect(compileText(found, facts, pc.createColors(false))).toMatch(/cuda:90 +specialized 0 .*STAGES=/);
    const { kernels } = compileJson([found], [compileDiagnostics(found)], facts);
    expect(kernels[0]!.compiled.filter(({ specialized }) => specialized)).toHaveLength(own.length);
    // Rows of 34 bytes are nothing that the copy engine moves.
    const odd = await compile(both, "cuda:90", { dtypes: { T: "float16" }, sizes: { M: 17, N: 17, K: 17 } });
    expect(odd.compilations).toHaveLength(1);
    expect(odd.skipped).toEqual([expect.stringContaining("the warp-specialized kernel")]);
  });

  it("should compile each size and integer scalar at 1 and at 16, where Triton compiles another kernel", async () => {
    const scaled = await build(
      kernel(
        "scaled",
        {
          params: {
            x: tensor(tl.float32, ["M", "N"]),
            y: tensor.out(tl.float32, ["M", "N"]),
            factor: scalar(tl.int32, { default: 3 }),
            BLOCK: constexpr(),
          },
          grid: ({ M, N, BLOCK }: any) => [M, tl.cdiv(N, BLOCK)],
          requires: ({ M }: any) => [M.ge(2)],
          autotune: { key: ["N"], configs: [{ BLOCK: 32 }, { BLOCK: 64 }] },
          shapes: [{ M: 3, N: 512 }],
        } as never,
        (({ x, y, factor, BLOCK }: any) => {
          const [row, cols] = [tl.programId(0), tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK))];
          tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(factor));
        }) as never,
      ),
    );
    const constants = async (selection: object) => {
      const found = await compile(scaled, "cuda:90", selection, true);
      expect(found.compilations.flatMap(({ failure }) => failure?.message ?? [])).toEqual([]);
      return found.compilations.map(({ testCase: { config }, constant }) => [config, constant]);
    };
    const all = [
      [0, undefined],
      [1, undefined],
      [0, "N=1"],
      [0, "factor=1"],
      [0, "M=16"],
      [0, "factor=16"],
    ];
    expect(await constants({})).toEqual(all);
    expect(await constants({ sizes: { M: 3, N: 7 }, scalars: { factor: 2 } })).toEqual(all.slice(0, 2));
    const found = await compile(scaled, "cuda:90", {}, true);
    const text = compileText(found, { triton: "", python: "", seconds: 0 }, pc.createColors(false));
    expect(text).toMatch(/cuda:90 +0 BLOCK=32 +factor=16 /);
  });

  it("should compile a kernel for the targets that it is for, and say of the others that they were not run", async () => {
    const declared = kernel(
      "declared",
      {
        params: { p: pointer(tl.float32), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 16 },
        targets: { cuda: 90, reason: "it is tuned for Hopper" },
      },
      ({ p, BLOCK }) => tl.store(p.add(tl.arange(0, BLOCK)), 1),
    );
    const found = await compile(await build(declared), "cuda:80,cuda:90,hip:gfx942");
    expect(found.compilations.map(({ target, failure }) => [target.name, failure])).toEqual([["cuda:90", undefined]]);
    const diagnostics = compileDiagnostics(found);
    expect(diagnostics.map(({ severity, code, at }) => [severity, code, at?.file])).toEqual([
      ["warning", "other-target", import.meta.filename],
    ]);
    const { ok, kernels } = compileJson([found], [diagnostics], { triton: "", python: "", seconds: 0 });
    expect({ ok, notRun: kernels[0]!.not_run }).toEqual({ ok: true, notRun: ["cuda:80", "hip:gfx942"] });
  });

  it("should take every config and dtype, and remember what it found", async () => {
    const kernel = await build(gemm);
    const selection = { config: 7 };
    const first = await compile(kernel, "cuda:80,cuda:90,cuda:100,hip:gfx942,hip:gfx950", selection);
    expect(first.compilations).toHaveLength(10);
    for (const { target, cached, failure, resources, occupancy, testCase: at } of first.compilations) {
      expect({ cached, failure, config: at.config }).toEqual({ cached: false, failure: undefined, config: 7 });
      expect(resources!.warps).toBe(2);
      expect(resources!.registers).toBeGreaterThan(16);
      // Two tiles of each operand in float16 at the least.
      expect(resources!.shared).toBeGreaterThanOrEqual(2 * 2 * (32 * 32 + 32 * 64));
      expect(occupancy!.fraction).toBeGreaterThan(0);
      const code = { compiler: expect.stringMatching(/^ptxas \d+\.\d+\.\d+$/), unwritten: [] };
      expect(resources!.machineCode).toEqual(
        target.name.startsWith("cuda") ? [{ ...code, variable: expect.stringMatching(/^TRITON_PTXAS_/) }] : [],
      );
    }
    const again = await compile(kernel, "cuda:90,hip:gfx942", selection);
    expect(again.compilations.map(({ cached }) => cached)).toEqual([true, true, true, true]);
    const known = new Map(
      first.compilations.map((each) => [`${each.target.name} ${each.testCase.dtypes["T"]}`, each.resources]),
    );
    for (const { target, testCase: at, resources } of again.compilations)
      expect(resources).toEqual(known.get(`${target.name} ${at.dtypes["T"]}`));
  });

  it("should compile for inputs that lie otherwise, each layout by itself", async () => {
    const kernel = await build(gemm);
    const one = { selection: { config: 7, seed: 0, dtypes: { T: "float16" } }, layouts: allLayouts };
    const { cases, skipped: left } = compileCases(kernel, one.selection, one.layouts);
    expect(left).toEqual([]);
    expect(cases.map(({ layouts }) => layouts?.["a"] ?? "contiguous")).toEqual(allLayouts);
    const [found] = await compileForTargets([kernel], {
      service: localCompilers(environment, { env }),
      env,
      targets: parseTargets("cuda:90"),
      selections: [one.selection],
      layouts: ["contiguous", "sliced"],
    });
    // Rows that are not side by side are loaded element by element, without asynchronous copies.
    const [contiguous, sliced] = found!.compilations.map(({ resources }) => resources!);
    expect(sliced!.registers).not.toBe(contiguous!.registers);
    expect(compileText(found!, { triton: "", python: "", seconds: 1 }, pc.createColors(false))).toContain(
      "T=float16 sliced",
    );
    const [json] = compileJson([found!], [[]], { triton: "", python: "", seconds: 1 }).kernels;
    expect(json!.compiled.map(({ layouts }) => layouts)).toEqual([undefined, { a: "sliced", b: "sliced" }]);
  });

  it("should say that no input can have the layout", async () => {
    const { cases, skipped: left } = compileCases(await build(vectorAdd), { seed: 0 }, ["sliced", "offset"]);
    expect(left).toEqual(["sliced: no input can have this layout"]);
    expect(cases.map(({ layouts }) => layouts)).toEqual([{ x: "offset", y: "offset" }]);
  });

  it("should compile again what changed, and nothing else", async () => {
    await compile(large, "cuda:90", { config: 2 });
    // Another config of the list does not count.
    const elsewhere = { ...large, python: large.python.replace("num_warps=8", "num_warps=16") };
    expect((await compile(elsewhere, "cuda:90", { config: 2 })).compilations[0]!.cached).toBe(true);
    const changed = { ...large, python: large.python.replace("tl.dot(", "2 * tl.dot(") };
    expect(changed.python).not.toBe(large.python);
    expect((await compile(changed, "cuda:90", { config: 2 })).compilations[0]!.cached).toBe(false);
  });

  it("should warn of a config that can't run and of spills, at its line", async () => {
    const found = await compile(large, "cuda:90");
    const [misfit, ...warnings] = compileDiagnostics(found);
    const lines = readFileSync(misfit!.at!.file, "utf8").split("\n");
    const lineOf = (text: string) => lines.findIndex((line) => line.includes(text)) + 1;
    expect(misfit).toMatchObject({
      severity: "warning",
      code: "compile-resources",
      message: expect.stringMatching(
        /^too_large: it needs \d+ bytes of shared memory; the limit is 232448 for a program \(cuda:90, config 0\); Triton's autotuner passes over it/,
      ),
      at: { line: lineOf("{ BLOCK: 256, numWarps: 8, numStages: 3 }") },
    });
    const spills = warnings.find(({ at }) => at?.line === lineOf("{ BLOCK: 128, numWarps: 1, numStages: 2 }"));
    expect(spills).toMatchObject({
      severity: "warning",
      code: "compile-spill",
      message: expect.stringMatching(/each thread keeps \d+ bytes in memory \(cuda:90, config 1\)/),
    });
    expect(warnings.every(({ at }) => at?.line !== lineOf("{ BLOCK: 64, numWarps: 4, numStages: 2 }"))).toBe(true);

    const facts = { triton: environment.versions.triton!, python: environment.python, seconds: 1 };
    const text = compileText(found, facts, pc.createColors(false));
    expect(text).toMatch(/cuda:90 +0 BLOCK=256 numWarps=8 numStages=3 .* can't run/);
    const json = compileJson([found], [[misfit!, ...warnings]], facts);
    expect(json).toMatchObject({ ok: true, kernels: [{ compiled: [{ config: 0 }, { config: 1 }, { config: 2 }] }] });
    expect(json.kernels[0]!.compiled[1]!.spilled_bytes).toBeGreaterThan(0);
  });

  it("should warn of a config that leaves too few registers, at its line", async () => {
    const found = compileDiagnostics(await compile(await build(failing.fewRegisters), "cuda:90"));
    expect(found.filter(({ severity }) => severity === "error")).toEqual([]);
    const misfit = found.find(({ code }) => code === "compile-resources");
    expect(misfit?.message).toMatch(
      /^few_registers: it needs more registers than a thread may have: .*register.* \(cuda:90, config 0\); Triton's autotuner passes over it/,
    );
    const lines = readFileSync(misfit!.at!.file, "utf8").split("\n");
    expect(lines[misfit!.at!.line - 1]).toContain("maxnreg: 32");
  });

  it("should leave out a limit of registers where the compiler takes none", async () => {
    const found = compileDiagnostics(await compile(await build(failing.fewRegisters), "hip:gfx942"));
    expect(found).toEqual([]);
  });

  it("should say at the config's line what ptxas did wrong, and what was not looked at", async () => {
    const found = await compile(large, "cuda:90", { config: 2 });
    const [compilation] = found.compilations;
    const withCode = (code: Partial<MachineCode>): KernelCompilations => ({
      ...found,
      compilations: [
        {
          ...compilation!,
          resources: {
            ...compilation!.resources!,
            machineCode: [{ compiler: "ptxas 12.8.93", variable: "TRITON_PTXAS_PATH", ...code }],
          },
        },
      ],
    });
    const reads = ["UR8", "UR9"].map((register) => ({
      register,
      address: "0x0410",
      instruction: `UMOV UR4, ${register}`,
    }));
    const wrong = withCode({ unwritten: reads });
    const [error, ...others] = compileDiagnostics(wrong);
    expect(others).toEqual([]);
    const lines = readFileSync(error!.at!.file, "utf8").split("\n");
    expect(error).toMatchObject({
      severity: "error",
      code: "compile-miscompiled",
      message:
        "too_large: ptxas 12.8.93 made machine code that reads UR8 and UR9 before anything writes them: results would be wrong (cuda:90, config 2); set TRITON_PTXAS_PATH to a newer ptxas, or change the config",
      at: { line: lines.findIndex((line) => line.includes("{ BLOCK: 64, numWarps: 4, numStages: 2 }")) + 1 },
    });
    const facts = { triton: environment.versions.triton!, python: environment.python, seconds: 1 };
    expect(compileJson([wrong], [[error!]], facts)).toMatchObject({
      ok: false,
      kernels: [{ compiled: [{ unwritten_reads: reads }], not_checked: [] }],
    });

    const unread = withCode({ unchecked: "nvdisasm gives no disassembly: it is not there" });
    expect(compileDiagnostics(unread)).toEqual([]);
    const why = "machine code: nvdisasm gives no disassembly: it is not there";
    expect(compileText(unread, facts, pc.createColors(false))).toContain(`  not checked\n    - ${why}`);
    expect(compileJson([unread], [[]], facts)).toMatchObject({ ok: true, kernels: [{ not_checked: [why] }] });
  });

  it("should compile again with another ptxas", async () => {
    await compile(large, "cuda:80", { config: 2 });
    const other = join(env["XDG_CACHE_HOME"]!, "ptxas");
    const own = await execa(environment.python, ["-c", "from triton import knobs; print(knobs.nvidia.ptxas.path)"]);
    await copyFile(own.stdout, other);
    const [before, after] = [env, { ...env, TRITON_PTXAS_PATH: other }];
    const cachedWith = async (given: NodeJS.ProcessEnv): Promise<boolean> => {
      const selections = [{ seed: 0, config: 2 }];
      const service = localCompilers(environment, { env: given });
      const options = { service, env: given, targets: parseTargets("cuda:80"), selections };
      return (await compileForTargets([large], options))[0]!.compilations[0]!.cached;
    };
    expect([await cachedWith(before), await cachedWith(after), await cachedWith(after)]).toEqual([true, false, true]);
    await utimes(other, 1, 1);
    expect(await cachedWith(after)).toBe(false);
  });

  it("should compile kernels with raw pointers, given and left out", async () => {
    const T = tl.dtype("T", [tl.float16, tl.float32]);
    const copied = await build(
      kernel(
        "copied",
        {
          params: {
            from: pointer(T),
            to: pointer(tl.float32),
            bias: pointer(tl.float32).optional(),
            n: scalar(tl.int32),
            BLOCK: constexpr(),
          },
          grid: ({ n, BLOCK }) => [tl.cdiv(n, BLOCK)],
          config: { BLOCK: 128 },
        },
        ({ from, to, bias, n, BLOCK }) => {
          const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
          const mask = at.lt(n);
          const value = tl.mut(tl.load(from.add(at), { mask, other: 0 }).to(tl.float32));
          tl.when(bias.given, () => {
            value.value = value.value.add(tl.load(bias.add(at), { mask, other: 0 }));
          });
          tl.store(to.add(at), value.value, { mask });
        },
      ),
    );
    const { compilations, skipped: left } = await compile(copied, "cuda:90,hip:gfx942");
    expect(
      compilations.map(({ target, testCase: at, failure }) => [target.name, at.dtypes["T"], at.absent, failure]),
    ).toEqual(
      ["cuda:90", "hip:gfx942"].flatMap((target) =>
        ["float16", "float32"].flatMap((dtype) => [
          [target, dtype, undefined, undefined],
          [target, dtype, ["bias"], undefined],
        ]),
      ),
    );
    expect(left).toEqual([]);
  });

  it("should exit with 1 for a config that can't run, and print JSON alone", async () => {
    const { code, out, err } = await cli(large, "--compile", "cuda:90", "--json", "--config", "0");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ ok: false, kernels: [{ kernel: "too_large" }] });
    expect(err).toContain("error compile-resources");
  });
});
