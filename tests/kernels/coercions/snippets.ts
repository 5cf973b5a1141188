/**
 * Kernels that mix traced values with all that JavaScript does to values: array methods, closures, classes, getters,
 * destructuring, other modules, templates, spread, `Reflect`. Most mean something else as a kernel than as JavaScript, some
 * mean the same. A seed gives a snippet.
 */
import { uniform } from "../../../src/numerics/random.js";
import { COUNTERS } from "./counters.js";
import { CHOICES, IDENTITIES, NUMBERS, PLAIN, TRUTHS } from "./forms.js";

export interface Snippet {
  readonly seed: number;
  /** Its files, helpers first; the last one exports the kernel as `snippet`. */
  readonly files: Readonly<Record<string, string>>;
}

/** Draws the parts of a snippet. */
export class Draw {
  readonly #random: () => number;
  /** Declarations of the module, which may stand in another file. */
  readonly helpers: string[] = [];
  /** Names of traced integers that are in scope. */
  readonly integers = ["a", "b", "c"];
  /** Names of traced truth values that the kernel uses elsewhere, too. */
  readonly truths: string[] = [];
  #names = 0;

  constructor(seed: number) {
    this.#random = uniform(seed);
    // The first numbers of neighboring seeds are alike.
    for (let i = 0; i < 4; i++) this.#random();
  }

  name(base: string): string {
    return `${base}${++this.#names}`;
  }

  chance(part: number): boolean {
    return this.#random() < part;
  }

  upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }

  of<T>(list: readonly T[]): T {
    return list[this.upTo(list.length - 1)]!;
  }

  /** A traced integer. */
  integer(depth = 2): string {
    if (depth <= 0 || this.chance(0.3)) return this.of(this.integers);
    const [x, y] = [this.integer(depth - 1), this.integer(depth - 1)];
    return this.of([
      () => `${x}.add(${this.of([y, "1", "2"])})`,
      () => `${x}.sub(${y})`,
      () => `${x}.mul(${this.of(["2", "3", y])})`,
      () => `tl.maximum(${x}, ${y})`,
      () => `tl.where(${this.truth(depth - 1)}, ${x}, ${y})`,
      () => `${this.truth(depth - 1)}.to(tl.int32)`,
    ])();
  }

  /** A traced truth value. */
  truth(depth = 2): string {
    if (this.truths.length > 0 && this.chance(0.4)) return this.of(this.truths);
    if (depth <= 0) return this.of(["F", `${this.of(this.integers)}.gt(${this.upTo(2)})`, "C.gt(1)"]);
    const x = this.integer(depth - 1);
    return this.of([
      () => `${x}.gt(${this.integer(depth - 1)})`,
      () => `${x}.lt(${this.upTo(3)})`,
      () => `${x}.eq(${this.integer(0)})`,
      () => `${x}.gt(0).and(${this.integer(0)}.lt(4))`,
      () => `${x}.ge(1).not()`,
      () => this.truth(0),
    ])();
  }

  /** An integer, by a form of JavaScript. */
  formed(): string {
    const forms = this.of([CHOICES, CHOICES, TRUTHS, TRUTHS, IDENTITIES, NUMBERS, PLAIN, PLAIN, PLAIN]);
    return this.of(forms)(this);
  }
}

/** Statements that compute `m.value` further. `depth` is how many bodies may still be nested. */
function statements(draw: Draw, depth: number): string[] {
  const count = 1 + draw.upTo(1);
  return Array.from({ length: count }, () => statement(draw, depth)).flat();
}

function statement(draw: Draw, depth: number): readonly string[] {
  const add = (value: string) => `m.value = m.value.add(${value});`;
  const kind = draw.upTo(depth > 0 ? 9 : 3);
  if (kind <= 1) return [add(draw.formed())];
  if (kind === 2) return [add(draw.integer())];
  if (kind === 3) {
    const name = draw.name("v");
    const lines = [`const ${name} = ${draw.chance(0.5) ? draw.formed() : draw.integer()};`, add(name)];
    return lines;
  }
  if (kind <= 6) return counted(draw, depth);
  const inner = (): string => statements(draw, depth - 1).join("\n");
  if (kind === 7)
    return [`for (const ${draw.name("k")} of tl.range(${draw.of(["2", "3", "a", "C"])})) {`, inner(), "}"];
  if (kind === 8)
    return draw.of([
      [`tl.when(${draw.truth(1)}, () => {`, inner(), "});"],
      [`tl.when(${draw.truth(1)}, () => {`, inner(), "}).otherwise(() => {", inner(), "});"],
    ]);
  return draw.of(LEAVES)(add, inner());
}

