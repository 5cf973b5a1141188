import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createSourceIndex } from "../../../src/source/call-site-index.js";

const folder = mkdtempSync(join(tmpdir(), "tilescript-lint-"));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;

/** What the lint says about a file: `line:column severity code: message`. */
function lint(source: string, others: Record<string, string> = {}): string[] {
  const path = join(folder, `case${count++}.ts`);
  writeFileSync(path, source);
  for (const [name, text] of Object.entries(others)) writeFileSync(join(folder, name), text);
  return createSourceIndex()
    .lint([path])
    .map((each) => {
      const file = each.at!.file === path ? "" : `${each.at!.file.slice(folder.length + 1)}:`;
      return `${file}${each.at!.line}:${each.at!.column} ${each.severity} ${each.code}: ${each.message}`;
    });
}

const HEAD = 'import { kernel, tensor, constexpr, tl, type Tile, type Scalar } from "tilescript";';

/** A kernel with this body; its first line is line 1, column 1. */
function inKernel(body: string, before = ""): string[] {
  return lint(
    `${HEAD} ${before} export const k = kernel("k", { params: {}, grid: () => [1] }, ({ a, b, bias, n, MODE }) => {\n${body}\n});`,
  ).map((line) => line.replace(/^(\d+)/, (number) => String(Number(number) - 1)));
}

/** The message alone of a body that breaks one rule. */
function message(body: string): string {
  const found = inKernel(body);
  expect(found).toHaveLength(1);
  return found[0]!.replace(/^\d+:\d+ error /, "");
}

test("what a refused operator was to give is a value of the program where its name is used again", () => {
  const remedies = inKernel("const i = a + b; const j = i % n; const m = i < n; tl.store(a, (b - i) * j);").map(
    (found) => /write (.*)$/.exec(found)?.[1],
  );
  expect(remedies).toEqual(["a.add(b)", "i.mod(n)", "i.lt(n)", "b.sub(i)", "b.sub(i).mul(j)"]);
});

test("an operand that a sentence has no room for is an ellipsis, and no name", () => {
  expect(message("const s = tl.mut(0); s.value += tl.sum(tl.load(a, { mask: n.gt(0), other: 0 }));")).toContain(
    "write s.value = s.value.add(…)",
  );
});

test("branches inside one another are walked once each", () => {
  const nested = Array.from({ length: 40 }).reduce<string>(
    (inner) => `tl.when(n.gt(0), () => { ${inner} }).otherwise(() => { tl.store(b, 1); });`,
    "if (a) tl.store(b, 0);",
  );
  expect(message(nested)).toMatch(/^traced-condition: /);
});

describe("an element of a list of known length", () => {
  test.each([
    "[[n]].flat()[0]",
    "[[1, n]].flat()[1]",
    "[n].toSorted()[0]",
    "[n].sort()[0]",
    "[0].fill(n)[0]",
    "[0, n].reverse()[0]",
    "[n].slice()[0]",
    "[0].concat(n)[1]",
    "[0].concat([1, n])[2]",
    "[0, n].at(-1)",
    "[[1, n]].at(0).at(-1)",
    "[...[0, n]][1]",
    "[...[n].values()][0]",
    "[...[n].entries()][0][1]",
    "Array.of(0, n)[1]",
    "Object.entries({ f: n })[0][1]",
    "[[n]].flatMap((v) => v)[0]",
  ])("%s", (list) => {
    expect(message(`const m = ${list} ? 1 : 2;`)).toMatch(/^traced-condition: /);
    // The same list of plain numbers says nothing.
    expect(inKernel(`const m = ${list.replace(/\bn\b/, "1")} ? 1 : 2;`)).toEqual([]);
  });

  test("that has got others since says nothing", () => {
    expect(inKernel("const l = []; l.push(1); const m = [...l, n][0] ? 1 : 2;")).toEqual([]);
    expect(inKernel("const m = [1, n].concat(2)[0] || [1, n].toReversed()[1] ? 1 : 2;")).toEqual([]);
  });
});

