import { Message } from "../../../src/diagnostics/message.js";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { build, kernel, tensor, tl } from "tilescript";
import { TileScriptError, errorDiagnostic } from "../../../src/diagnostics/diagnostic.js";
import { authorFile, vectorAdd } from "../../support/fixtures/vector-add.js";
import { cli, expectUsageError } from "../../support/cli.js";

const vector = vectorAdd();

describe("mistakes on the command line", () => {
  it.each([
    [["--rnu"], /unknown option '--rnu'; did you mean --run\?/],
    [["run"], /^error usage: too many arguments; did you mean --run\?$/m],
    [["--run", "--device", "tpu"], /--device: there is no device tpu; .*interpreter, eval/],
    [["--run", "--device", "eval", "--shape", "Q=3"], /there is no size Q; the sizes are N/],
    [["--run", "--device", "eval", "--shape", "N=three"], /N=three is not a whole number/],
    [["--run", "--device", "eval", "--shape", "N"], /NAME=VALUE/],
    [["--run", "--device", "eval", "--dtype", "T=int8"], /T can be float32, float16, bfloat16, not int8/],
    [["--run", "--device", "eval", "--dtype", "U=float32"], /no dtype variable U; the kernel has T/],
    [["--run", "--device", "eval", "--config", "7"], /configs 0 to 1/],
    [["--run", "--seed", "x"], /must be a whole number/],
    [["--run", "--device", "eval", "--order", "sideways"], /'sideways' is invalid.*sequential, reversed, shuffled/],
    [["--run", "--rtol=-1"], /must be a number from 0 up/],
    [["--run", "--kernel", "other"], /there is no kernel other; the kernels are vectorAdd/],
    [["--run", "--check"], /--run and --check cannot be combined; give one command/],
    [["--check", "--shape", "N=3"], /--shape cannot be combined with --check/],
    [["--compile"], /argument missing/],
    [["--compile", "cuda:91"], /cuda:91 is not a known target/],
    [["gemm.py"], /^error usage: too many arguments; --help lists the options$/m],
    [["--triton-op"], /--triton-op alone does nothing; add --run, --check/],
    [["--shape", "N=3"], /--shape alone does nothing/],
    [["--emit="], /an empty path cannot hold a Python module/],
    [["--run", "--shape", "N=1,N=2"], /It gives N twice/],
  ])("%j should end with one line and code 2", async (args, message) => {
    expectUsageError(await cli(vector, ...args), message);
  });
});

describe("commands without a device", () => {
  it("should print help when nothing is asked for", async () => {
    const { code, out } = await cli(vector);
    expect(code).toBe(0);
    for (const flag of ["--run", "--emit [path]", "--compile <targets>", "--check", "--shape", "--device", "--json"])
      expect(out).toContain(flag);
    expect((await cli(vector, "--help")).out).toBe(out);
  });

  it("should print the module", async () => {
    expect(await cli(vector, "--emit")).toEqual({ code: 0, out: vector.python, err: "" });
  });

  it("should write the module and a map whose sources are relative to it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
    const { code } = await cli(vector, "--emit", join(folder, "deep", "out.py"));
    expect(code).toBe(0);
    expect(await readFile(join(folder, "deep", "out.py"), "utf8")).toBe(vector.python);
    const map = JSON.parse(await readFile(join(folder, "deep", "out.py.map"), "utf8")) as { sources: string[] };
    expect(join(folder, "deep", map.sources[0]!)).toBe(authorFile);
  });

  it("should check", async () => {
    expect(await cli(vector, "--check")).toEqual({
      code: 0,
      out: "vector_add: ok, no accesses to prove\n",
      err: "",
    });
  });

  it("should show a build error with its code frame and no stack", async () => {
    const at = { file: authorFile, line: 19, column: 5 };
    const failing = async (): Promise<never> => {
      throw new TileScriptError([
        errorDiagnostic(new Message("scope-escape", "x is used outside its loop", "keep it in tl.mut"), at),
      ]);
    };
    const { code, err } = await cli(failing, "--check");
    expect(code).toBe(1);
    expect(err).toBe(
      [
        `${authorFile}:19:5 - error scope-escape: x is used outside its loop; keep it in tl.mut`,
        "  18 |     mask = offsets < n",
        "> 19 |     x = tl.load(x_ptr + offsets * stride_x, mask=mask)",
        "     |     ^",
        "  20 |     y = tl.load(y_ptr + offsets * stride_y, mask=mask)",
        "`npx tilescript explain scope-escape` shows an example and its remedy",
        "",
      ].join("\n"),
    );
  });
});

describe("the evaluator", () => {
  it("should pass and say that the Python was not run", async () => {
    const { code, out } = await cli(vector, "--run", "--device", "eval");
    expect(code).toBe(0);
    expect(out).toContain("the emitted Python was not run");
  });

  it("should run programs in the order that is asked for", async () => {
    // Programs take tickets, so what each gets depends on who comes first.
    const tickets = await build(
      kernel(
        "tickets",
        {
          params: { next: tensor.inout(tl.int32, [1], { range: [0, 1] }), out: tensor.out(tl.int32, ["N"]) },
          grid: ({ N }) => [N],
          reference: ({ next, N }, torch) => [next.add(N), torch.arange(N).int()],
        },
        ({ next, out }) => tl.store(out.at(tl.programId(0)), tl.atomicAdd(next.ptr, 1)),
      ),
    );
    const run = (...order: string[]) => cli(tickets, "--run", "--device", "eval", "--shape", "N=50", ...order);
    expect((await run()).code).toBe(0);
    expect((await run("--order", "reversed")).out).toMatch(/out\[0\]/);
    expect((await run("--order", "shuffled")).code).toBe(1);
  });

  it("should fail with the author's line for a finding", async () => {
    const at = { file: authorFile, line: 21, column: 5 };
    const finding = {
      code: "out-of-bounds" as const,
      message: "out[2003] is outside",
      at,
      program: [2, 0, 0],
      lane: [7],
    };
    const wrong = vectorAdd({ evaluate: () => ({ outputs: {}, findings: [finding], unchecked: [] }) });
    const { code, out } = await cli(wrong, "--run", "--device", "eval");
    expect(code).toBe(1);
    expect(out).toContain("out-of-bounds in program (2, 0, 0), lane [7]: out[2003] is outside");
    expect(out).toContain("> 21 |     tl.store(out_ptr + offsets, x + y, mask=mask)");
  });

  it("should not call a kernel correct that was compared with nothing", async () => {
    const unknown = vectorAdd({ evaluate: () => ({ outputs: {}, findings: [], unchecked: [] }) });
    const { code, out } = await cli(unknown, "--run", "--device", "eval", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      correct: false,
      details: "no case could be compared with a reference: the evaluator cannot compute the reference",
    });
  });

  it("should say that a kernel without a reference has none", async () => {
    const none = vectorAdd({ reference: "none", evaluate: () => ({ outputs: {}, findings: [], unchecked: [] }) });
    const { out } = await cli(none, "--run", "--device", "eval", "--json");
    expect(JSON.parse(out)).toMatchObject({
      details: "no case could be compared with a reference: the kernel has no reference",
    });
  });

  it("should survive an evaluator that throws", async () => {
    const broken = vectorAdd({
      evaluate: () => {
        throw new Error("no such op");
      },
    });
    const { code, out } = await cli(broken, "--run", "--device", "eval");
    expect(code).toBe(1);
    expect(out).toContain("the evaluator stopped: no such op");
    expect(out).not.toContain("    at ");
  });
});
