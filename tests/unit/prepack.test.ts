/** What `npm pack` leaves out of declarations and of Python changes neither. */
import { expect, test } from "vitest";
import { declarationsOf } from "../../scripts/declarations.js";
import { withoutComments } from "../../scripts/python-code.js";

function declared(files: Readonly<Record<string, string>>, ...others: readonly string[]) {
  return Object.fromEntries(declarationsOf(["/index.d.ts", ...others], (file) => files[file]!));
}

test("a declaration brings those that it names, in each way that it may name them", () => {
  const files = {
    "/index.d.ts": `export { A as First } from "./a.js";\nexport type * from "./star.js";\nexport type T = import("./b/c.js").C;`,
    "/a.d.ts": `import type { D } from "./b/d.js";\nimport fc from "fast-check";\nexport type A = D;\nexport type Other = fc.Any;`,
    "/b/c.d.ts": `interface Part {}\nexport interface C extends Part {}\nexport interface Unused {}`,
    "/b/d.d.ts": `export type D = 1;`,
    "/star.d.ts": `export interface S { c: C; }\nimport type { C } from "./b/c.js";`,
  };
  expect(declared(files)).toEqual({
    "/index.d.ts": `export { T, First } from "./declarations.js";\nexport type { S } from "./declarations.js";\n`,
    "/declarations.d.ts": `export type T = C;\nexport interface Part {}\nexport interface C extends Part {}\nexport type First = D;\nexport type D = 1;\nexport interface S { c: C; }\n`,
  });
});

test("what has one name in several files has several, and what is exported keeps its own", () => {
  const files = {
    "/index.d.ts": `export type { B } from "./b.js";`,
    "/a.d.ts": `type Same = 1;\nexport type A<T> = Same | Array<T>;`,
    "/b.d.ts": `import type { A as Same } from "./a.js";\ntype Array = Same<B>;\nexport interface B<Part = Array> { Same: Same<Part>; part(B: 1): typeof B }`,
  };
  expect(declared(files)["/declarations.d.ts"]).toBe(
    `export type Array$1 = A<B>;\nexport interface B<Part = Array$1> { Same: A<Part>; part(B: 1): typeof B }\nexport type Same = 1;\nexport type A<T> = Same | Array<T>;\n`,
  );
});

test("a module that is named as a whole is a file with its own declarations", () => {
  const files = {
    "/index.d.ts": `import * as names from "./tl/all.js";\nexport declare const tl: typeof names;`,
    "/tl/all.d.ts": `export * from "./ops.js";\nexport * as more from "./more.js";`,
    "/tl/ops.d.ts": `import type { T } from "./t.js";\n/** Adds. */\nexport declare const add: T;\ndeclare const _as: T;\nexport { _as as as };`,
    "/tl/more.d.ts": `/** More. */\nexport declare const more: 1;`,
    "/tl/t.d.ts": `export type T = 1;`,
  };
  expect(declared(files)).toEqual({
    "/index.d.ts": `export { tl } from "./declarations.js";\n`,
    "/declarations.d.ts": `import * as names from "./tl/all.js";\nexport declare const tl: typeof names;\nexport type T = 1;\n`,
    "/tl/all.d.ts": `import type { T } from "../declarations.js";\n/** Adds. */\nexport declare const add: T;\ndeclare const _as: T;\nexport * as more from "./more.js";\nexport { _as as as };\n`,
    "/tl/more.d.ts": `/** More. */\nexport declare const more: 1;\nexport {};\n`,
  });
});

test("a further entry has what it alone needs", () => {
  const files = {
    "/index.d.ts": `export interface A {}`,
    "/testing.d.ts": `import type { A } from "./index.js";\nimport fc from "fast-check";\ninterface Own { a: A; }\nexport declare function f(own: Own): fc.Any;`,
    "/vitest.d.ts": `import type { A } from "./index.js";\ndeclare module "vitest" {\n    interface Matchers extends A {}\n}`,
  };
  const written = declared(files, "/testing.d.ts", "/vitest.d.ts");
  expect(written["/declarations.d.ts"]).toBe(`export interface A {}\n`);
  expect(written["/testing.d.ts"]).toBe(
    `import fc from "fast-check";\nimport type { A } from "./declarations.js";\ninterface Own { a: A; }\nexport declare function f(own: Own): fc.Any;\nexport {};\n`,
  );
  expect(written["/vitest.d.ts"]).toBe(
    `import type { A } from "./declarations.js";\ndeclare module "vitest" {\n    interface Matchers extends A {}\n}\nexport {};\n`,
  );
});

test("what a module adds to another's declaration stays, though nothing names the module", () => {
  const files = {
    "/index.d.ts": `export type { T } from "./t.js";`,
    "/t.d.ts": `import { U } from "./adds.js";\nexport interface T {}\nexport type Unused = U;`,
    "/adds.d.ts": `type P = 1;\nexport type U = 2;\ndeclare module "./t.js" {\n    interface T { p: P; }\n}\nexport {};`,
  };
  expect(declared(files)["/declarations.d.ts"]).toBe(
    `export interface T {}\ntype P = 1;\ninterface T { p: P; }\n`.replaceAll(/^(?=type|interface)/gm, "export "),
  );
});

test("an editor's comments stay: those of what is exported and of members", () => {
  const files = {
    "/index.d.ts": `/** The file. */\nimport type { B } from "./b.js";\n/** Shown. */\nexport declare class A {\n    /** Shown too. */\n    b: B;\n    /** Of nobody. */\n    private c;\n}`,
    "/b.d.ts": `/** Never shown. */\nexport interface B {\n    /** Shown. */\n    d: 1;\n}`,
  };
  expect(declared(files)["/declarations.d.ts"]).toBe(
    `/** Shown. */\nexport declare class A {\n    /** Shown too. */\n    b: B;\n    private c;\n}\nexport interface B {\n    /** Shown. */\n    d: 1;\n}\n`,
  );
});

test("a text of several lines keeps their spaces", () => {
  const code = `if a:\n    b = """x\n    y\n        z"""\n    if c:\n        d = (e +\n             f)\n`;
  const made = `if a:\n b = """x\n    y\n        z"""\n if c:\n  d = (e +\n    f)\n`;
  expect(withoutComments(code)).toBe(made);
});

test("types of parameters and results go, on one line or several; those of fields stay", () => {
  const code = `class A:\n    b: int = 0\n\n    async def f(self, a: dict[str, "T, x"] = {"x": 1}, *, k: Callable[[], Any] = lambda x: None) -> list[tuple[int, str]]:\n        return lambda y: y\n`;
  const made = `class A:\n b: int = 0\n\n async def f(self, a = {"x": 1}, *, k = lambda x: None):\n  return lambda y: y\n`;
  expect(withoutComments(code)).toBe(made);
  const several = `def f(\n    x: int,\n    y: Literal[")"] = ")",\n    **z: Any,\n) -> None:\n    x: int = 4\n`;
  expect(withoutComments(several)).toBe(`def f(\n x,\n y = ")",\n **z,\n):\n x: int = 4\n`);
});

test("only a docstring is a string that may go", () => {
  const code = `def f(a):\n    """Doc # of f.\n\n    More."""\n    x = {"k":\n        "v"}  # why\n    return "# no" + '"""'\n`;
  expect(withoutComments(code)).toBe(`def f(a):\n ""\n\n\n x = {"k":\n  "v"}\n return "# no" + '"""'\n`);
});