describe("values through arrays and JavaScript's own functions", () => {
  test.each([
    ["const [p, q] = [0, 1].map((i) => tl.load(a.at(i))); const m = p === q ? 1 : 2;", "`===`"],
    ["const [p] = Array.from({ length: 1 }, (_, i) => tl.load(a.at(i))); const m = p || 2;", "`||`"],
    ["const isInt = Number.isInteger; const m = isInt(a) ? 1 : 2;", "`Number.isInteger`"],
    ["const { isFinite } = Number; const m = [a].map(isFinite);", "`Number.isFinite`"],
    ["const m = [a, b].filter(Number.isNaN);", "`Number.isNaN`"],
    ["const m = Reflect.apply(Boolean, null, [a]) ? 1 : 2;", "`Boolean(…)`"],
    ["const m = globalThis.Boolean(a) ? 1 : 2;", "`Boolean(…)`"],
    ["const truth = Boolean; const m = [a].some(truth);", "`some`"],
  ])("%s", (body, said) => expect(message(body)).toContain(said));
});

describe("traced-condition", () => {
  test("of an optional param asks whether it is given, also in a helper", () => {
    const found = lint(`${HEAD}
const plus = (x, more) => (more ? x.add(more) : x);
kernel(
  "k",
  { params: { a: tensor(tl.float32, ["N"]), bias: tensor(tl.float32, ["N"]).optional() }, grid: () => [1] },
  ({ a, bias }) => { if (bias) {} if (a) {} plus(a, bias); },
);`);
    expect(found).toEqual([
      "2:28 error traced-condition: `more` is an object where the caller leaves it out, too; ask tl.when(more.given, () => …)",
      "6:26 error traced-condition: `bias` is an object where the caller leaves it out, too; ask tl.when(bias.given, () => …)",
      "6:39 error traced-condition: `if` on a traced value is always taken; use tl.when(condition, () => …)",
    ]);
  });

  test.each([
    [
      "const m = a ? 1 : 2;",
      "`?:` on a traced value always takes its first arm; use tl.where(condition, a, b), or tl.when(condition, () => a).otherwise(() => b)",
    ],
    ["if (n.gt(3)) { tl.store(a, b); }", "`if` on a traced value is always taken; use tl.when(condition, () => …)"],
    ["if (bias.given) { tl.store(a, b); }", "`if` on a traced value is always taken; use tl.when(condition, () => …)"],
    [
      "if (options.fast && a.gt(0)) { tl.store(a, b); }",
      "`if` on a traced value is always taken; use tl.when(condition, () => …)",
    ],
    [
      "while (n.gt(0)) { tl.store(a, b); }",
      "`while` on a traced value never ends; use tl.whileLoop(() => condition, () => …)",
    ],
    [
      "do { tl.store(a, b); } while (n.gt(0));",
      "`while` on a traced value never ends; use tl.whileLoop(() => condition, () => …)",
    ],
    [
      "for (;n.gt(0);) { tl.store(a, b); }",
      "`for` on a traced condition never ends; use for (const i of tl.range(…)) or tl.whileLoop(() => condition, () => …)",
    ],
    [
      "switch (MODE) { case 'relu': break; }",
      "`switch` compares handles, not values; use tl.when(x.eq(…), () => …).elseWhen(…).otherwise(…)",
    ],
    [
      "switch (true) { case n.gt(1): break; }",
      "`switch` compares handles, not values; use tl.when(x.eq(…), () => …).elseWhen(…).otherwise(…)",
    ],
    ["const m = Boolean(a);", "`Boolean(…)` of a traced value is always true; use the value itself as the condition"],
  ])("should refuse %s", (body, expected) => {
    expect(message(body)).toBe(`traced-condition: ${expected}`);
  });
});

