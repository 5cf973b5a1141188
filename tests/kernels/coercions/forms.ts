/** Expressions of JavaScript over traced values, by what they ask of a value. */
import type { Draw } from "./snippets.js";

type Form = (draw: Draw) => string;

/** Declares a function of the module that chooses by its first argument, in one of JavaScript's ways. */
function picker(draw: Draw): string {
  const f = draw.name("pick");
  draw.helpers.push(
    draw.of([
      `const ${f} = (q, x, y) => (q ? x : y);`,
      `const ${f} = (q, x, y) => { if (q) return x; return y; };`,
      `function ${f}(q, x, y) { let r = y; if (q) { r = x; } return r; }`,
      `function ${f}(q, x, y) { return (q && x) || y; }`,
      `function ${f}(...[q, x, y]) { return q ? x : y; }`,
      `const ${f} = (q, x, y) => { switch (true) { case q: return x; default: return y; } };`,
      `const ${f} = (q, x, y) => { while (q) return x; return y; };`,
      `const ${f} = (q, x, y) => [x, y][q ? 0 : 1];`,
      `const ${f} = (q, x, y) => (!q ? y : x);`,
      `const ${f} = (q, x, y) => { const { r = q ? x : y } = {}; return r; };`,
      `const ${f} = (q, x, y, r = q ? x : y) => r;`,
      `const ${f} = (q, x, y) => ({ get r() { return q ? x : y; } }).r;`,
      `const ${f} = (q, x, y) => new (class { r = q ? x : y; })().r;`,
      `const ${f} = (q, x, y) => (q === true ? x : y);`,
      `const ${f} = (q, x, y) => (Boolean(q) ? x : y);`,
      `const ${f} = (q, x, y) => [q].map((r) => (r ? x : y))[0];`,
      `const ${f} = (q, x, y) => { try { if (q) return x; } finally { void 0; } return y; };`,
      `const ${f} = (q, x, y) => (function* () { yield q ? x : y; })().next().value;`,
      // These mean the same in a kernel.
      `const ${f} = (q, x, y) => tl.where(q, x, y);`,
      `const ${f} = (q, x, y) => tl.when(q, () => x.add(0)).otherwise(() => y.add(0));`,
    ]),
  );
  return f;
}

const three = (draw: Draw): readonly [string, string, string] => [draw.truth(), draw.integer(1), draw.integer(1)];

/** A truth value decides between two values. */
export const CHOICES: readonly Form[] = [
  (d) => `(${d.truth()} ? ${d.integer(1)} : ${d.integer(1)})`,
  (d) => `((${d.truth()} && ${d.integer(1)}) || ${d.integer(1)})`,
  (d) => `(${d.truth()} || ${d.truth()}).to(tl.int32)`,
  (d) => `${picker(d)}(${three(d).join(", ")})`,
  (d) => `${picker(d)}(${three(d).join(", ")})`,
  (d) => `${picker(d)}(...[${three(d).join(", ")}])`,
  (d) => `${picker(d)}.call(null, ${three(d).join(", ")})`,
  (d) => `${picker(d)}.apply(null, [${three(d).join(", ")}])`,
  (d) => {
    const [q, x, y] = three(d);
    return `${picker(d)}.bind(null, ${q})(${x}, ${y})`;
  },
  (d) => `Reflect.apply(${picker(d)}, undefined, [${three(d).join(", ")}])`,
  (d) => `({ f: ${picker(d)} }).f(${three(d).join(", ")})`,
  (d) => `((f, ...rest) => f(...rest))(${picker(d)}, ${three(d).join(", ")})`,
  (d) => `(() => { const q = ${d.truth()}; return tl.where(q, q ? ${d.integer(1)} : 7, 0); })()`,
  (d) => `((strings, q) => (q ? ${d.integer(1)} : ${d.integer(1)}))\`\${${d.truth()}}\``,
  (d) => `[${d.integer(1)}, ${d.integer(1)}].at(${d.truth()} ? 0 : 1)`,
  (d) => `[${d.integer(1)}, ${d.integer(1)}][Number(${d.truth()})]`,
  (d) => `eval("(q, x, y) => q ? x : y")(${three(d).join(", ")})`,
  (d) => `new Function("q", "x", "y", "return q ? x : y")(${three(d).join(", ")})`,
];

