/**
 * The tutorials, done as they are written: files are saved under the names that the text gives them, changes are
 * applied, commands are run in order, and say what the page says. Steps marked `gpu` run where a GPU is.
 */
import { execa } from "execa";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Block, blocksOf } from "../support/doc-code-blocks.js";
import { binary, installInto } from "../support/installed.js";
import { requirePython } from "../support/python.js";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("tutorials", "docs");

const root = resolve(import.meta.dirname, "../..");
const TUTORIALS = ["fused-op", "port-a-kernel", "make-it-fast", "prove-it"];
/** The time that a reader has, in minutes. Commands may take half of it. */
const MINUTES = 15;

const project = mkdtempSync(join(tmpdir(), "tilescript-tutorials-"));
afterAll(() => rmSync(project, { recursive: true }));
const commands = join(project, "node_modules/.bin");
installInto(project, "tsx", "typescript");
mkdirSync(commands);
symlinkSync(binary, join(commands, "tilescript"));

/** A file that the sentence before a block names: `` `model.py` computes …: `` or `` …as `add.ts`: ``. */
function fileOf({ page, line }: Block): string | undefined {
  const before = readFileSync(join(root, page), "utf8")
    .split("\n")
    .slice(0, line - 2)
    .findLast((each) => each.trim() !== "");
  return before?.endsWith(":") ? before.match(/`([\w-]+\.(?:ts|py))`/)?.[1] : undefined;
}

/** Lines as they are on any machine. */
const stable = (line: string): string => line.trim().replaceAll(/\d+(?:\.\d+)? m?s\b/g, "T s");

interface Step {
  readonly command: string;
  readonly says: readonly string[];
}

/** The commands of a block, each with the lines that follow it. */
const stepsOf = ({ text }: Block): readonly Step[] =>
  text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...says] = part.trimEnd().split("\n");
      return { command, says: says.filter((line) => line !== "…") };
    });

/** The text with the change of a diff, whose removed lines it has once. */
function changed(text: string, diff: string): string {
  const side = (mark: string): string =>
    diff
      .split("\n")
      .filter((line) => line.startsWith(mark))
      .map((line) => `${line.slice(1)}\n`)
      .join("");
  expect(text.split(side("-"))).toHaveLength(2);
  return text.replace(side("-"), () => side("+"));
}

/** Does what a page says, in a folder. Returns the commands that ran. */
async function follow(page: string, folder: string): Promise<number> {
  const path = [commands, dirname(await requirePython()), process.env["PATH"]].join(":");
  const env = { CI: "1", PATH: path, PYTHONDONTWRITEBYTECODE: "1" };
  let current = "";
  let count = 0;
  for (const block of blocksOf(page)) {
    const name = fileOf(block);
    if (block.language === "diff") {
      const file = join(folder, current);
      writeFileSync(file, changed(readFileSync(file, "utf8"), block.text));
    } else if (name !== undefined) {
      writeFileSync(join(folder, name), block.text);
      if (name.endsWith(".ts")) current = name;
    } else if (block.language === "console") {
      for (const { command, says } of stepsOf(block)) {
        const ran = await execa({ cwd: folder, env, shell: true, reject: false, all: true })`${command}`;
        const where = `${page}:${block.line}: ${command}`;
        expect(ran.exitCode, `${where}\n${ran.all}`).toBe(block.info === "fails" ? 1 : 0);
        const lines = ran.all.split("\n").map(stable).join("\n");
        for (const line of says) expect(lines, where).toContain(stable(line));
        const [, written] = / -o \.$|import (\S+)\.py/.exec(command) ?? [];
        if (written !== undefined) current = `${written}_kernel.ts`;
        count++;
      }
    }
  }
  return count;
}

test.each(TUTORIALS)("%s works as it is written", { timeout: MINUTES * 30_000 }, async (name) => {
  const folder = join(project, name);
  mkdirSync(folder);
  expect(await follow(`docs/${name}.md`, folder)).toBeGreaterThan(2);
});

test("every command of the tutorials is run, or marked as one for a GPU", () => {
  const blocks = TUTORIALS.flatMap((name) => blocksOf(`docs/${name}.md`));
  expect(blocks.filter(({ language, info }) => language === "sh" && info !== "gpu")).toEqual([]);
  expect(blocks.filter(({ info }) => info === "gpu").length).toBe(2);
});