describe("hidden-coercion", () => {
  test.each([
    [
      "const m = a.lt(n) && b.lt(n);",
      "`&&` on a traced value picks its right side, it does not combine masks; write a.lt(n).and(b.lt(n))",
    ],
    ["const m = a || b;", "`||` on a traced value picks its left side, it does not combine masks; write a.or(b)"],
    ["const m = !a;", "`!` on a traced value is always false; write a.not()"],
    ["const m = !(a.lt(n));", "`!` on a traced value is always false; write a.lt(n).not()"],
    [
      "const m = a ?? 1;",
      "`??` on a traced value never takes its right side; remove it, or write tl.when(condition, () => …).otherwise(() => …)",
    ],
    [
      "const m = tl.where(Number.isInteger(a), a, b);",
      '`Number.isInteger` asks about a number of JavaScript, and is false for every traced value; `typeof x === "number"` tells such numbers from traced values, and x.ne(x) is true of NaN',
    ],
    ["const m = a === b;", "`===` compares handles, not values; write a.eq(b)"],
    ["const m = 0 !== n;", "`!==` compares handles, not values; write n.ne(0)"],
    [
      "if (MODE == 'relu') tl.store(a, b);",
      "`==` compares handles, not values; write tl.when(MODE.eq('relu'), () => …)",
    ],
    ["const m = a + b;", "`+` is JavaScript's and cannot compute with a traced value; write a.add(b)"],
    ["const m = 2 * a;", "`*` is JavaScript's and cannot compute with a traced value; write a.mul(2)"],
    ["const m = 2 < a;", "`<` is JavaScript's and cannot compute with a traced value; write a.gt(2)"],
    [
      "const m = 1 - a;",
      "`-` is JavaScript's and cannot compute with a traced value; make the left side a value of the program, such as tl.full([], 1, dtype), and write .sub(…)",
    ],
    ["const m = a ** 2;", "`**` is JavaScript's and cannot compute with a traced value; write a.mul(a)"],
    ["const m = -a;", "`-` is JavaScript's and cannot compute with a traced value; write a.neg()"],
    ["const m = ~a;", "`~` is JavaScript's and cannot compute with a traced value; write a.not()"],
    ["let m = tl.load(a); m += b;", "`+=` is JavaScript's and cannot compute with a traced value; write m = m.add(b)"],
    [
      "let m = tl.load(a); m++;",
      "`++` is JavaScript's and cannot compute with a traced value; write m.add(1) and hold the result in tl.mut(…)",
    ],
    [
      "const m = `${a}`;",
      "a template cannot hold a traced value, which is a number only while the kernel runs; print it with tl.devicePrint(…)",
    ],
    [
      "const m = (a.add(b).col.lt(tl.cdiv(n, 2)) as any) && b;",
      "`&&` on a traced value picks its right side, it does not combine masks; write a.add(b).col.lt(tl.cdiv(n, 2)).and(b)",
    ],
  ])("should refuse %s", (body, expected) => {
    expect(message(body)).toBe(`hidden-coercion: ${expected}`);
  });

  test("should point at the operator and at the condition", () => {
    expect(inKernel("const m = a.lt(n) && b;\n  if (m) tl.store(a, b);").map((each) => each.split(" ")[0])).toEqual([
      "1:19",
      "2:7",
    ]);
  });
});

