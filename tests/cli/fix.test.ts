/** `tilescript fix` as a user starts it: one run leaves nothing that has an edit. */
import { execa } from "execa";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { binary, installInto } from "../support/installed.js";

const body = (lines: string): string => `import { constexpr, kernel, tensor, tl } from "tilescript";
export const sums = kernel(
  "sums",
  {
    params: { x: tensor(tl.float32, ["M", "N"]), y: tensor.out(tl.float32, ["M"]), BLOCK: constexpr() },
    grid: ({ M, BLOCK }) => [tl.cdiv(M, BLOCK)],
    config: { BLOCK: 64 },
    reference: ({ x }) => x.sum(1),
    shapes: [{ M: 100, N: 7 }],
  },
  ({ x, y, M, N, BLOCK }) => {
${lines}
  },
);
`;

test("edits inside of edits, and those that only a build after them shows", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-fix-"));
  installInto(folder, "tsx");
  const file = join(folder, "sums.ts");
  await writeFile(
    file,
    body(`    const i = (tl.programId(0) * BLOCK) + tl.arange(0, BLOCK);
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (let k = 0; k < N; k++) {
      sum.value = sum + tl.load(x.at(i, k)) * 1;
    }
    tl.store(y.at(i), -(-sum), { maks: i >= 0 && i < M });`),
  );
  const run = (...args: string[]) => execa("node", [binary, ...args], { cwd: folder, reject: false });
  const { exitCode, stdout, stderr } = await run("fix", "sums.ts", "--json");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    files: [{ file: expect.stringMatching(/sums\.ts$/) }],
    left: [],
  });
  expect(await readFile(file, "utf8")).toBe(
    body(`    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const k of tl.range(0, N)) {
      sum.value = sum.value.add(tl.load(x.at(i, k)).mul(1));
    }
    tl.store(y.at(i), sum.value.neg().neg(), { mask: i.ge(0).and(i.lt(M)) });`),
  );
  expect((await run("fix", "sums.ts")).stdout).toBe("nothing to fix");
  expect((await run("run", "sums.ts", "--device", "eval")).exitCode).toBe(0);
});