/** A truth value that an array method, a getter or a container asks. */
export const TRUTHS: readonly Form[] = [
  (d) => `([1, 2].some((q) => ${d.integer(1)}.gt(q)) ? ${d.integer(1)} : 0)`,
  (d) => `([1, 2].every((q) => ${d.integer(1)}.gt(q)) ? ${d.integer(1)} : 0)`,
  (d) => `([${d.truth()}, ${d.truth()}].every(Boolean) ? 1 : ${d.integer(1)})`,
  (d) => `[1, 2, 3].filter((q) => ${d.integer(1)}.gt(q)).length`,
  (d) => `[${d.truth()}, ${d.truth()}].filter(Boolean).length`,
  (d) => `([1, 2, 3].find((q) => ${d.integer(1)}.gt(q)) ?? 0)`,
  (d) => `[1, 2, 3].findIndex((q) => ${d.integer(1)}.lt(q))`,
  (d) => `([1, 2, 3].findLast((q) => ${d.integer(1)}.gt(q)) ?? 0)`,
  (d) => `[${d.integer(1)}, ${d.integer(1)}].sort((p, q) => (p.lt(q) ? 1 : -1))[0]`,
  (d) => `[${d.integer(1)}, ${d.integer(1)}, ${d.integer(1)}].reduce((p, q) => (p.gt(q) ? p : q))`,
  (d) => `[1, 2].reduce((ok, q) => ok && ${d.integer(1)}.gt(q), true) === true ? 1 : 0`.replace(/^.*$/, "($&)"),
  (d) => `({ get q() { return ${d.truth()}; } }.q ? ${d.integer(1)} : 0)`,
  (d) => `(new (class { q = ${d.truth()}; })().q ? ${d.integer(1)} : 0)`,
  (d) => `(Object.values({ q: ${d.truth()} })[0] ? ${d.integer(1)} : 0)`,
  (d) => `(Object.entries({ q: ${d.truth()} })[0][1] ? ${d.integer(1)} : 0)`,
  (d) => `(Object.fromEntries([["q", ${d.truth()}]]).q ? ${d.integer(1)} : 0)`,
  (d) => `(new Map([["q", ${d.truth()}]]).get("q") ? ${d.integer(1)} : 0)`,
  (d) => `([...new Set([${d.truth()}])][0] ? ${d.integer(1)} : 0)`,
  (d) => `([[${d.truth()}]].flat()[0] ? ${d.integer(1)} : 0)`,
  (d) =>
    `(structuredCloneless({ q: ${d.truth()} }).q ? ${d.integer(1)} : 0)`.replace(
      "structuredCloneless",
      "((o) => ({ ...o }))",
    ),
  (d) => `Array.from([${d.truth()}], (q) => (q ? ${d.integer(1)} : 0))[0]`,
  (d) => `(() => { let r = 0; [${d.truth()}, ${d.truth()}].forEach((q) => { if (q) r += 1; }); return r; })()`,
  (d) => `(() => { let r = 0; for (const q of [${d.truth()}]) if (q) r += 1; return r; })()`,
  (d) => `(() => { const [q = false] = [${d.truth()}]; return q ? 1 : 0; })()`,
  (d) => `(() => { const { p: { q } } = { p: { q: ${d.truth()} } }; return q ? ${d.integer(1)} : 0; })()`,
  (d) => `(() => { let n = 0; while (${d.integer(1)}.gt(n)) { n++; if (n > 3) break; } return n; })()`,
  (d) => `(() => { let n = 0; do n++; while (n < 3 && ${d.integer(1)}.gt(n)); return n; })()`,
  (d) => `(() => { let n = 0; for (; ${d.integer(1)}.gt(n); n++) if (n > 3) break; return n; })()`,
  (d) => `Number(${d.truth()})`,
  (d) => `(${d.truth()} + 0)`,
  (d) => `(!${d.truth()} ? 1 : 0)`,
  (d) => `JSON.stringify([${d.truth()}]).length`,
  (d) => `(() => { let q = ${d.truth()}; q &&= ${d.truth()}; return tl.where(q, 1, 2); })()`,
  (d) => `(() => { let q = ${d.truth()}; q ||= ${d.truth()}; return tl.where(q, 1, 2); })()`,
];