/** How a traced value comes to where it is misused. */
describe("tracing values", () => {
  test.each([
    ["a variable", "const x = a.T.col; if (x) {}"],
    ["a method of a tensor", "if (tl.load(a.at(n)).gt(0)) {}"],
    ["a loop variable", "for (const k of tl.range(0, n)) { if (k) {} }"],
    ["a staticRange variable", "for (const k of tl.staticRange(4)) { if (k) {} }"],
    ["state", "const acc = tl.mut(tl.zeros([4], tl.float32)); if (acc.value) {}"],
    ["several results", "const [lo, hi] = tl.split(a); if (hi) {}"],
    ["each of several results", "tl.split(a).forEach((x) => { if (x) {} });"],
    ["entries of several results", "for (const [, x] of tl.split(a).entries()) { if (x) {} }"],
    ["entries of an array", "for (const [, x] of [a, b].entries()) { if (x) {} }"],
    ["a fold of several results", "tl.split(a).reduce((x, y) => x && y);"],
    ["a branch's value", "const x = tl.when(n.gt(1), () => a).otherwise(() => b); if (x) {}"],
    ["a branch", "tl.when(n.gt(1), () => { if (a) {} });"],
    ["an else branch", "tl.when(n.gt(1), () => {}).otherwise(() => { if (a) {} });"],
    ["a while loop", "tl.whileLoop(() => !a, () => {});"],
    ["a combine function", "tl.reduce(a, 0, (x, y) => x > y);"],
    ["a tuple combine function", "tl.reduce([a, b], 0, ([x, i], [y, j]) => [x, i && j]);"],
    ["an array", "const list = [a, b]; for (const x of list) { if (x) {} }"],
    ["a filled array", "const list = []; list.push(a); for (const x of list) { if (x) {} }"],
    ["a map", "[a, b].map((x) => x.add(1)).forEach((x) => { if (x) {} });"],
    ["an object", "const o = { x: a, n: 3 }; if (o.x) {}"],
    ["nested patterns", "const { p: [, q] } = { p: [a, b] }; if (q) {}"],
    ["a rest of the parameters", "const { load } = tl; if (load(a)) {}"],
    ["a spread object", "const o = { ...{ x: a } }; if (o.x) {}"],
    ["an inner function", "const f = (x) => x.add(1); if (f(a)) {}"],
    ["an inner function's parameter", "const f = (x) => { if (x) {} }; f(a);"],
    ["a closure that nobody calls", "const f = () => { if (a) {} };"],
    ["an immediately called function", "(() => { if (a) {} })();"],
    ["a non-null value", "if (a!) {}"],
    ["a comma", "if ((1, a)) {}"],
    ["libdevice through tl", "if (tl.math.exp(a)) {}"],
    [
      "recursion",
      "const tree = (list) => (list.length === 1 ? list[0] : tree(list.slice(1)).add(list[0])); if (tree([a, b])) {}",
    ],
    ["a plain reduce", "const s = [1, 2].reduce((x, i) => x.add(i), a); if (s) {}"],
  ])("should follow %s", (_name, body) => {
    expect(inKernel(body)).toHaveLength(1);
  });

  test.each([
    "tl.split(a).forEach((x, i) => { if (i === 0) {} });",
    "tl.split(a).map((x, i) => (i > 0 ? x.add(i) : x));",
    "for (const [i, x] of tl.split(a).entries()) { if (i) x.add(1); }",
    "[a, b].reduce((sum, x, i) => (i ? sum.add(x) : x));",
  ])("should know that an index is a number: %s", (body) => {
    expect(inKernel(body)).toEqual([]);
  });

  test("should follow functions of the file, hoisted ones too", () => {
    const found = lint(`${HEAD}
kernel("k", { params: {}, grid: () => [1] }, ({ a }) => { if (double(a)) {} });
function double(x) { return x.add(x && x); }`);
    expect(found.map((each) => each.split(" ")[0])).toEqual(["2:63", "3:37"]);
  });

  test("should follow helpers of other files, through re-exports, with their own locations", () => {
    const found = lint(
      `${HEAD} import { relu } from "./index-helpers.js"; import * as all from "./helpers.js";
kernel("k", { params: {}, grid: () => [1] }, ({ a }) => { if (relu(a)) {} all.half(a); });`,
      {
        "index-helpers.ts": 'export * from "./helpers.js";',
        "helpers.ts": `import { tl } from "tilescript";
export const relu = (x) => tl.maximum(x, 0);
export function half(x) { return x / 2; }
export function unused(x) { return x / 2; }`,
      },
    );
    expect(found).toEqual([
      "2:63 error traced-condition: `if` on a traced value is always taken; use tl.when(condition, () => …)",
      "helpers.ts:3:36 error hidden-coercion: `/` is JavaScript's and cannot compute with a traced value; write x.floorDiv(2) for integers, such as indices and sizes, or x.div(2) for floats",
    ]);
  });

  test("should find tl under another name and through a namespace import", () => {
    expect(
      lint(`import { tl as t, kernel as make } from "tilescript";\nmake("k", {}, ({ a }) => { if (t.load(a)) {} });`),
    ).toHaveLength(1);
    expect(
      lint(`import * as ts from "tilescript";\nts.kernel("k", {}, ({ a }) => { if (ts.tl.load(1)) {} });`),
    ).toHaveLength(1);
  });

  test("should trace tl.fn, parameters with TileScript types, and the callbacks of a kernel's options", () => {
    const found = lint(`${HEAD}
export const f = tl.fn((x, y) => x && y);
export const g = (x: Tile<"float32", [4]>, fast: boolean) => { if (x) {} if (fast) {} };
export function h<T extends Tile>({ x, eps }: { x: T; eps: number }) { if (x) {} if (eps) {} }
interface Pair { lo: Scalar<"int32">; hi?: Scalar<"int32"> }
export const p = (pair: Pair, list: readonly Tile[]) => { if (pair.lo) {} if (pair.hi) {} if (list.length) {} if (list[0]!) {} for (const x of list) { !x; } };
kernel("k", { params: { N: constexpr.launch(({ n }) => n ? 1 : 2) }, grid: ({ n }) => [n / 2], requires: ({ n }) => n < 3, dims: { M: ({ n }) => n + 1 } }, body);
function body({ a }) { if (a) {} }
class Helpers { scale(x: Tile) { return x * 2; } }`);
    expect(found.map((each) => each.split(" ")[0])).toEqual([
      "2:36",
      "3:68",
      "4:76",
      "6:63",
      "6:153",
      "7:56",
      "7:90",
      "7:119",
      "7:148",
      "8:28",
      "9:43",
    ]);
  });
});

