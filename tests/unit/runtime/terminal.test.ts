/** What a terminal shows and a pipe does not: colors, and a line of progress before the work begins. */
import { expect, test } from "vitest";
import { errorDiagnostic, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { Message } from "../../../src/diagnostics/message.js";
import { runCli } from "../../../src/runtime/cli/cli.js";
import type { Streams } from "../../../src/runtime/system/streams.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { authorFile, vectorAdd } from "../../support/fixtures/vector-add.js";

const escape = "\u001b[";
const clear = `\r${escape}2K`;

/** Everything that the command writes, in order, and what it had written when the kernel was built. */
async function shown(kernel: () => CompiledKernel, streams: Partial<Streams>, ...args: readonly string[]) {
  let [written, before] = ["", ""];
  const write = (text: string): void => void (written += text);
  const compile = async (): Promise<CompiledKernel> => {
    before = written;
    return kernel();
  };
  const all = { out: write, err: write, color: false, ...streams };
  await runCli("vector-add.ts", args, [{ name: "vectorAdd", compile }], all);
  return { written, before };
}

test.each(["--check", "--run", "--verify"])(
  "%s says what it does before it builds, and removes the line",
  async (flag) => {
    const { written, before } = await shown(
      vectorAdd,
      { live: true },
      flag,
      ...(flag === "--check" ? [] : ["--device", "eval"]),
    );
    expect(before).toContain(`${clear}${flag.slice(2)} …`);
    expect(before).toMatch(/building .*vectorAdd …$/);
    // Each line of the terminal shows what was written after it was last cleared.
    const lines = written.split("\n").map((line) => line.split(clear).at(-1));
    expect(lines.filter((line) => line?.includes("building"))).toEqual([]);
    expect(lines.at(-1)).toBe("");
  },
);

test("a pipe gets neither progress nor colors", async () => {
  const { written } = await shown(vectorAdd, {}, "--check");
  expect(written).toBe("vector_add: ok, no accesses to prove\n");
});

test("the verdict, the code, the remedy and the caret are colored", async () => {
  const { written } = await shown(vectorAdd, { color: true }, "--check");
  expect(written).toBe(`vector_add: ${escape}32mok${escape}39m, no accesses to prove\n`);
  const failing = (): never => {
    const at = { file: authorFile, line: 19, column: 5 };
    throw new TileScriptError([errorDiagnostic(new Message("scope-escape", "x is used", "keep it in tl.mut"), at)]);
  };
  const { written: failed } = await shown(failing, { errColor: true }, "--check");
  expect(failed).toContain(`${escape}31merror scope-escape:${escape}39m`);
  expect(failed).toContain(`; ${escape}32mkeep it in tl.mut${escape}39m`);
  expect(failed).toContain(`|     ${escape}31m^${escape}39m\n`);
  expect((await shown(failing, { color: true }, "--check")).written).not.toContain(escape);
});

test("cases that fail at one line are shown once, with their number", async () => {
  const at = { file: authorFile, line: 21, column: 5 };
  const finding = {
    code: "out-of-bounds" as const,
    message: "out[2003] is outside",
    at,
    program: [2, 0, 0],
    lane: [7],
  };
  const wrong = () => vectorAdd({ evaluate: () => ({ outputs: {}, findings: [finding], unchecked: [] }) });
  const { written } = await shown(wrong, {}, "--run", "--device", "eval");
  expect(written.match(/out\[2003\] is outside/g)).toHaveLength(1);
  expect(written).toMatch(/the same in \d+ other cases; --verbose shows all/);
  const { written: verbose } = await shown(wrong, {}, "--run", "--device", "eval", "--verbose");
  expect(verbose.match(/out\[2003\] is outside/g)!.length).toBeGreaterThan(3);
});