/** Whether two traced values are the same one. */
export const IDENTITIES: readonly Form[] = [
  (d) => `(${d.integer(1)} === ${d.integer(1)} ? 1 : 0)`,
  (d) => `(${d.integer(1)} !== ${d.upTo(2)} ? 1 : 0)`,
  (d) => `(${d.integer(1)} == ${d.upTo(2)} ? 1 : 0)`,
  (d) => `([1, 2, 3].includes(${d.integer(1)}) ? 1 : 0)`,
  (d) => `([${d.integer(1)}, ${d.integer(0)}].includes(${d.integer(0)}) ? 1 : 0)`,
  (d) => `[1, 2, ${d.integer(0)}].indexOf(${d.integer(0)})`,
  (d) => `[1, ${d.integer(0)}, 2].lastIndexOf(${d.integer(1)})`,
  (d) => `(Object.is(${d.integer(1)}, ${d.integer(0)}) ? 1 : 0)`,
  (d) => `new Set([${d.integer(0)}, ${d.integer(0)}, 1]).size`,
  (d) => `(new Set([1, 2]).has(${d.integer(1)}) ? 1 : 0)`,
  (d) => `(new Map([[1, 5], [2, 6]]).get(${d.integer(0)}) ?? 0)`,
  (d) => `(new Map([[${d.integer(0)}, 5]]).has(${d.integer(0)}) ? 1 : 0)`,
  (d) =>
    `(() => { switch (${d.integer(1)}) { case 1: return 5; case ${d.integer(0)}: return 6; default: return 7; } })()`,
  (d) => `(() => { const [p, q] = [${d.integer(0)}, ${d.integer(0)}]; return p === q ? 1 : 0; })()`,
  (d) => `((p, q) => (p === q ? 1 : 0))(${d.integer(0)}, ${d.integer(1)})`,
  (d) => `Array.from(new Set([${d.integer(0)}, ${d.integer(0)}])).length`,
  (d) => `[${d.integer(0)}, ${d.integer(0)}].filter((q) => q === ${d.integer(0)}).length`,
  (d) => `[${d.integer(0)}, ${d.integer(0)}].findIndex((q) => q === ${d.integer(0)})`,
  (d) => `[${d.integer(0)}, ${d.integer(0)}].filter((q, i, all) => all.indexOf(q) === i).length`,
];

/** A traced value where JavaScript wants a number, a string or a key. */
export const NUMBERS: readonly Form[] = [
  (d) => `(${d.integer(1)} + ${d.of(["1", d.integer(0)])})`,
  (d) => `(${d.integer(1)} - 1)`,
  (d) => `(${d.integer(1)} < 2 ? 1 : 0)`,
  (d) => `-${d.integer(0)}`,
  (d) => `+${d.integer(0)}`,
  (d) => `~${d.integer(0)}`,
  (d) => `(${d.integer(0)} | 0)`,
  (d) => `(${d.integer(0)} ** 2)`,
  (d) => `\`\${${d.integer(1)}}\`.length`,
  (d) => `String(${d.integer(1)}).length`,
  (d) => `("n" + ${d.integer(1)}).length`,
  (d) => `[${d.integer(1)}, 1].join("").length`,
  (d) => `JSON.stringify({ q: ${d.integer(1)} }).length`,
  (d) => `Number(${d.integer(1)})`,
  (d) => `parseInt(${d.integer(1)})`,
  (d) => `(isNaN(${d.integer(1)}) ? 1 : 0)`,
  (d) => `(Number.isInteger(${d.integer(1)}) ? 1 : 0)`,
  (d) => `[${d.integer(1)}, ${d.integer(0)}].filter(Number.${d.of(["isFinite", "isSafeInteger"])}).length`,
  (d) => `((isOne) => (isOne(${d.integer(1)}) ? 1 : 0))(Number.isInteger)`,
  (d) => `[0, 1].map(() => ${d.integer(1)}).map((q) => q || 3)[0]`,
  (d) => `Array.from({ length: 2 }, () => ${d.integer(1)}).map((q) => (q ? 1 : 2))[1]`,
  (d) => `(() => { const [p, q] = [1, 2].map((i) => ${d.integer(1)}.add(i)); return p === q ? 1 : p && 2; })()`,
  (d) => `${d.integer(1)}.toString().length`,
  (d) => `(${d.integer(1)}.valueOf() === 1 ? 1 : 0)`,
  (d) => `Math.max(${d.integer(1)}, 1)`,
  (d) => `Math.abs(${d.integer(1)})`,
  (d) => `([10, 20, 30][${d.integer(1)}] ?? 7)`,
  (d) => `({ 0: 4, 1: 5 }[${d.integer(1)}] ?? 7)`,
  (d) => `([10, 20, 30].at(${d.integer(1)}) ?? 7)`,
  (d) => `[10, 20, 30].slice(${d.integer(0)}).length`,
  (d) => `Array.from({ length: ${d.integer(0)} }).length`,
  (d) => `new Array(tl.maximum(${d.integer(0)}, 0)).fill(1).length`,
  (d) => `Array(tl.maximum(${d.integer(1)}, 0)).length`,
  (d) => `"x".repeat(tl.maximum(${d.integer(0)}, 0)).length`,
  (d) => `(${d.integer(0)} in [1, 2] ? 1 : 0)`,
  (d) => `(${d.integer(1)} ?? 7)`,
  (d) => `(${d.integer(1)} || 7)`,
  (d) => `(${d.integer(1)} && 7)`,
  (d) => `(() => { let q = ${d.integer(1)}; q += 1; return q; })()`,
  (d) => `(() => { let q = ${d.integer(1)}; q++; return q; })()`,
  (d) => `(() => { let n = 0; for (let i = 0; i < ${d.integer(0)}; i++) n++; return n; })()`,
  (d) => `(() => { let n = 0; for (const q in { [${d.integer(0)}]: 1 }) n += q.length; return n; })()`,
];