describe("outer-assignment", () => {
  const LOOP = "a traced loop, which runs once while the kernel is traced";
  const BRANCH = "a traced branch, which always runs while the kernel is traced";

  test.each([
    ["for (const k of tl.range(0, n)) { acc = acc.add(k); }", "loop"],
    ["for (const k of tl.staticRange(0, 4)) acc = acc.add(k);", "loop"],
    ["for (const k of tl.range(0, n)) { [acc] = [k]; }", "loop"],
    ["for (const k of tl.range(0, n)) { ({ acc } = { acc: k }); }", "loop"],
    ["for (const k of tl.range(0, n)) { for (let i = 0; i < 4; i++) { if (options.x) { acc = k; } } }", "loop"],
    ["for (const k of tl.range(0, n)) { acc ??= k; }", "loop"],
    ["const bump = () => { acc = a; }; for (const k of tl.range(0, n)) { bump(); }", "loop"],
    ["tl.whileLoop(() => n, () => { acc = a; });", "loop"],
    ["tl.when(n, () => { acc = a; });", "branch"],
    ["tl.when(n, () => {}).elseWhen(b, () => { acc = a; });", "branch"],
    ["tl.when(n, () => {}).otherwise(() => { acc = a; });", "branch"],
  ])("should refuse %s", (body, kind) => {
    expect(message(`let acc;\n${body}`)).toBe(
      `outer-assignment: \`acc\` is reassigned inside ${kind === "loop" ? LOOP : BRANCH}; declare it inside, or hold it in tl.mut(…) and write acc.value`,
    );
  });

  test("should refuse counting in JavaScript, and assigning a parameter", () => {
    expect(inKernel("let i = 0;\nfor (const k of tl.range(0, n)) {\n  i++;\n}")).toEqual([
      `3:3 error outer-assignment: \`i\` is reassigned inside ${LOOP}; declare it inside, or hold it in tl.mut(…) and write i.value`,
    ]);
    expect(
      inKernel("const f = (x) => { for (const k of tl.range(0, n)) x = x.add(k); return x; };\nf(a);"),
    ).toHaveLength(1);
  });

  test("should warn of elements that leave a traced loop", () => {
    expect(inKernel("const list = [];\nfor (const k of tl.range(0, n)) {\n  list.push(k);\n}")).toEqual([
      `3:8 warning outer-assignment: \`list\` gets one element inside ${LOOP}, and that element does not exist outside it; make the array inside, or hold the value in tl.mut(…)`,
    ]);
  });

  test.each([
    [
      "its own variables",
      "for (const k of tl.range(0, n)) { let x = k; x = x.add(1); for (let i = 0; i < 3; i++) x = x.add(i); }",
    ],
    ["state", "const acc = tl.mut(a); for (const k of tl.range(0, n)) { acc.value = acc.value.add(k); }"],
    [
      "JavaScript's loops",
      "let acc = a; for (let i = 0; i < 4; i++) { acc = acc.add(i); } for (const x of [a, b]) acc = acc.add(x);",
    ],
    ["JavaScript's branches", "let acc = a; if (options.bias) { acc = acc.add(b); }"],
    [
      "helpers with variables of their own",
      "const f = (x) => { let y = x; y = y.add(1); return y; }; for (const k of tl.range(0, n)) f(k);",
    ],
    ["book-keeping around the kernel", "for (const k of tl.range(0, n)) { traces++; }"],
  ])("should allow %s", (_name, body) => {
    expect(inKernel(body, "let traces = 0;")).toEqual([]);
  });
});

