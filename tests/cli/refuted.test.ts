/** Commands on a kernel that a proof refutes: nothing is verified or packaged, and the message has the case and the line. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { cli } from "../support/cli.js";

const copy = (claims: boolean) =>
  kernel(
    "copy",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
      reference: ({ x }) => x,
    },
    ({ x, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(i), tl.load(x.at(claims ? tl.inBounds(i) : i)));
    },
  );
const build = async (claims: boolean) => (await import("tilescript")).build(copy(claims));

const REFUTED = /refuted\.test\.ts:\d+:\d+ - error false-in-bounds: .*; a case: N=1, config 0/;

test("verify refuses it before a device starts, and runs a case that is given", async () => {
  const { code, err } = await cli(await build(true), "--verify", "--device", "eval");
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(REFUTED) });
  const at = JSON.stringify({ sizes: { N: 5 }, dtypes: {}, config: 0, seed: 1 });
  const given = await cli(await build(true), "--verify", "--device", "eval", "--case", at);
  expect(given.code).toBe(1);
  expect(given.out).toContain("1 of 1 cases failed");
  const right = await cli(await build(false), "--verify", "--device", "eval", "--runs", "2");
  expect(right.code).toBe(0);
});

test("package refuses it and writes nothing", async () => {
  const out = join(await mkdtemp(join(tmpdir(), "tilescript-refuted-")), "mine");
  const { code, err } = await cli(await build(true), "--package", out);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(REFUTED) });
  expect(existsSync(out)).toBe(false);
  expect((await cli(await build(false), "--package", out)).code).toBe(0);
});
