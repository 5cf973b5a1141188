/** The direction of imports between folders, and that what runs in a browser asks nothing of Node. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../src");

/** What each folder may import besides itself; files directly in `src` join them. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  ir: [],
  ops: ["ir"],
  dsl: ["ir", "ops"],
  check: ["ir"],
  eval: ["ir"],
  codegen: ["ir"],
  call: ["ir", "eval"],
  runtime: [],
};
/** Types and messages that everything shares. */
const shared = new Set(["diagnostics", "compiled", "tolerance"]);
const portable = ["ir", "ops", "check", "eval", "codegen", "dsl", "call"];

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function filesOf(folder: string): string[] {
  return readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(SRC, folder, name));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  const found: Import[] = [];
  for (const match of text.matchAll(
    /^(?:import|export)\s(type\s)?[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
  ))
    found.push({ from: file, to: (match[2] ?? match[3] ?? match[4])!, typeOnly: match[1] !== undefined });
  return found;
}

function folderOf(file: string): string | undefined {
  const path = relative(SRC, file);
  return path.includes("/") ? path.split("/")[0] : undefined;
}

test.each(Object.keys(allowed))("src/%s imports only what lies below it", (folder) => {
  const wrong = filesOf(folder).flatMap((file) =>
    importsOf(file).flatMap(({ to }) => {
      if (!to.startsWith(".")) return [];
      const target = resolve(dirname(file), to);
      const other = folderOf(target);
      if (other === folder || (other !== undefined && allowed[folder]!.includes(other))) return [];
      if (other === undefined && shared.has(relative(SRC, target).replace(/\.js$/, ""))) return [];
      return [`${relative(SRC, file)} imports ${to}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test("what is evaluated, checked and emitted needs no Node module", () => {
  const wrong = portable.flatMap(filesOf).flatMap((file) => {
    // The index of the author's source reads files: it is loaded on demand, and only on Node.
    if (/\/dsl\/source[\w-]*\.ts$/.test(file)) return [];
    return importsOf(file).flatMap(({ to, typeOnly }) =>
      to.startsWith("node:") && !typeOnly ? [`${relative(SRC, file)} imports ${to}`] : [],
    );
  });
  expect(wrong).toEqual([]);
});