describe("early-exit", () => {
  const LEAVES =
    "leaves a traced loop while the kernel is traced; use tl.whileLoop(() => condition, () => …), or tl.when(condition, () => …) around the work";

  test.each([
    ["for (const k of tl.range(0, n)) { break; }", `\`break\` ${LEAVES}`],
    [
      "outer: for (let i = 0; i < 2; i++) for (const k of tl.range(0, n)) { continue outer; }",
      `\`continue\` ${LEAVES}`,
    ],
    ["outer: for (const k of tl.range(0, n)) for (let i = 0; i < 2; i++) { break outer; }", `\`break\` ${LEAVES}`],
    [
      "for (const k of tl.range(0, n)) { if (options.x) continue; a.add(k); }",
      "`continue` drops the rest of a traced loop's body from the kernel, not from one iteration; put the rest in tl.when(condition, () => …), or in an `if` when JavaScript knows the condition",
    ],
    [
      "for (const k of tl.range(0, n)) { return k; }",
      "`return` leaves a traced loop while the kernel is traced; hold the value in tl.mut(…) and return it after the loop",
    ],
    [
      "for (const k of tl.range(0, n)) { for (const x of [1]) { return; } }",
      "`return` leaves a traced loop while the kernel is traced; hold the value in tl.mut(…) and return it after the loop",
    ],
    [
      "const ks = [...tl.range(0, n)];",
      "a traced loop yields one symbolic index and cannot be collected; write for (const i of tl.range(…)) { … }",
    ],
    [
      "const ks = Array.from(tl.range(0, n));",
      "a traced loop yields one symbolic index and cannot be collected; write for (const i of tl.range(…)) { … }",
    ],
    [
      "const [k] = tl.range(0, n);",
      "a traced loop yields one symbolic index and cannot be collected; write for (const i of tl.range(…)) { … }",
    ],
    [
      "Math.max(...tl.range(0, n));",
      "a traced loop yields one symbolic index and cannot be collected; write for (const i of tl.range(…)) { … }",
    ],
    [
      "function* tiles() { for (const k of tl.range(0, n)) yield k; } for (const k of tiles()) { break; }",
      `\`break\` ${LEAVES}`,
    ],
  ])("should refuse %s", (body, expected) => {
    expect(message(body)).toBe(`early-exit: ${expected}`);
  });

  test.each([
    [
      "exits of JavaScript's loops inside",
      "for (const k of tl.range(0, n)) { for (let i = 0; i < 4; i++) { if (i === 2) break; if (i) continue; } }",
    ],
    ["a switch inside", "for (const k of tl.range(0, n)) { switch (options.mode) { case 1: break; } }"],
    [
      "a branch's value inside",
      "for (const k of tl.range(0, n)) { const x = tl.when(k.gt(0), () => { return a; }).otherwise(() => b); }",
    ],
    ["a helper's return inside", "for (const k of tl.range(0, n)) { const f = (x) => { return x.add(k); }; f(a); }"],
    ["throwing", "for (const k of tl.range(0, n)) { if (options.x) throw new Error('no'); }"],
  ])("should allow %s", (_name, body) => {
    expect(inKernel(body)).toEqual([]);
  });
});