/** Loops that JavaScript leaves, deletes or collects. */
const LEAVES: readonly ((add: (value: string) => string, inner: string) => readonly string[])[] = [
  (add) => ["for (const k in tl.range(3)) {", add("1"), "}"],
  (add) => [add("[...tl.range(3)].length")],
  (add) => [add("Array.from(tl.range(3)).length")],
  (add) => ["tl.range(3).forEach((k) => {", add("k"), "});"],
  (add) => ["for (const k of tl.range(3)) {", add("1"), "if (k.gt(0)) break;", "}"],
  (add) => ["for (const k of tl.range(3)) {", "if (k === 1) continue;", add("k"), "}"],
  (add) => ["let turns = 0;", "for (const k of tl.range(3)) {", add("1"), "if (turns++ > 0) break;", "}"],
  (add) => ["const turns = { n: 0 };", "for (const k of tl.range(3)) {", "if (turns.n++ > 0) continue;", add("k"), "}"],
  (add, inner) => ["for (let j = 0; j < 2; j++) {", inner, add("j"), "}"],
  (add, inner) => ["const r = tl.range(2);", "for (const k of r) {", inner, "}", "for (const k of r) {", add("k"), "}"],
  (add) => ["const [first] = tl.range(3);", add("first")],
  (add) => ["m.value.add(1);", add("1")],
];

/** A counter that JavaScript keeps, counted and read at some of the places around a loop or a branch. */
function counted(draw: Draw, depth: number): readonly string[] {
  const name = draw.name("n");
  const counter = draw.of(COUNTERS)(name);
  const read = `m.value = m.value.add(${counter.value});`;
  const at = (): string => (draw.chance(0.5) ? counter.count : draw.chance(0.3) ? read : "");
  const inner = depth > 1 && draw.chance(0.4) ? statements(draw, depth - 1).join("\n") : "";
  const body = [at(), inner, at(), draw.chance(0.3) ? read : ""];
  const around = draw.of<readonly string[]>([
    ["for (const k of tl.range(3)) {", ...body, "}"],
    ["for (const i of tl.range(2)) {", at(), "for (const j of tl.range(2)) {", ...body, "}", at(), "}"],
    [`tl.when(${draw.truth(1)}, () => {`, ...body, "});"],
    [`tl.when(${draw.truth(1)}, () => {`, ...body, "}).otherwise(() => {", at(), at(), "});"],
    ["const f = tl.fn((q) => {", counter.count, `return q.add(${counter.value});`, "});", "m.value = f(f(m.value));"],
    ["const g = tl.fn((q) => {", counter.count, "return q.add(1);", "});", "m.value = g(m.value);"],
    [
      `const t = tl.mut(tl.full([], 0, tl.int32));`,
      `tl.whileLoop(() => t.value.lt(3), () => {`,
      "t.value = t.value.add(1);",
      ...body,
      "});",
    ],
    ["for (let j = 0; j < 2; j++) {", ...body, "}"],
  ]);
  return ["{", counter.declared, ...around, draw.chance(0.6) ? read : "", "}"];
}

export function snippetOf(seed: number): Snippet {
  const draw = new Draw(seed);
  const shared = draw.chance(0.5) ? ["p", "q0"].map((name) => [name, draw.truth(1)] as const) : [];
  draw.truths.push(...shared.map(([name]) => name));
  const body = statements(draw, 2).join("\n");
  const plain = draw.chance(0.3) ? `m.value.add(${draw.formed()})` : "m.value";
  const result = shared.reduce((value, [name]) => `tl.where(${name}, ${value}, 11)`, plain);
  const declared = shared.map(([name, value]) => `const ${name} = ${value};`).join("\n");
  const used = (name: string) => new RegExp(`\\b${name}\\b`).test(`${declared}\n${body}\n${result}`);
  const isSplit = draw.helpers.length > 0 && draw.chance(0.6);
  const imports = draw.helpers.map((helper) => /(?:const|function|class) (\w+)/.exec(helper)![1]);
  const helpers = draw.helpers.map((helper) => (isSplit ? `export ${helper}` : helper)).join("\n");
  const loads = ["a", "b", "c"].flatMap((name, i) => (used(name) ? [`const ${name} = tl.load(x.at(${i}));`] : []));
  const text = `import { constexpr, kernel, tensor, tl } from "tilescript";
${isSplit ? `import { ${imports.join(", ")} } from "./helpers.mjs";` : helpers}
export const snippet = kernel("snippet", {
  params: { x: tensor(tl.int32, [3]), y: tensor.out(tl.int32, [1]), C: constexpr(), F: constexpr.bool({ default: true }) },
  grid: () => [1],
  config: { C: 2 },
}, ({ ${["x", "y", ...["C", "F"].filter(used)].join(", ")} }) => {
${loads.join("\n")}
const m = tl.mut(${used("a") ? "a" : "tl.load(x.at(0))"});
${declared}
${body}
tl.store(y.at(0), ${result});
});
`;
  return { seed, files: { ...(isSplit && { "helpers.mjs": `${helpers}\n` }), "snippet.mjs": text } };
}
