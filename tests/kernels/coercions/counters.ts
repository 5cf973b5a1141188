/** State of JavaScript, by where it is kept: a counter's declaration, how it counts, and its value. */
export interface Counter {
  readonly declared: string;
  readonly count: string;
  readonly value: string;
}

export const COUNTERS: readonly ((name: string) => Counter)[] = [
  (n) => ({ declared: `let ${n} = 0;`, count: `${n}++;`, value: n }),
  (n) => ({ declared: `const ${n} = { n: 0 };`, count: `${n}.n++;`, value: `${n}.n` }),
  (n) => ({ declared: `const ${n} = { n: 0 };`, count: `${n}.n = 1;`, value: `${n}.n` }),
  (n) => ({ declared: `const ${n} = { hit: false };`, count: `${n}.hit = true;`, value: `(${n}.hit ? 5 : 0)` }),
  (n) => ({ declared: `const ${n} = { hit: false };`, count: `${n}.hit = !${n}.hit;`, value: `(${n}.hit ? 5 : 0)` }),
  (n) => ({ declared: `const ${n} = [0];`, count: `${n}[0] += 2;`, value: `${n}[0]` }),
  (n) => ({ declared: `const ${n} = [];`, count: `${n}.push(1);`, value: `${n}.length` }),
  (n) => ({ declared: `const ${n} = [5, 4, 3, 2, 1, 0, 0, 0, 0];`, count: `${n}.shift();`, value: `${n}[0]` }),
  (n) => ({
    declared: `const ${n} = new Map();`,
    count: `${n}.set("n", (${n}.get("n") ?? 0) + 1);`,
    value: `(${n}.get("n") ?? 0)`,
  }),
  (n) => ({ declared: `const ${n} = new Set();`, count: `${n}.add(${n}.size);`, value: `${n}.size` }),
  (n) => ({
    declared: `class Of${n} { n = 0; inc() { this.n++; } }\nconst ${n} = new Of${n}();`,
    count: `${n}.inc();`,
    value: `${n}.n`,
  }),
  (n) => ({ declared: `class ${n} { static n = 0; }`, count: `${n}.n += 1;`, value: `${n}.n` }),
  (n) => ({
    declared: `class Of${n} { #n = 0; get next() { return ++this.#n; } get n() { return this.#n; } }\nconst ${n} = new Of${n}();`,
    count: `void ${n}.next;`,
    value: `${n}.n`,
  }),
  (n) => ({
    declared: `const ${n} = (() => { let own = 0; return { inc() { own++; }, get: () => own }; })();`,
    count: `${n}.inc();`,
    value: `${n}.get()`,
  }),
  (n) => ({ declared: `const ${n} = { n: 0 };`, count: `Reflect.set(${n}, "n", ${n}.n + 1);`, value: `${n}.n` }),
  (n) => ({ declared: `const ${n} = { n: 0 };`, count: `Object.assign(${n}, { n: ${n}.n + 1 });`, value: `${n}.n` }),
  (n) => ({ declared: `const ${n} = { n: 0 };`, count: `({ n: ${n}.n } = { n: ${n}.n + 2 });`, value: `${n}.n` }),
  (n) => ({ declared: `const ${n} = [0, 1];`, count: `${n}.reverse();`, value: `${n}[0]` }),
  (n) => ({
    declared: `function* of${n}() { for (let i = 1; ; i++) yield i; }\nconst it${n} = of${n}();\nconst ${n} = { n: 0 };`,
    count: `${n}.n = it${n}.next().value;`,
    value: `${n}.n`,
  }),
  (n) => ({ declared: `const ${n} = { n: "" };`, count: `${n}.n = \`\${${n}.n}x\`;`, value: `${n}.n.length` }),
  (n) => ({ declared: `const ${n} = { t: b };`, count: `${n}.t = ${n}.t.add(1);`, value: `${n}.t` }),
  (n) => ({ declared: `const ${n} = [b];`, count: `${n}.push(${n}.at(-1).add(1));`, value: `${n}.at(-1)` }),
  (n) => ({ declared: `let ${n} = b;`, count: `${n} = ${n}.add(1);`, value: n }),
  (n) => ({ declared: `const ${n} = { inc: (x) => x.add(1) };`, count: ``, value: `${n}.inc(b)` }),
];