/** Metaprogramming is plain JavaScript: nothing here may be refused. */
describe("silence", () => {
  test.each([
    [
      "options",
      "if (options.fast && !options.slow) { tl.store(a, b); } const w = options.width ?? 4; const s = options.x ? 1 : 2;",
    ],
    ["numbers", "let m = 1; for (let i = 0; i < 4; i++) { m = m * 2 + i; if (i === 2) m += 1; } const t = `${m}`;"],
    ["presence", "const f = (x) => x === undefined || x == null || x !== void 0 ? 1 : 2; f(a);"],
    ["a flag in front", "const x = options.scale && a.mul(2);"],
    [
      "a value that may be missing",
      "let sum; for (const x of [a, b]) { sum = sum ? sum.add(x) : x; } const y = sum ?? a; if (sum) {}",
    ],
    [
      "a declared optional",
      "let m: Tile | undefined = options.m ? a : undefined; if (m) {} const c = m ? b.and(m) : b;",
    ],
    [
      "an optional argument",
      "const f = (x: Tile, mask?: Tile) => mask ? tl.load(x, { mask }) : tl.load(x); f(a); f(a, b);",
    ],
    [
      "an optional option",
      "const f = (x, { mask }: { mask?: Tile } = {}) => mask ? tl.load(x, { mask }) : tl.load(x); f(a, { mask: b });",
    ],
    ["options of an unknown type", "const f = (x, o: LoadOptions) => { if (o.mask) {} }; f(a, { mask: b });"],
    ["a default parameter", "const f = (x, y = undefined) => y ? x.add(y) : x; f(a, b);"],
    ["a union", "const f = (x: Tile | number) => typeof x === 'number' ? x + 1 : x.add(1); f(a); f(1);"],
    ["a type test", "const f = (x) => { if (typeof x === 'number') return x + 1; return x.add(1); }; f(a);"],
    ["a test with early return", "const f = (x) => { if (isTile(x)) return x.add(1); return x + 1; }; f(a);"],
    ["a test in front of &&", "const f = (x) => typeof x === 'number' && x > 3; f(a);"],
    ["facts of types", "if (a.dtype === tl.float32) {} if (a.shape.length === 2) {} if (a.rank > 1) {}"],
    [
      "arrays",
      "const list = [a, b]; if (list.length > 1) {} const c = [options.bias, b].find((x) => x) ?? a; if (list) {}",
    ],
    [
      "what another call may leave out",
      "const f = (x, y) => y ?? x; f(a, b); f(a); const g = (o) => o.y ?? a; g({ y: b }); g({});",
    ],
    [
      "a property of the rest of a kernel's arguments",
      "const { x, ...rest } = { ...options, a }; const m = rest.a ?? b;",
    ],
    [
      "questions about numbers",
      "const { isNaN } = Number; if (Number.isInteger(options.n) || isNaN(4)) {} [1, 2].some(Number.isFinite);",
    ],
    [
      "names that the file declares",
      "const Number = { isInteger: (x) => x }; const Boolean = (x) => x; Number.isInteger(a); Boolean(a);",
    ],
    ["objects", "const o = { a, n: 3 }; if (o.n > 2) {} if (o) {}"],
    ["dtypes", "const d = tl.float16; if (d === tl.float32) {} const T = tl.dtype('T', [tl.float16]); if (T) {}"],
    ["plain arithmetic functions", "if (tl.cdiv(128, 16) > 4) {} if (tl.nextPowerOf2(100) === 128) {}"],
    ["optional chaining", "const x = options.bias?.add(1); if (x) {} const y = a?.add(1);"],
    ["string building", "tl.deviceAssert(a, `bad block ${options.width}`); const name = 'x' + 1;"],
    ["shadowing", "const f = (a) => { if (a) {} }; f(3);"],
    [
      "recursion",
      "const tree = (list) => list.length === 1 ? list[0] : tree(list.slice(1)).add(list[0]); tree([a, b]);",
    ],
    ["a map", "const cache = new Map(); cache.set('a', a); if (cache.get('a')) {} const m = cache.get('a') ?? b;"],
    ["a reference function", "const reference = ({ x }, torch) => x ? 1 : 2;"],
  ])("should leave %s alone", (_name, body) => {
    expect(inKernel(body)).toEqual([]);
  });

  test("should leave a factory's options alone", () => {
    expect(
      lint(`${HEAD}
export function make(options: { causal: boolean; stages?: number; scale: number | undefined }) {
  let built = 0;
  if (options.causal) built++;
  return kernel("k" + options.stages, { params: {}, grid: () => [1], reference: ({ a }, torch) => a ? a : 1 }, ({ a, b }) => {
    built += 1;
    const parts: Tile[] = [];
    for (let i = 0; i < (options.stages ?? 2); i++) parts.push(tl.load(a.at(i)));
    let sum = parts[0];
    for (const p of parts.slice(1)) sum = sum!.add(p);
    if (options.scale !== undefined) sum = sum!.mul(options.scale);
    for (const k of tl.range(0, 4)) { const x = options.causal ? k : k.add(1); if (!options.causal) tl.store(b.at(k), x); built++; }
    tl.store(b.at(0), options.causal ? sum! : sum!.mul(2));
  });
}`),
    ).toEqual([]);
  });

  test("should end on functions that call each other", () => {
    const names = ["p", "q", "r", "s", "t", "u"];
    const calls = (x: string) => names.map((name) => `${name}(${x}), ${name}([${x}])`).join(", ");
    const functions = names.map((name) => `function ${name}(x) { return [${calls("x")}]; }`).join("\n");
    expect(lint(`${HEAD}\n${functions}\nkernel("k", {}, ({ a }) => { p(a); });`)).toEqual([]);
  });

  test("should find nothing in a file without TileScript, and none in a file that does not exist", () => {
    expect(lint("export const f = (a, b) => (a && b ? a + b : `${a}`);")).toEqual([]);
    expect(createSourceIndex().lint([join(folder, "missing.ts")])).toEqual([]);
  });
});

