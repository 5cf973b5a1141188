/** `check --smt`: a script for each obligation, and a line that says what has none. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cli } from "../support/cli.js";

test("scripts are written, and counted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-smt-"));
  const copy = await build(
    kernel(
      "copy",
      {
        doc: "Copies.",
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)));
      },
    ),
  );
  const { code, out } = await cli(copy, "--check", "--smt", folder);
  expect(code).toBe(0);
  expect(out).toContain(`copy: 4 scripts in ${folder}; 2 not written: its property is not one of index arithmetic\n`);
  const files = readdirSync(folder).toSorted();
  expect(files).toEqual([
    "copy-001-bounds-config0.smt2",
    "copy-002-bounds-config0.smt2",
    "copy-003-overflow-config0.smt2",
    "copy-004-overflow-config0.smt2",
  ]);
  expect(readFileSync(join(folder, files[0] ?? ""), "utf8")).toMatch(
    /^; copy: bounds of the load from x, line \d+, config 0\n\(set-logic QF_BV\)\n/,
  );
  rmSync(folder, { recursive: true });
});
