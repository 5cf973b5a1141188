/** `tilescript import` on files of users, friendly and hostile ones. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runBinary } from "../../src/runtime/cli/cli.js";
import type { ImportReport } from "../../src/runtime/report/reports.js";
import type { Streams } from "../../src/runtime/system/streams.js";
import { expectUsageError, type CliResult } from "../support/cli.js";
import { sampledTests } from "../support/sampled-tests.js";
import { requirePython } from "../support/python.js";

sampledTests("files to import");

let folder: string;
let temporary: string;
let before: string | undefined;

beforeAll(async () => {
  await requirePython();
  folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
  // What is left among the temporary files is seen there.
  temporary = await mkdtemp(join(tmpdir(), "tilescript-test-"));
  before = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
});
afterAll(async () => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
  for (const each of [folder, temporary]) await rm(each, { recursive: true });
});

const HEAD = "import triton\nimport triton.language as tl\n\n";
const SCALE = `${HEAD}
@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, x * factor, mask=mask)
`;
const TYPES = "x_ptr:*fp32,y_ptr:*fp32,n:i32,factor:fp32,BLOCK=64";

async function run(
  name: string,
  python: string | Buffer,
  ...args: readonly string[]
): Promise<CliResult & { readonly file: string }> {
  const file = join(folder, name);
  await writeFile(file, python);
  let [out, err] = ["", ""];
  const streams: Streams = { out: (text) => (out += text), err: (text) => (err += text), color: false };
  const code = await runBinary(["import", file, ...args], streams, () => import("../../src/index.js"));
  return { code, out, err, file };
}

const left = async (): Promise<readonly string[]> =>
  (await readdir(temporary)).filter((name) => name.startsWith("tilescript-"));

it("should write an equal kernel, and nothing elsewhere", async () => {
  const out = join(folder, "kernels");
  const ran = await run("scale.py", SCALE, "--types", TYPES, "-o", out);
  expect(ran).toMatchObject({ code: 0, out: `scale_kernel: equal\n  wrote ${join(out, "scale_kernel.ts")}\n` });
  expect(await readdir(out)).toEqual(["scale_kernel.ts"]);
  expect(await readFile(join(out, "scale_kernel.ts"), "utf8")).toContain(
    "tl.store(y.add(offs), x.mul(factor), { mask });",
  );
  expect((await readdir(folder)).sort()).toEqual(["kernels", "scale.py"]);
  expect(await left()).toEqual([]);
});

it("should write views with --lift, and say what stays as it is", async () => {
  const python = `${SCALE}    tl.store(y_ptr + offs * n, x, mask=offs < n)\n`;
  const ran = await run("lifted.py", python, "--types", TYPES, "--lift");
  expect(ran.code).toBe(0);
  expect(ran.out).toContain("const x = tl.load(xPtr.at(offs));");
  const line = python.split("\n").findIndex((each) => each.includes("offs * n")) + 1;
  expect(ran.err).toBe(
    `importing ${ran.file}, which runs its top level\n` +
      `scale_kernel: equal\n  2 of 3 accesses are views\n` +
      `  ${ran.file}:${line}: the store to y_ptr stays as it is: other accesses of this pointer have other strides\n`,
  );
});

it("should ask the pointer where a heuristic tests whether it is given", async () => {
  const python = `${HEAD}
@triton.heuristics({"HAS_BIAS": lambda args: args["bias_ptr"] is not None, "SCALED": lambda args: args["scale"] > 0.0})
@triton.jit
def bias_kernel(x_ptr, bias_ptr, scale, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr, SCALED: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if HAS_BIAS:
        x += tl.load(bias_ptr + offs)
    if SCALED:
        x *= scale
    tl.store(x_ptr + offs, x)
`;
  const types = "x_ptr:*fp32,bias_ptr:*fp32,scale:fp32,BLOCK=16,HAS_BIAS=True,SCALED=True";
  const ran = await run("bias.py", python, "--types", types, "--json");
  const [kernel] = (JSON.parse(ran.out) as ImportReport).kernels;
  expect(kernel).toMatchObject({ status: "equal" });
  expect(kernel?.text).toMatch(/SCALED: \(\{ scale \}\) => scale\.gt\(0\)[^]*tl\.when\(bias\.given, /);
});

it("should report as JSON, and fail if a kernel is not imported", async () => {
  const python = `${SCALE}
@triton.jit
def odd_kernel(x_ptr, n):
    total = 0
    for i in range(n):
        last = tl.load(x_ptr + i)
    tl.store(x_ptr, {last})
`;
  const ran = await run("odd.py", python, "--types", `${TYPES}`, "--json");
  const report = JSON.parse(ran.out) as ImportReport;
  expect(report.kernels.map(({ kernel, status }) => [kernel, status])).toEqual([
    ["scale_kernel", "equal"],
    ["odd_kernel", "not imported"],
  ]);
  expect({ code: ran.code, ok: report.ok }).toEqual({ code: 1, ok: false });
});

it("should take types from what a script launches, without a GPU", async () => {
  const script = join(folder, "bench.py");
  const launches = ["float16", "float32"].map((dtype) => `scale(torch.ones(100, device="cuda", dtype=torch.${dtype}))`);
  await writeFile(
    script,
    `import torch
from scaling import scale_kernel
def scale(x):
    y = torch.empty_like(x)
    scale_kernel[(1,)](x, y, x.numel(), 0.5, BLOCK=128)
    return y
${launches.join("\n")}
assert torch.cuda.is_available()
raise ValueError("results are missing")
`,
  );
  const ran = await run("scaling.py", SCALE, "--call", script, "--json");
  const report = JSON.parse(ran.out) as ImportReport;
  expect(report).toMatchObject({
    ok: true,
    stopped: "ValueError: results are missing",
    kernels: [{ status: "equal" }],
  });
  expect(ran.err).toBe(`running ${script}; its kernels are recorded, not launched\n`);
  const { text } = report.kernels[0]!;
  expect(text).toContain('tl.dtype("T", [tl.float16, tl.float32])');
  expect(text).toContain("x: pointer(T)");
});

it("should name the line that Triton refuses, and what to write for a block pointer that is no variable", async () => {
  const python = `${HEAD}
@triton.jit
def block_kernel(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (pid * BLOCK,), (BLOCK,), (0,))
    tl.store(x, tl.load(x, boundary_check=(0,)) + 1, boundary_check=(0,))

@triton.jit
def lost_kernel(x_ptr, n, BLOCK: tl.constexpr):
    pair = (tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,)), n)
    tl.store(pair[0], tl.load(pair[0]))

@triton.jit
def wrong_kernel(x_ptr, n):
    n += 1
    tl.store(x_ptr, tl.no_such_function(n))
`;
  const ran = await run("refused.py", python, "--types", "x_ptr:*fp32,n:i32,BLOCK=16");
  const line = (part: string): number => python.split("\n").findIndex((each) => each.includes(part)) + 1;
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(
    "block_kernel: equal\n  its block pointers are compared as the addresses and masks that Triton 3.6 makes of them, if no index overflows int32\n",
  );
  expect(ran.err).toContain(
    `  ${ran.file}:${line("pair =")}: a block pointer that is no variable of its own; write the`,
  );
  expect(ran.err).toContain(`  ${ran.file}:${line("no_such_function")}: Triton does not compile it: `);
});

describe("mistakes of the command line", () => {
  it.each([
    [[], /give --call with a script that launches the kernels, or --types with the arguments of a call/],
    [["--types", "x:*fp16", "--call", "no.py"], /give --call with a script .*, or --types/],
    [["--call", "no-such.py"], /there is no file no-such.py; name a Python file/],
    [["--types", "x"], /no NAME:TYPE or NAME=VALUE/],
    [["--types", "x:*fp16", "--deadline", "0"], /must be a number above 0/],
  ])("%j", async (args, why) => {
    expectUsageError(await run("scale.py", SCALE, ...args), why);
  });
});

describe("types that are no call of a kernel", () => {
  const without = (name: string): string =>
    TYPES.split(",")
      .filter((each) => !each.startsWith(name))
      .join(",");
  const two = `${SCALE}\n@triton.jit\ndef other_kernel(z_ptr):\n    tl.store(z_ptr, 1)\n`;
  const computed = SCALE.replace("@triton.jit", '@triton.heuristics({"BLOCK": lambda args: 64})\n@triton.jit');
  it.each([
    [
      "an unknown name",
      SCALE,
      [`${TYPES},blok=64`],
      "--types gives blok, which scale_kernel does not have; write BLOCK",
    ],
    ["other names", SCALE, [`${TYPES},qwertz=64`], "the parameters are x_ptr, y_ptr, n, factor, BLOCK"],
    ["nothing for some", SCALE, [without("n:")], "--types lacks n; add n:i32 or n:*fp16"],
    ["no value", SCALE, [without("BLOCK")], "--types lacks BLOCK; add BLOCK=…"],
    ["no value of a heuristic", computed, [without("BLOCK")], "add BLOCK=… with what its heuristic gives"],
    ["another kernel", two, [TYPES], "--types lacks z_ptr; add z_ptr:i32 or z_ptr:*fp16; --kernel NAME imports one"],
    ["a type of a constant", SCALE, [`${without("BLOCK")},BLOCK:i32`], "gives it a value, such as BLOCK=64"],
    ["a dtype as a number", SCALE, [`${without("n:")},n=i32`], "and n is no tl.constexpr; write n:i32"],
    ["numbers", SCALE, [TYPES.replaceAll("*", "")], "it compiles with x_ptr:*fp32, y_ptr:*fp32: a pointer has a star"],
    [
      "a pointer",
      SCALE,
      [TYPES.replace("n:", "n:*")],
      "it compiles with n:i32: a pointer has a star, and a number none",
    ],
    ["no function", SCALE, [`${without("BLOCK")},BLOCK=@foo`], "has no @triton.jit function foo; it has scale_kernel"],
    ["no such kernel", SCALE, [TYPES, "--kernel", "foo"], "the file has no kernel foo; it has scale_kernel"],
    ["nothing to fix", SCALE, [TYPES, "--specialize", "BLOK"], "no kernel has a parameter BLOK; write BLOCK"],
  ] as const)("%s", async (_, python, args, why) => {
    const ran = await run("types.py", python, "--types", ...args);
    expect(ran.err).toContain(why);
    expect(ran.code).not.toBe(0);
  });
});

describe("a file that", () => {
  const cases: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ["is no Python", "def (:\n", /the file is no Python: line 1/],
    ["is not UTF-8", Buffer.from("x = '\xe9'\n", "latin1"), /the file is no Python: .*codec can't decode/],
    ["has null bytes", "x = 1\0\n", /the file is no Python: .*null bytes/],
    ["is nested too deeply", `x = ${"(".repeat(5000)}${")".repeat(5000)}\n`, /the file is no Python: .*nested/],
    [
      "makes kernels for the interpreter",
      `import os\nos.environ["TRITON_INTERPRET"] = "1"\n${SCALE}`,
      /the file has no kernel; it sets TRITON_INTERPRET/,
    ],
    ["needs a missing module", `import no_such_module_of_anyone\n${SCALE}`, /can't be imported: No module named/],
    ["ends the process", `import sys\nsys.exit(3)\n${SCALE}`, /ends the process when it is imported/],
    [
      "ends without Python's clean-up",
      `import os\nos._exit(7)\n${SCALE}`,
      /ended with exit code 7 while .* ran; let it leave the process/,
    ],
    ["loops for ever", `while True:\n    pass\n${SCALE}`, /no answer within 8 s.* give it longer with --deadline/],
    ["raises", `raise ValueError("not today")\n${SCALE}`, /not today/],
    ["has no kernel", "x = 1\n", /the file has no kernel/],
  ];
  it.each(cases)("%s", async (name, python, why) => {
    // The deadline holds for the start of PyTorch too.
    const deadline = name.startsWith("loops") ? ["--deadline", "8"] : [];
    const ran = await run(`${name.replaceAll(/\W/g, "_")}.py`, python, "--types", TYPES, ...deadline);
    expect(ran.err).toMatch(why);
    expect(ran).toMatchObject({ code: 1, out: "" });
  });

  it.each([
    ["prints", `print("noise" * 1000)\n${SCALE}`],
    ["forks", `import os\nos.fork()\n${SCALE}`],
    ["leaves threads", `import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n${SCALE}`],
    ["changes the process", `import os, sys\nos.chdir("/")\nos.environ.clear()\nsys.path.clear()\n${SCALE}`],
    ["closes its output", `import os\nos.close(1)\nos.close(2)\n${SCALE}`],
    ["asks for its GPU", `import torch\nassert torch.cuda.get_device_capability() >= (8, 0)\n${SCALE}`],
    [
      "launches a kernel",
      `import torch\n${SCALE}\nx = torch.ones(9, device="cuda")\nscale_kernel[(1,)](x, x, 9, 0.5, BLOCK=16)\n`,
    ],
    ["leaves a child", `import subprocess\nsubprocess.Popen(["sleep", "1000"])\n${SCALE}`],
  ])("%s is imported all the same", async (name, python) => {
    const ran = await run(`${name}.py`.replaceAll(" ", "_"), python, "--types", TYPES, "--json");
    expect((JSON.parse(ran.out) as ImportReport).kernels).toMatchObject([{ kernel: "scale_kernel", status: "equal" }]);
  });
});

describe("a script that", () => {
  const LAUNCH = `import torch
from scripted import scale_kernel
x = torch.ones(100, device="cuda")
scale_kernel[(1,)](x, x, 100, 0.5, BLOCK=128)
`;
  const script = async (name: string, python: string, ...args: readonly string[]): Promise<CliResult> => {
    const path = join(folder, `${name.replaceAll(/\W/g, "_")}_script.py`);
    await writeFile(path, python);
    return run("scripted.py", SCALE, "--call", path, "--json", ...args);
  };
  it.each([
    ["loops for ever", `${LAUNCH}while True:\n    pass\n`, /no answer within 8 s.* give it longer with --deadline/],
    ["ends without Python's clean-up", `${LAUNCH}import os\nos._exit(0)\n`, /ended with exit code 0 while .* ran/],
    [
      "ends before it launches",
      "import sys\nsys.exit(3)\n",
      /launches no kernel of the file: it stopped, .* exit code 3/,
    ],
    ["is no Python", "def (:\n", /it stopped, SyntaxError/],
    ["needs a missing module", "import no_such_module_of_anyone\n", /it stopped, ModuleNotFoundError/],
    ["launches nothing", "x = 1\n", /the script launches no kernel of the file/],
    [
      "launches other kernels",
      `${LAUNCH.replace("scripted", "elsewhere")}`,
      /it launches scale_kernel of .*elsewhere.py/,
    ],
  ])("%s", async (name, python, why) => {
    await writeFile(join(folder, "elsewhere.py"), SCALE);
    const ran = await script(name, python, ...(name.startsWith("loops") ? ["--deadline", "8"] : []));
    const report = JSON.parse(ran.out) as ImportReport;
    expect(report).toMatchObject({
      ok: false,
      kernels: [{ status: "not imported", reason: expect.stringMatching(why) }],
    });
    expect({ code: ran.code, left: await left() }).toEqual({ code: 1, left: [] });
  });

  it.each([
    ["ends after it launched", `${LAUNCH}import sys\nsys.exit(3)\n`],
    [
      "prints and forks",
      `print("noise" * 10000)\nimport os\nif os.fork() == 0:\n    while True:\n        pass\n${LAUNCH}`,
    ],
  ])("%s serves all the same", async (name, python) => {
    const ran = await script(name, python);
    expect((JSON.parse(ran.out) as ImportReport).kernels).toMatchObject([{ kernel: "scale_kernel", status: "equal" }]);
    expect(await left()).toEqual([]);
  });
});

it("should read a file of many lines, and write nothing elsewhere", async () => {
  const out = join(folder, "huge");
  const python = `${SCALE}\nx = [\n${"    1,\n".repeat(200_000)}]\n`;
  const count = (await readdir(folder)).length;
  expect((await run("huge.py", python, "--types", TYPES, "-o", out)).code).toBe(0);
  expect([await readdir(out), (await readdir(folder)).length, await left()]).toEqual([
    ["scale_kernel.ts"],
    count + 2,
    [],
  ]);
});

it("should end what a file starts in a session of its own", async () => {
  const started = join(folder, "started");
  const python = `import subprocess
subprocess.Popen(["setsid", "-f", "sh", "-c", "echo $$ > ${started}; exec sleep 1000"]).wait()
${SCALE}`;
  const ran = await run("daemon.py", python, "--types", TYPES, "--json");
  expect(ran.code).toBe(0);
  const pid = Number(await readFile(started, "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

it("should import a file of a package whose other files need what is missing", async () => {
  const inner = join(folder, "package", "ops");
  await mkdir(inner, { recursive: true });
  await writeFile(join(folder, "package", "__init__.py"), "import no_such_module_of_anyone\n");
  await writeFile(join(inner, "__init__.py"), "");
  await writeFile(
    join(inner, "sizes.py"),
    "import triton.language as tl\nfrom package.ops import names\nFACTOR = tl.constexpr(2)\n",
  );
  await writeFile(join(inner, "names.py"), "");
  const python = `from .sizes import FACTOR\n${SCALE.replace("x * factor", "x * factor * FACTOR")}`;
  const ran = await run("package/ops/scale.py", python, "--types", TYPES, "--json");
  expect((JSON.parse(ran.out) as ImportReport).kernels).toMatchObject([{ kernel: "scale_kernel", status: "equal" }]);
});

it("should write what a script decides: grid, configs, heuristics and constants", async () => {
  const script = join(folder, "launch.py");
  await writeFile(
    script,
    `import torch, triton
from tuned import rows_kernel, tuned_kernel
def rows(x):
    m, n = x.shape
    rows_kernel[(m,)](x, n, x.stride(0), BLOCK=triton.next_power_of_2(n), DIGITS=len(str(n)), num_warps=8)
def tuned(x):
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]), 2)
    tuned_kernel[grid](x, torch.empty_like(x), n)
for n in (100, 300):
    rows(torch.ones(5, n, device="cuda"))
    tuned(torch.ones(n, device="cuda"))
`,
  );
  const python = `${HEAD}
@triton.jit
def rows_kernel(x_ptr, n, stride, BLOCK: tl.constexpr, DIGITS: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    at = x_ptr + tl.program_id(0) * stride + cols
    tl.store(at, tl.load(at, mask=cols < n).cast(tl.float32) * DIGITS, mask=cols < n)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + cols, tl.load(x_ptr + cols) * 2)
    else:
        tl.store(y_ptr + cols, tl.load(x_ptr + cols, mask=cols < n) * 2, mask=cols < n)
`;
  const ran = await run("tuned.py", python, "--call", script, "--json");
  const [rows, tuned] = (JSON.parse(ran.out) as ImportReport).kernels;
  expect([rows, tuned]).toMatchObject([{ status: "equal" }, { status: "equal" }]);
  expect(rows!.text).toContain("BLOCK: constexpr.launch(({ n }) => tl.nextPowerOf2(n)),");
  expect(rows!.text).toContain("config: { DIGITS: 3, numWarps: 8 },");
  expect(rows!.text).toContain("TODO(import): DIGITS is 3 as in the first call; the script passes len(str(n))");
  expect(rows!.text).toContain("TODO(import): how many programs the kernel has, such as [5]; the script has (m,)");
  expect(tuned!.text).toContain("grid: ({ n, BLOCK }) => [tl.cdiv(n, BLOCK), 2],");
  expect(tuned!.text).toContain("heuristics: {\n      EVEN: ({ n, BLOCK }) => n.mod(BLOCK).eq(0),");
  expect(tuned!.text).toContain("configs: [{ BLOCK: 64, numWarps: 2 }, { BLOCK: 128 }],");
});

const FLAGS = `${HEAD}
@triton.jit
def flag_kernel(x_ptr, y_ptr, B: tl.constexpr, fmt: tl.constexpr, mode: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.load(x_ptr + i)
    if fmt == "pow2":
        s = tl.exp2(tl.ceil(tl.log2(s)))
    tl.store(y_ptr + i, s * (2.0 if fmt is not None else 1.0))
`;

it("should name what has no place in the file", async () => {
  const types = "x_ptr:*fp32,y_ptr:*fp32,B=64,fmt=None,mode=None";
  const ran = await run("flags.py", FLAGS, "--types", types, "--out", join(folder, "flags"));
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.out).toContain("flag_kernel: equal for the traced calls; 1 parameter and 2 arms left out\n");
  expect(ran.out).toContain("flags.py:6: TODO: fmt is left out: each traced call passes None\n");
  expect(ran.out).toContain("flags.py:10: TODO: this arm is left out: no traced call takes it\n");
  expect(ran.out).toContain("flags.py:11: TODO: one side of this choice is left out: no traced call takes it\n");
  const text = await readFile(join(folder, "flags", "flag_kernel.ts"), "utf8");
  expect(text).toContain("// TODO(import): fmt is left out: each traced call passes None (line 6)\n");
  const { out } = await run("flags.py", FLAGS, "--types", types, "--json");
  const { kernels } = JSON.parse(out) as ImportReport;
  expect(kernels[0]!.leftOut?.map(({ what, line }) => [what, line])).toEqual([
    ["parameter", 6],
    ["arm", 11],
    ["arm", 10],
  ]);
  const both = await run("flags.py", FLAGS, "--types", 'x_ptr:*fp32,y_ptr:*fp32,B=64,fmt="pow2",mode=None');
  expect(both.err).toContain("flag_kernel: equal\n");
});

it("should name what decorators have that no spec has", async () => {
  const python = `${HEAD}
def hook(args):
    pass

@triton.autotune(
    configs=[triton.Config({"B": 64}, pre_hook=hook), triton.Config({"B": 128})],
    key=["N"],
    prune_configs_by={"early_config_prune": lambda configs, args, **rest: configs},
)
@triton.jit(do_not_specialize_on_alignment=["n"])
def tuned(x_ptr, y_ptr, n, N: tl.constexpr, B: tl.constexpr):
    for s in range(0, N, B):
        i = s + tl.arange(0, B)
        tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
`;
  const ran = await run("hooked.py", python, "--types", "x_ptr:*fp32,y_ptr:*fp32,n:i32,N=1000,B=64");
  expect(ran.err).toContain("tuned: equal for the traced calls; 3 options left out\n");
  for (const option of ["do_not_specialize_on_alignment of n", "early_config_prune", "the pre_hook of a config"])
    expect(ran.err).toContain(`TODO: ${option} is left out\n`);
  // A constant by which the autotuner chooses stays an argument.
  expect(ran.out).toContain("N: constexpr.int(),");
  expect(ran.out).toContain('key: ["N"],');
});

it("should let no comment, docstring, string or name of the Python become code", async () => {
  const code = "globalThis.ranFromPython = true;";
  const marks = ["\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\u001c", "\u202e", "\u2066", "*/", "${", "\ufeff"];
  const lines = marks.map((mark) => `    # a comment ${mark}${code} /* \`\n`).join("");
  const doc = `${marks.join(code)}${code}`.replaceAll("\\", "");
  const python = `${HEAD}
@triton.jit
def inner(x, y):
    """${doc}"""
    return x * y

@triton.jit
def outer(x_ptr, y, fmt: tl.constexpr, B: tl.constexpr):
    """${doc}"""
    i = tl.arange(0, B)
${lines}    if fmt == "${marks.join(code)}":
        tl.store(x_ptr + i, inner(tl.load(x_ptr + i), y))
`;
  const target = join(folder, "hostile");
  const ran = await run("marks.py", python, "--types", `x_ptr:*fp32,y:i32,fmt="a",B=64`, "--out", target);
  expect(ran.out, ran.err).toMatch(/^outer: equal/m);
  const text = await readFile(join(target, "outer.ts"), "utf8");
  expect(text).not.toMatch(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
  expect(text.match(/a comment/g)).toHaveLength(marks.length);
  await import(join(target, "outer.ts"));
  expect(globalThis).not.toHaveProperty("ranFromPython");
});

it.each(["__proto__", "constructor", "toString"])("should refuse a parameter named %s", async (name) => {
  const python = `${HEAD}\n@triton.jit\ndef odd(x_ptr, ${name}):\n    tl.store(x_ptr, ${name})\n`;
  const typed = await run("odd.py", python, "--types", `x_ptr:*i32,${name}:i32`);
  expect(typed).toMatchObject({ code: 2, err: expect.stringMatching(`${name} belongs to every object`) });
  const script = join(folder, "odd_call.py");
  await writeFile(script, 'import torch\nfrom odd import odd\nodd[(1,)](torch.ones(4, device="cuda"), 3)\n');
  const called = await run("odd.py", python, "--call", script);
  expect(called.err).toContain(`a parameter named ${name}; rename it`);
});

it("should refuse a folder as a file", async () => {
  await mkdir(join(folder, "nothing"), { recursive: true });
  let err = "";
  const streams: Streams = { out: () => undefined, err: (text) => (err += text), color: false };
  const code = await runBinary(["import", join(folder, "nothing"), "--types", TYPES], streams);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(/there is no file .*nothing; name a Python file/),
  });
});
