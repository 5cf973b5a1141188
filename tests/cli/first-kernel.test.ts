/** The page `docs/first-kernel.md`, done by its text: files from its code blocks, commands from its shell blocks. */
import { execa } from "execa";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { drawTests } from "../support/drawn.js";
import { binary, installInto } from "../support/installed.js";

drawTests("steps of the first kernel", "docs/first-kernel.md");

const page = readFileSync(new URL("../../docs/first-kernel.md", import.meta.url), "utf8");
const blocks = Array.from(page.matchAll(/^```(\w+)( fails)?\n([^]*?)^```$/gm), ([, language, fails, text]) => ({
  language,
  fails: fails !== undefined,
  text: text!,
}));
const files = blocks.filter(({ language, fails }) => language === "ts" && !fails);
const [mistyped, unmasked] = blocks.filter(({ fails }) => fails).map(({ text }) => text.trim());
const commands = blocks.filter(({ language }) => language === "sh").flatMap(({ text }) => text.trim().split("\n"));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tilescript-first-kernel-"));
  // What the page's `npm install` brings.
  installInto(folder, "tsx", "typescript", "vitest", "fast-check", "@types");
  writeFileSync(join(folder, "scale.test.ts"), files[1]!.text);
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => writeFileSync(join(folder, "scale.ts"), files[0]!.text));

/** Runs a command that stands on the page. */
async function says(command: string): Promise<{ readonly code: number | undefined; readonly text: string }> {
  expect(commands).toContain(command);
  const [, name, ...args] = command.split(" ");
  const script = name === "tilescript" ? binary : join(folder, "node_modules/vitest/vitest.mjs");
  const ran = await execa(process.execPath, [script, ...args], {
    cwd: folder,
    reject: false,
    all: true,
    env: { CI: "1" },
  });
  return { code: ran.exitCode, text: ran.all };
}

/** The kernel with one of its lines replaced. */
function changed(line: RegExp, by: string): void {
  const text = files[0]!.text.replace(line, by);
  expect(text).not.toBe(files[0]!.text);
  writeFileSync(join(folder, "scale.ts"), text);
}

test("the kernel is checked, runs and is drawn", { timeout: 120_000 }, async () => {
  expect(await says("npx tilescript check scale.ts")).toMatchObject({
    code: 0,
    text: expect.stringMatching(/^scale: ok, /),
  });
  const run = await says("npx tilescript run scale.ts --device eval");
  expect(run.text).toContain("scale passed");
  expect(run.code).toBe(0);
  expect((await says("npx tilescript trace scale.ts --program 0,0 --out scale.svg")).code).toBe(0);
  expect(readFileSync(join(folder, "scale.svg"), "utf8")).toContain("scale: program (0, 0)");
});

test("the mistakes that it shows are found as it says", { timeout: 120_000 }, async () => {
  const tsc = join(folder, "node_modules/typescript/bin/tsc");
  const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--skipLibCheck", "scale.ts"];
  const typed = () => execa(process.execPath, [tsc, ...flags], { cwd: folder, reject: false });
  expect((await typed()).stdout).toBe("");
  changed(/^.*tl\.store\(.*$/m, mistyped!);
  expect((await typed()).stdout).toContain("store: the address is [BLOCK], the value is [64]");
  changed(/^.*const cols = .*$/m, unmasked!);
  const { code, text } = await says("npx tilescript run scale.ts --device eval");
  expect(code).toBe(1);
  expect(text).toContain("false-in-bounds");
  expect(text).toMatch(/scale\.ts:\d+:\d+/);
});

test("its test passes, and the module is written", { timeout: 120_000 }, async () => {
  const tested = await says("npx vitest run");
  expect(tested.text).toMatch(/1 passed/);
  expect((await says("npx tilescript emit scale.ts --out scale.py")).code).toBe(0);
  expect(readFileSync(join(folder, "scale.py"), "utf8")).toContain("def scale(");
});
