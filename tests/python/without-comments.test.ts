/** The Python in the package, without comments and annotations, is the same program. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { withoutComments } from "../../scripts/python-code.js";
import { requirePython } from "../support/python.js";

const root = join(import.meta.dirname, "../..");

/** The syntax tree of each file in both folders, without docstrings and types of parameters, and each statement's line. */
const SAME = `
import ast, json, pathlib, sys
def read(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                first.value.value = ""
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
    return ast.dump(tree), [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]
sources, made = map(pathlib.Path, sys.argv[1:])
files = sorted(path.relative_to(sources) for path in sources.rglob("*.py"))
print(json.dumps([str(file) for file in files if read(sources / file) != read(made / file)]))
`;

test("Python without comments is the same program, line by line", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-python-"));
  try {
    const names = readdirSync(join(root, "python"), { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".py"));
    const comments = files.filter((name) => {
      const code = withoutComments(readFileSync(join(root, "python", name), "utf8"));
      mkdirSync(join(folder, dirname(name)), { recursive: true });
      writeFileSync(join(folder, name), code);
      return /^[ \t]*# /m.test(code) || code.startsWith(`"""`) || /\) -> .*:$/m.test(code);
    });
    expect(files.length).toBeGreaterThan(40);
    expect(comments).toEqual([]);
    const said = execFileSync(await requirePython(), ["-c", SAME, join(root, "python"), folder], { encoding: "utf8" });
    expect(JSON.parse(said)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
