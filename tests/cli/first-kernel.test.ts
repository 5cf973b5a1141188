/**
 * The page `docs/first-kernel.md`, done by its text with the packed package: files from its code blocks, commands from its
 * shell blocks. And the first commands of `docs/install.md`.
 */
import { execa } from "execa";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { blocksOf } from "../support/doc-code-blocks.js";
import { requirePython } from "../support/python.js";

sampledTests("steps of the first kernel", "docs/first-kernel.md");

const root = resolve(import.meta.dirname, "../..");
const blocks = blocksOf("docs/first-kernel.md");
const ofLanguage = (language: string, info = "") =>
  blocks.filter((block) => block.language === language && block.info === info).map(({ text }) => text);
const [kernel, tests, operator] = ofLanguage("ts") as [string, string, string];
const [settings] = ofLanguage("json") as [string];
const [mistyped, unmasked] = ofLanguage("ts", "fails").map((text) => text.trim()) as [string, string];
const commands = ofLanguage("sh").flatMap((text) => text.trim().split("\n"));

/** What each command of the page says. */
const SAYS: Readonly<Record<string, RegExp>> = {
  "npx tilescript check scale.ts": /^scale: ok, /,
  "npx tilescript run scale.ts --device eval": /scale passed/,
  "npx tilescript trace scale.ts --program 0,0 --out scale.svg": /scale\.svg/,
  "npx vitest run": /1 passed/,
  "npx tilescript run row-scale.ts --device eval": /row_scale passed/,
  "npx tilescript emit row-scale.ts --out row_scale.py": /row_scale\.py/,
};
/** Commands that need a registry, which `project` stands in for. Blocks of commands for a GPU say so. */
const NOT_HERE = /^npm /;

test("every command of the page that needs neither a registry nor a GPU is run", () => {
  expect([...new Set(commands.filter((command) => !NOT_HERE.test(command)))]).toEqual(Object.keys(SAYS));
});

const folder = mkdtempSync(join(tmpdir(), "tilescript-first-kernel-"));
afterAll(() => rmSync(folder, { recursive: true }));
let installed: Promise<void> | undefined;

/** A new project with the packed package and what the page installs beside it, and the page's files. */
async function project(): Promise<void> {
  await (installed ??= install());
  writeFileSync(join(folder, "tsconfig.json"), settings);
  writeFileSync(join(folder, "scale.ts"), kernel);
  writeFileSync(join(folder, "scale.test.ts"), tests);
  writeFileSync(join(folder, "row-scale.ts"), operator);
}

async function install(): Promise<void> {
  // The package was compiled before the tests.
  const flags = ["--ignore-scripts", "--silent", "--pack-destination", folder];
  const { stdout } = await execa("npm", ["pack", ...flags], { cwd: root });
  await execa("tar", ["xzf", stdout.trim()], { cwd: folder });
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".")) symlinkSync(join(root, "node_modules", name), join(modules, name));
  renameSync(join(folder, "package"), join(modules, "tilescript"));
  // Only the bundles of a published package contain this text.
  cpSync(join(root, "python/runtime"), join(modules, "tilescript/python/runtime"), { recursive: true });
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
}

/** Runs a command that stands on the page. */
async function run(
  command: string,
  cwd = folder,
): Promise<{ readonly code: number | undefined; readonly text: string }> {
  const [, name, ...args] = command.split(" ");
  const script = name === "tilescript" ? "tilescript/bin/tilescript.js" : "vitest/vitest.mjs";
  const path = join(folder, "node_modules", script);
  const env = { CI: "1" };
  const ran = await execa(process.execPath, [path, ...args], { cwd, reject: false, all: true, env });
  return { code: ran.exitCode, text: ran.all };
}

async function succeeds(command: keyof typeof SAYS): Promise<void> {
  expect(await run(command)).toMatchObject({ text: expect.stringMatching(SAYS[command]!), code: 0 });
}

/** The kernel with one of its lines replaced. */
function changed(line: RegExp, by: string): void {
  const text = kernel.replace(line, by);
  expect(text).not.toBe(kernel);
  writeFileSync(join(folder, "scale.ts"), text);
}

test("the kernel is checked, runs and is drawn", { timeout: 120_000 }, async () => {
  await project();
  await succeeds("npx tilescript check scale.ts");
  await succeeds("npx tilescript run scale.ts --device eval");
  await succeeds("npx tilescript trace scale.ts --program 0,0 --out scale.svg");
  expect(readFileSync(join(folder, "scale.svg"), "utf8")).toContain("scale: program (0, 0)");
});

test("the mistakes that it shows are found as it says", { timeout: 120_000 }, async () => {
  await project();
  const tsc = join(folder, "node_modules/typescript/bin/tsc");
  const typed = () => execa(process.execPath, [tsc], { cwd: folder, reject: false });
  expect((await typed()).stdout).toBe("");
  changed(/^.*tl\.store\(.*$/m, mistyped);
  expect((await typed()).stdout).toContain("store: the address is [BLOCK], the value is [64]");
  changed(/^.*const cols = .*$/m, unmasked);
  const { code, text } = await run("npx tilescript run scale.ts --device eval");
  expect(code).toBe(1);
  expect(text).toContain("false-in-bounds");
  expect(text).toMatch(/scale\.ts:\d+:\d+/);
});

test("the page on installing starts with commands that follow each other", { timeout: 120_000 }, async () => {
  await project();
  const fresh = join(folder, "fresh");
  mkdirSync(fresh);
  const [first] = blocksOf("docs/install.md").filter(({ language }) => language === "sh");
  const own = first!.text.split("\n").filter((command) => command.startsWith("npx "));
  const ran: number[] = [];
  for (const command of own) ran.push((await run(command, fresh)).code!);
  // Its test is none of the other page's.
  rmSync(fresh, { recursive: true });
  expect(ran).toEqual([0, 0]);
});

test("its property test passes", { timeout: 120_000 }, async () => {
  await project();
  await succeeds("npx vitest run");
});

test("the layer that it ships has the gradients of the reference", { timeout: 120_000 }, async () => {
  await project();
  await succeeds("npx tilescript run row-scale.ts --device eval");
  await succeeds("npx tilescript emit row-scale.ts --out row_scale.py");
  writeFileSync(join(folder, "layer.py"), ofLanguage("python")[0]!);
  const script = `import torch
from layer import RowScale
layer = RowScale(5)
with torch.no_grad():
    layer.factor.copy_(torch.randn(5))
x = torch.randn(5, 130, requires_grad=True)
weight = torch.randn(5, 130)
ours = torch.autograd.grad((layer(x) * weight).sum(), (x, layer.factor))
theirs = torch.autograd.grad((x * layer.factor[:, None] * weight).sum(), (x, layer.factor))
for mine, other in zip(ours, theirs, strict=True):
    torch.testing.assert_close(mine, other)
print("equal")`;
  const env = { TRITON_INTERPRET: "1", PYTHONDONTWRITEBYTECODE: "1" };
  const ran = await execa(await requirePython(), ["-c", script], { cwd: folder, reject: false, env });
  expect(ran).toMatchObject({ stdout: "equal", exitCode: 0 });
});
