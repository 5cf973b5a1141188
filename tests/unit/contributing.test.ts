/** The pages for contributors: short, and their commands, files and folders exist. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { folders } from "../../docs/folders.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const names = new Set(
  ["src", "python", "tests"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => basename(file)),
  ),
);
const has = (file: string): boolean => existsSync(join(root, file));

test.each([
  ["CONTRIBUTING.md", 150],
  ["CHANGELOG.md", 150],
  ["docs/architecture.md", 400],
])("%s has at most %i lines", (page, lines) => {
  expect(read(page).split("\n").length).toBeLessThanOrEqual(lines);
});

const PAGES = ["CONTRIBUTING.md", "docs/architecture.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"];
/** Folders of the repository, of which a page may name a file. */
const TOP = /^(?:\.ci|\.github|bench|docs|examples|python|scripts|site|src|tests)\//;

test.each(PAGES)("%s names files and folders that exist", (page) => {
  const text = read(page);
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!);
  // Placeholders are in capitals, and what a command makes does not lie in the repository.
  const paths = quoted.filter((name) => TOP.test(name) && !/[ *]|[A-Z]{4}/.test(name));
  expect(paths.filter((path) => !has(path))).toEqual([]);
  const links = [...text.replaceAll(/`[^`\n]+`/g, "").matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(
    ([, target]) => target!,
  );
  const local = links.filter((target) => !target.startsWith("https:"));
  expect(local.filter((target) => !has(join(dirname(page), target)))).toEqual([]);
});

test("docs/architecture.md names files by themselves that exist in the sources", () => {
  const quoted = [...read("docs/architecture.md").matchAll(/`([\w-]+\.(?:ts|py))`/g)].map(([, name]) => name!);
  expect(quoted.length).toBeGreaterThan(20);
  expect([...new Set(quoted)].filter((name) => !names.has(name))).toEqual([]);
});

test("the picture of the architecture has every folder of src", () => {
  const words = new Set(read("docs/pictures/architecture.svg").match(/[a-z][a-z-]+/g));
  expect(Object.keys(folders).filter((folder) => !words.has(folder))).toEqual([]);
});

test("CONTRIBUTING.md names tests that exist in its commands", () => {
  const commands = [...read("CONTRIBUTING.md").matchAll(/npx (?:vitest run|tsx) ([^`\n]+)/g)].map(([, rest]) => rest!);
  const paths = commands.flatMap((rest) => rest.split(" ")).filter((word) => TOP.test(word));
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.map((path) => path.replace("/FOLDER", "")).filter((path) => !has(path))).toEqual([]);
});