describe("questions that compare handles", () => {
  test.each([
    ["const m = [a, b].includes(n);", "includes"],
    ["const m = [a, b].indexOf(3);", "indexOf"],
    ["const m = [1, 2].lastIndexOf(n);", "lastIndexOf"],
    ["const m = Object.is(n, 3);", "Object.is"],
    ["const m = new Set([1, n]);", "new Set(…)"],
    ["const m = new Map([[1, 2], [n, 3]]);", "new Map(…)"],
    ["const m = new Set(); m.add(n);", "add"],
    ["const m = new Map().get(n);", "get"],
  ])("should refuse %s", (body, method) => {
    expect(message(body)).toMatch(`hidden-coercion: \`${method}\` compares handles, not values; `);
  });

  test.each([
    "const m = new Map([['a', n]]); m.get('a');",
    "const names = ['a']; names.includes('b');",
    "const memo = new WeakMap(); memo.get(n);",
    "const memo = { get: (x) => x }; memo.get(n);",
  ])("should leave alone %s", (body) => {
    expect(inKernel(body)).toEqual([]);
  });
});

describe("predicates, and callees that JavaScript hands on", () => {
  test.each(["some", "every", "find", "findLast", "findIndex", "filter", "sort"])("should refuse %s", (method) => {
    expect(message(`const m = [1, 2].${method}((q) => n.gt(q));`)).toMatch(
      `traced-condition: \`${method}\` takes every traced value for true; `,
    );
  });

  test.each([
    "const m = [n.gt(1)].every(Boolean);",
    "const f = (c) => (c ? 1 : 2); const m = f.call(null, n);",
    "const f = (c) => (c ? 1 : 2); const m = f.apply(null, [n]);",
    "const f = (c) => (c ? 1 : 2); const m = f.bind(null, n)();",
    "const f = (c) => (c ? 1 : 2); const m = Reflect.apply(f, null, [n]);",
    "const m = { get c() { return n.gt(0); } }.c ? 1 : 2;",
    "const m = Object.values({ n })[0] ? 1 : 2;",
    "for (const k in tl.range(3)) {}",
  ])("should refuse %s", (body) => {
    expect(message(body)).toMatch("traced-condition: ");
  });
});

test.each(["new Array(n)", "Array(n)"])("%s has no length", (text) => {
  expect(message(`const list = ${text}.fill(a);`)).toBe(
    "hidden-coercion: `Array(…)` of a traced value is an array of one element, because JavaScript does not know its number; loop with tl.range(…)",
  );
  expect(inKernel("const list = new Array(3).fill(a); const other = Array(a, b);")).toEqual([]);
});

test.each([
  "tl.when(n.gt(3), () => { return; });",
  "tl.when(n.gt(3), () => { tl.store(a, b); return; });",
  "tl.when(n.gt(3), () => { tl.store(a, b); }).otherwise(() => { return; });",
])("%s ends no kernel", (body) => {
  expect(message(body)).toBe(
    "early-exit: `return` ends only this arm, which ends here anyway; tl.exit() ends the kernel's program",
  );
});

test("an arm may return a value, and return early where JavaScript decides", () => {
  expect(
    inKernel("tl.when(MODE, () => { return a; }).otherwise(() => { if (options.fast) return; return b; });"),
  ).toEqual([]);
});

test.each(["function* init() { tl.store(a, b); } init();", "const init = function* () { tl.store(a, b); }; init();"])(
  "%s runs nothing",
  (body) => {
    expect(message(body)).toBe(
      "early-exit: a generator's body runs only while something iterates over it, so the kernel has none of it; make it an ordinary function",
    );
  },
);

test("any says as little as no type", () => {
  const before = `${HEAD} kernel("k", { params: {}, grid: () => [1] }, ({ a, n }: any) => {`;
  expect(lint(`${before}\nif (n) { tl.store(a, 1); }\n});`)).toHaveLength(1);
  expect(lint(`${before}\nconst f = (x: any, mask: any) => (mask ? x : a); f(a, n);\n});`)).toHaveLength(1);
});
