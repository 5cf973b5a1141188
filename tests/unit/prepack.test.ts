/** What `npm pack` leaves out of declarations and of Python changes neither. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { declarationsOf } from "../../scripts/declarations.js";
import { withoutComments } from "../../scripts/python-code.js";

const root = join(import.meta.dirname, "../..");

function declared(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(declarationsOf(["/index.d.ts"], (file) => files[file]!));
}

test("a declaration brings those that it names, in each way that it may name them", () => {
  const files = {
    "/index.d.ts": `export { A as First } from "./a.js";\nexport type * from "./star.js";\nexport type T = import("./b/c.js").C;`,
    "/a.d.ts": `import type { D } from "./b/d.js";\nimport fc from "fast-check";\nexport type A = D;\nexport type Other = fc.Any;`,
    "/b/c.d.ts": `interface Part {}\nexport interface C extends Part {}\nexport interface Unused {}`,
    "/b/d.d.ts": `import * as e from "../e.js";\nexport type D = typeof e;`,
    "/e.d.ts": `declare const x: 1;\nexport { x };\ndeclare const y: 2;`,
    "/star.d.ts": `export interface S { c: C; }\nimport type { C } from "./b/c.js";`,
  };
  expect(declared(files)).toEqual({
    "/index.d.ts": `export { A as First } from "./a.js";\nexport type * from "./star.js";\nexport type T = import("./b/c.js").C;\n`,
    "/a.d.ts": `import type { D } from "./b/d.js";\nimport fc from "fast-check";\nexport type A = D;\n`,
    "/b/c.d.ts": `interface Part {}\nexport interface C extends Part {}\n`,
    "/b/d.d.ts": `import * as e from "../e.js";\nexport type D = typeof e;\n`,
    "/e.d.ts": `declare const x: 1;\nexport { x };\n`,
    "/star.d.ts": `export interface S { c: C; }\nimport type { C } from "./b/c.js";\n`,
  });
});

test("what a module adds to others stays, though nothing names the module", () => {
  const files = {
    "/index.d.ts": `export type { T } from "./t.js";`,
    "/t.d.ts": `import { U } from "./adds.js";\nexport interface T {}\nexport type Unused = U;`,
    "/adds.d.ts": `type P = 1;\nexport type U = 2;\ndeclare module "./t.js" {\n    interface T { p: P; }\n}\nexport {};`,
  };
  expect(declared(files)).toEqual({
    "/index.d.ts": `import "./adds.js";\nexport type { T } from "./t.js";\n`,
    "/t.d.ts": `export interface T {}\n`,
    "/adds.d.ts": `type P = 1;\ndeclare module "./t.js" {\n    interface T { p: P; }\n}\nexport {};\n`,
  });
});

test("an editor's comments stay: those of what is exported and of members", () => {
  const files = {
    "/index.d.ts": `/** The file. */\nimport type { B } from "./b.js";\n/** Shown. */\nexport declare class A {\n    /** Shown too. */\n    b: B;\n    /** Of nobody. */\n    private c;\n}`,
    "/b.d.ts": `/** Never shown. */\nexport interface B {\n    /** Shown. */\n    d: 1;\n}`,
  };
  expect(declared(files)).toEqual({
    "/index.d.ts": `import type { B } from "./b.js";\n/** Shown. */\nexport declare class A {\n    /** Shown too. */\n    b: B;\n    private c;\n}\n`,
    "/b.d.ts": `export interface B {\n    /** Shown. */\n    d: 1;\n}\n`,
  });
});

/** The syntax tree of each file in both folders, where docstrings are empty, and each statement's line. */
const SAME = `
import ast, json, pathlib, sys
def read(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                first.value.value = ""
    return ast.dump(tree), [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]
sources, made = map(pathlib.Path, sys.argv[1:])
files = sorted(path.relative_to(sources) for path in sources.rglob("*.py"))
print(json.dumps([str(file) for file in files if read(sources / file) != read(made / file.name)]))
`;

test("Python without comments is the same program, line by line", () => {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-python-"));
  try {
    const names = readdirSync(join(root, "python"), { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".py"));
    const comments = files.filter((name) => {
      const code = withoutComments(readFileSync(join(root, "python", name), "utf8"));
      writeFileSync(join(folder, name.replace(/^.*[\\/]/, "")), code);
      return /^[ \t]*# /m.test(code) || code.startsWith(`"""`);
    });
    expect(files.length).toBeGreaterThan(40);
    expect(comments).toEqual([]);
    const said = execFileSync("python3", ["-c", SAME, join(root, "python"), folder], { encoding: "utf8" });
    expect(JSON.parse(said)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("only a docstring is a string that may go", () => {
  const code = `def f(a):\n    """Doc # of f.\n\n    More."""\n    x = {"k":\n        "v"}  # why\n    return "# no" + '"""'\n`;
  expect(withoutComments(code)).toBe(`def f(a):\n    ""\n\n\n    x = {"k":\n        "v"}\n    return "# no" + '"""'\n`);
});