/** JavaScript that means the same in a kernel: it only moves values about. */
export const PLAIN: readonly Form[] = [
  (d) => d.integer(),
  (d) => `[${d.integer(1)}, ${d.integer(1)}].map((q) => q.add(1)).reduce((p, q) => p.add(q))`,
  (d) => `[1, 2, 3].reduce((p, q) => p.add(q), ${d.integer(1)})`,
  (d) => `[1, 2].map((q) => ${d.integer(1)}.mul(q)).at(-1).add(${d.integer(0)})`.replace(/^\[1, 2\]/, "[2]"),
  (d) => `[...[${d.integer(1)}]][0]`,
  (d) => `({ q: ${d.integer(1)} }).q`,
  (d) => `({ ...{ q: ${d.integer(1)} } }).q`,
  (d) => `((q) => q.add(1))(${d.integer(1)})`,
  (d) => `((...all) => all.reduce((p, q) => p.add(q)))(${d.integer(1)}, ${d.integer(1)})`,
  (d) => `(({ q, r }) => q.sub(r))({ q: ${d.integer(1)}, r: ${d.integer(1)} })`,
  (d) => `new (class { constructor(q) { this.q = q; } get twice() { return this.q.mul(2); } })(${d.integer(1)}).twice`,
  (d) => `(function* () { yield ${d.integer(1)}; })().next().value`,
  (d) => `(() => { const f = (q, n) => (n === 0 ? q : f(q.add(1), n - 1)); return f(${d.integer(1)}, 3); })()`,
  (d) => `(() => { let [p, q] = [${d.integer(1)}, ${d.integer(1)}]; [p, q] = [q, p]; return p.sub(q); })()`,
  (d) => `(() => { let q = ${d.integer(1)}; for (let i = 0; i < 3; i++) q = q.add(i); return q; })()`,
  (d) =>
    `(() => { const all = []; for (const i of [1, 2]) all.push(${d.integer(0)}.mul(i)); return all[0].add(all[1]); })()`,
  (d) => `new Map([["q", ${d.integer(1)}]]).get("q")`,
  (d) => `tl.when(${d.truth()}, () => ${d.integer(1)}.add(1)).otherwise(() => ${d.integer(1)}.add(2))`,
  (d) => `tl.fn((q) => q.add(1))(${d.integer(1)})`,
  (d) => `((f) => f(f(${d.integer(1)})))((q) => q.add(1))`,
  (d) => `${picked(d)}(${d.integer(1)})`,
  (d) => `[[1, ${d.integer(1)}]].map(([n, q]) => q.add(n))[0]`,
  (d) => `Object.entries({ p: 1, q: 2 }).reduce((r, [, n]) => r.add(n), ${d.integer(1)})`,

  (d) => `${d.integer(1)}?.add(1)`,
];

/** A function of the module that a flag of JavaScript decides. */
function picked(draw: Draw): string {
  const f = draw.name("plain");
  draw.helpers.push(
    draw.of([
      `const ${f} = (q) => (${draw.upTo(1)} > 0 ? q.add(1) : q.sub(1));`,
      `function ${f}(q, { twice = ${draw.chance(0.5)} } = {}) { return twice ? q.mul(2) : q; }`,
      `const ${f} = tl.fn((q) => q.mul(2).add(1));`,
      `class ${f}Of { static of(q) { return q.add(3); } }\nconst ${f} = ${f}Of.of;`,
    ]),
  );
  return f;
}
