/** `check --invariance`, and what `invariant` of a spec requires of a kernel, of its module and of commands. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cli } from "../support/cli.js";

const rowSums = (key: readonly string[], invariant: readonly string[] = []) =>
  build(
    kernel(
      "row_sums",
      {
        params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
        grid: ({ M }: any) => [M],
        autotune: { key, configs: [{ BLOCK: 64 }, { BLOCK: 128 }] },
        invariant,
        reference: ({ x }: any) => x.sum(1),
      } as any,
      ({ x, y, N, M, BLOCK }: any) => {
        const row = tl.programId(0);
        const total = tl.mut(tl.zeros([BLOCK], tl.float32));
        for (const start of tl.range(0, N, BLOCK))
          total.value = total.value.add(tl.load(x.at(row, start.add(tl.arange(0, BLOCK)))));
        tl.store(y.at(row), tl.sum(total.value, 0), { mask: row.lt(M) });
      },
    ),
  );

test("each output has a line for sizes and one for runs", async () => {
  const { code, out } = await cli(await rowSums(["N"]), "--check", "--invariance");
  expect(code).toBe(0);
  expect(out).toContain("row_sums y: invariant in M\n");
  expect(out).toContain("row_sums y: the same bits in every run with one config, which the autotuner may choose anew");
});

test("a key that contains the size chooses the order of sums", async () => {
  const { code, out } = await cli(await rowSums(["M", "N"]), "--check", "--invariance");
  expect(code).toBe(0);
  expect(out).toMatch(/row_sums y: not invariant in M at .*invariance\.test\.ts:\d+:\d+: .*key chooses the config/);
});

test("the report has the verdicts only if they are asked for", async () => {
  const built = await rowSums(["N"]);
  const asked = JSON.parse((await cli(built, "--check", "--invariance", "--json")).out);
  expect(asked.kernels[0].invariance).toMatchObject([
    {
      kernel: "row_sums",
      output: "y",
      sizes: [{ size: "M", verdict: { kind: "invariant" } }],
      runs: { kind: "per-config" },
    },
  ]);
  expect(JSON.parse((await cli(built, "--check", "--json")).out).kernels[0].invariance).toBeUndefined();
});

test("a requirement that holds is silent, and Triton compiles one kernel for all values of the size", async () => {
  const built = await rowSums(["N"], ["M"]);
  const { code, out, err } = await cli(built, "--check");
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(out).not.toContain("invariant");
  expect(built.python).toContain('@triton.jit(do_not_specialize=["M"])');
  expect((await rowSums(["N"])).python).not.toContain("do_not_specialize");
});

test("a requirement that does not hold is an error with a remedy", async () => {
  const { code, out, err } = await cli(await rowSums(["M", "N"], ["M"]), "--check");
  expect(code).toBe(1);
  expect(`${out}${err}`).toMatch(
    /not-invariant: invariant names M, but the bits of y depend on it: .*M in the autotuner's key/,
  );
  expect(`${out}${err}`).toContain("leave M out of the autotuner's key");
});

test.each([
  ["verify", ["--verify", "--device", "eval", "--runs", "1"]],
  ["package", ["--package", join(tmpdir(), `tilescript-invariance-${process.pid}`)]],
])("%s refuses a kernel that is not shown to be as invariant as it declares", async (_, flags) => {
  const { code, err } = await cli(await rowSums(["M", "N"], ["M"]), ...flags);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/error not-invariant: invariant names M/) });
  expect((await cli(await rowSums(["N"], ["M"]), ...flags)).code).toBe(0);
});

test("a requirement names a size of an output's axis", async () => {
  await expect(rowSums(["N"], ["N"])).rejects.toThrow("row_sums: invariant names N; it may name M");
});
