/** What coding agents read: it is short enough, its code compiles, and it names what there is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AGENTS_PAGE, MAX_TOKENS, tokensOf } from "../../docs/agents.js";
import { explanations } from "../../src/diagnostics/explanations/index.js";
import { kernelCommands, plainCommands } from "../../src/runtime/commands/index.js";
import { typeErrors } from "../support/tsc.js";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const page = read(AGENTS_PAGE);
const blocks = (language: string): readonly string[] =>
  Array.from(page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm")), ([, text]) => text!);

describe("the page for coding agents", () => {
  test("has at most the tokens that it promises", () => {
    expect(tokensOf(page)).toBeLessThanOrEqual(MAX_TOKENS);
  });

  test("has whole kernels that compile", { timeout: 60_000 }, () => {
    const files = Object.fromEntries(blocks("ts").map((text, i) => [`kernel-${i}.ts`, text]));
    expect(Object.keys(files).length).toBeGreaterThanOrEqual(3);
    expect(typeErrors("agents-page", files)).toEqual([]);
  });

  test("has parts of kernels only from the examples of messages, each of which a test builds", () => {
    const known = Object.values(explanations)
      .flatMap((explanation) => ("failing" in explanation ? [explanation.failing, explanation.passing] : []))
      .flatMap((parts) => (typeof parts === "string" ? [parts] : Object.values(parts)))
      .map(squeezed);
    const lines = blocks("ts part").map((text) => squeezed(text));
    expect(lines).toHaveLength(20);
    for (const text of lines)
      expect(known.some((part) => text.includes(part.replaceAll("(tlasany)", "tl")))).toBe(true);
  });

  test("has no other code", () => {
    const languages = new Set(Array.from(page.matchAll(/^```(\w.*)$/gm), ([, language]) => language));
    expect([...languages].sort()).toEqual(["ts", "ts part"]);
  });
});

const squeezed = (text: string): string => text.replaceAll(/\s+/g, "");

describe.each([AGENTS_PAGE, "skills/tilescript/SKILL.md"])("%s", (path) => {
  const text = read(path);

  test("names commands and options that exist", () => {
    const commands = new Map([...kernelCommands, ...plainCommands].map((command) => [command.name, command]));
    const calls = Array.from(text.matchAll(/npx tilescript ([a-z]+)([^`\n#]*)/g));
    expect(calls.length).toBeGreaterThan(5);
    for (const [, name, rest] of calls) {
      const command = commands.get(name!);
      expect(command, name).toBeDefined();
      const known = command!.options.map(({ long }) => long);
      const unknown = Array.from(rest!.matchAll(/(--[a-z-]+)/g), ([option]) => option).filter(
        (option) => option !== "--help" && !known.includes(option),
      );
      expect(unknown, `${name}${rest}`).toEqual([]);
    }
  });
});

test("every shipped text that agents read is in the package", () => {
  const { files } = JSON.parse(read("package.json")) as { readonly files: readonly string[] };
  expect(files).toEqual(expect.arrayContaining([AGENTS_PAGE, "llms.txt", "skills"]));
});
