/** Examples of `source-codes.ts` and `control-codes.ts`. */
import type { Explanation, KernelFileParts } from "./explanation.js";

const STORE = "tl.store(y.at(i), tl.load(x.at(i)));";

/** A product of tiles of `a` and the sums of its rows, from the loaded tile on. */
const sumBesideProduct = (rest: string): KernelFileParts => ({
  params: `a: tensor(tl.float16, ["M", "K"]), sums: tensor.out(tl.float32, ["M"]), c: tensor.out(tl.float32, ["M", "M"]), BLOCK: constexpr()`,
  grid: "() => [1]",
  config: "config: { BLOCK: 64 },",
  spec: "requires: ({ M, BLOCK }) => [BLOCK.ge(M)],",
  names: "a, sums, c, K, BLOCK",
  body: `const lanes = tl.arange(0, BLOCK);
const [sum, acc] = [tl.mut(tl.zeros([BLOCK], tl.float32)), tl.mut(tl.zeros([BLOCK, BLOCK], tl.float32))];
for (const k of tl.range(0, K, BLOCK)) {
  const tile = tl.load(a.at(lanes, k.add(lanes)));
${rest}
tl.store(sums.at(lanes), sum.value);
tl.store(c.at(lanes, lanes), acc.value);`,
});

export const source = {
  "hidden-coercion": {
    meaning:
      "A JavaScript operator receives the handle of a traced value instead of its number. Call a method instead.",
    message: "`*` is JavaScript's and cannot compute with a traced value; write tl.load(x.at(i)).mul(2)",
    failing: { body: "tl.store(y.at(i), tl.load(x.at(i)) * 2);" },
    passing: { body: "tl.store(y.at(i), tl.load(x.at(i)).mul(2));" },
  },
  "outer-assignment": {
    meaning:
      "Tracing runs a loop's body once, so an outer `let` keeps the value of that one run. Use `tl.mut` for a variable of the kernel.",
    message:
      "`sum` is reassigned inside a traced loop, which runs once while the kernel is traced; declare it inside, or hold it in tl.mut(…) and write sum.value",
    failing: {
      body: `let sum = tl.zeros([BLOCK], tl.float32);
for (const k of tl.range(0, 4)) {
  sum = sum.add(tl.load(x.at(i)));
}
tl.store(y.at(i), sum);`,
    },
    passing: {
      body: `const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
for (const k of tl.range(0, 4)) {
  sum.value = sum.value.add(tl.load(x.at(i)));
}
tl.store(y.at(i), sum.value);`,
    },
  },
  "traced-condition": {
    meaning: "Every handle is truthy, so JavaScript's `if`, `?:` and loops do not test the traced value.",
    message: "`if` on a traced value is always taken; use tl.when(condition, () => …)",
    failing: { body: `if (N.gt(0)) {\n  ${STORE}\n}` },
    passing: { body: `tl.when(N.gt(0), () => {\n  ${STORE}\n});` },
  },
  "unread-source": {
    meaning:
      "The build looks for JavaScript code that silently computes with handles. It reads the author's files, and packages whose functions receive traced values. It cannot read a function that is part of Node, compiled, or not installed as source.",
    message:
      'the source of isDeepStrictEqual from "node:util" cannot be read, so uses of traced values as JavaScript numbers or conditions in it go unnoticed; check it, or move it to a file of the project',
    failing: {
      before: 'import { isDeepStrictEqual } from "node:util";',
      body: `const v = tl.load(x.at(i));\nif (!isDeepStrictEqual(v, x)) tl.store(y.at(i), v);`,
    },
    passing: { body: STORE },
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export const control = {
  "branch-condition": {
    meaning: "A program needs one condition: an int1 scalar or a constexpr. To choose per lane, use `tl.where`.",
    message: "when: one program has one condition, this is a tile [BLOCK]; choose lane by lane with tl.where",
    failing: { body: `tl.when(tl.load(x.at(i)).gt(0), () => {\n  ${STORE}\n});` },
    passing: { body: "const v = tl.load(x.at(i));\ntl.store(y.at(i), tl.where(v.gt(0), v, 0));" },
  },
  "branch-order": {
    meaning: "`elseWhen` and `otherwise` must directly follow their `tl.when`.",
    message: "otherwise must follow its tl.when directly; write them as one chain",
    failing: {
      body: `const first = tl.when(N.gt(100), () => ${STORE.slice(0, -1)});
tl.store(y.at(i), 1);
first.otherwise(() => tl.store(y.at(i), 0));`,
    },
    passing: {
      body: `tl.when(N.gt(100), () => ${STORE.slice(0, -1)}).otherwise(() => tl.store(y.at(i), 0));`,
    },
  },
  "branch-values": {
    meaning: "All arms of a branch must return the same number of values, of the same types.",
    message: "when: one arm returns int32, another float32; cast with .to(tl.int32)",
    failing: {
      body: "const v = tl.when(N.gt(100), () => tl.load(x.at(i))).otherwise(() => tl.programId(0));\ntl.store(y.at(i), v);",
    },
    passing: {
      body: "const v = tl.when(N.gt(100), () => tl.load(x.at(i))).otherwise(() => tl.zeros([BLOCK], tl.float32));\ntl.store(y.at(i), v);",
    },
  },
  "changed-state": {
    meaning:
      "JavaScript runs the body of a loop, an arm or a helper function only while the build traces the kernel, not in each iteration or call. A JavaScript variable, object or class that the body changes is therefore not a variable of the kernel. To find such changes, the build traces each body twice and compares the statements.",
    message:
      "JavaScript behaves differently here when the loop is traced a second time, or without the loops and branches in it: a JavaScript variable is not state of the kernel; hold it in tl.mut(…)",
    failing: {
      body: `const seen = { count: 0 };
const sum = tl.mut(tl.load(x.at(i)));
for (const k of tl.range(0, 4)) {
  seen.count++;
  sum.value = sum.value.mul(seen.count);
}
tl.store(y.at(i), sum.value);`,
    },
    passing: {
      body: `const count = tl.mut(tl.full([], 0, tl.int32));
const sum = tl.mut(tl.load(x.at(i)));
for (const k of tl.range(0, 4)) {
  count.value = count.value.add(1);
  sum.value = sum.value.mul(count.value);
}
tl.store(y.at(i), sum.value);`,
    },
  },
  "deep-program": {
    meaning:
      "Python and Triton's compiler limit nesting: about 20 nested loops, 100 arms of a branch, and 50 nested calls of helper functions.",
    message:
      "more than 80 loops and arms of branches are nested or follow one another here, too many for Triton's compiler; load from a table, choose with tl.where(…), or move a part to a tl.fn",
    failing: {
      body: `const arm = (n: number): void => void tl.when(tl.programId(0).eq(n), () => (n < 100 ? arm(n + 1) : undefined));
arm(0);
${STORE}`,
    },
    passing: { body: `tl.when(tl.programId(0).ge(0), () => {\n  ${STORE}\n});` },
  },
  "early-exit": {
    meaning: "Tracing runs a loop's body once, so JavaScript cannot leave it in a single iteration.",
    message:
      "`break` leaves a traced loop while the kernel is traced; use tl.whileLoop(() => condition, () => …), or tl.when(condition, () => …) around the work",
    failing: {
      grid: "() => [1]",
      body: `for (const k of tl.range(0, N, BLOCK)) {
  const j = k.add(tl.arange(0, BLOCK));
  tl.store(y.at(j), tl.load(x.at(j)));
  break;
}`,
    },
    passing: {
      grid: "() => [1]",
      body: `for (const k of tl.range(0, N, BLOCK)) {
  const j = k.add(tl.arange(0, BLOCK));
  tl.store(y.at(j), tl.load(x.at(j)));
}`,
    },
  },
  "helper-argument": {
    meaning: "A helper function accepts tiles, pointers, constexprs and tensors. Load a view before you pass it.",
    message: "fn: a view cannot be passed; load it before the call, or give the tensor and the indices",
    failing: { before: "const twice = tl.fn((v) => v.mul(2));", body: "tl.store(y.at(i), twice(x.at(i)));" },
    passing: { before: "const twice = tl.fn((v) => v.mul(2));", body: "tl.store(y.at(i), twice(tl.load(x.at(i))));" },
  },
  "helper-capture": {
    meaning: "Triton compiles a helper function separately, so it can use only its arguments.",
    message:
      "this value was made outside the helper function, which Triton compiles on its own; pass it as an argument",
    failing: {
      body: `const v = tl.load(x.at(i));
const plus = tl.fn((a) => a.add(v));
tl.store(y.at(i), plus(v));`,
    },
    passing: {
      body: `const v = tl.load(x.at(i));
const plus = tl.fn((a, b) => a.add(b));
tl.store(y.at(i), plus(v, v));`,
    },
  },
  "helper-function": {
    meaning: "`tl.fn` needs a function whose name is a valid Python name.",
    message: "fn: needs a function; write tl.fn((x) => x.mul(2))",
    failing: { before: "const twice = tl.fn(2);" },
    passing: { before: "const twice = tl.fn((v) => v.mul(2));" },
  },
  "helper-result": {
    meaning: "A helper function returns nothing, a tile or a list of tiles.",
    message: "fn: a number has no dtype; return tl.full([], x, dtype)",
    failing: { before: "const two = tl.fn(() => 2);", body: "tl.store(y.at(i), tl.load(x.at(i)).mul(two()));" },
    passing: {
      before: "const two = tl.fn(() => tl.full([], 2, tl.float32));",
      body: "tl.store(y.at(i), tl.load(x.at(i)).mul(two()));",
    },
  },
  "loop-bounds": {
    meaning:
      "The bounds and the step of a loop are integers. For `tl.staticRange`, Triton must know them at compile time.",
    message: "staticRange: bounds are constexprs or numbers; use tl.range for a run-time one",
    failing: { grid: "() => [1]", body: "for (const k of tl.staticRange(0, N)) tl.store(y.at(k), tl.load(x.at(k)));" },
    passing: { grid: "() => [1]", body: "for (const k of tl.range(0, N)) tl.store(y.at(k), tl.load(x.at(k)));" },
  },
  "endless-loop": {
    meaning: "A loop never ends in this test case, because its step is 0 or its condition stays true.",
    message: "this loop has a step of 0 in this case, so it never ends; give a step that is never 0",
    failing: {
      body: "for (const k of tl.range(0, N, N.floorDiv(100))) tl.store(y.at(i), tl.load(x.at(i)).mul(k));",
    },
    passing: {
      body: "for (const k of tl.range(0, N, tl.maximum(N.floorDiv(100), 1))) tl.store(y.at(i), tl.load(x.at(i)).mul(k));",
    },
    run: { sizes: { N: 40 } },
  },
  "loop-functions": {
    meaning:
      "`tl.whileLoop` has two functions: the condition, which the kernel evaluates before each iteration, and the body.",
    message: "whileLoop: the condition is computed before each iteration; give a function, () => i.value.lt(n)",
    failing: {
      body: `const k = tl.mut(tl.full([], 0, tl.int32));
tl.whileLoop(k.value.lt(4), () => {
  k.value = k.value.add(1);
});
tl.store(y.at(i), tl.load(x.at(i)));`,
    },
    passing: {
      body: `const k = tl.mut(tl.full([], 0, tl.int32));
tl.whileLoop(() => k.value.lt(4), () => {
  k.value = k.value.add(1);
});
tl.store(y.at(i), tl.load(x.at(i)));`,
    },
  },
  "loop-option": {
    meaning: "A loop's options are constants, or constexprs of the type that each option requires.",
    message: "range: numStages is an integer; give a constant or a constexpr",
    failing: { body: `for (const k of tl.range(0, 4, 1, { numStages: "two" })) ${STORE}` },
    passing: { body: `for (const k of tl.range(0, 4, 1, { numStages: 2 })) ${STORE}` },
  },
  "misplaced-exit": {
    meaning: "`tl.exit` is allowed only under a condition, outside loops, and not in a helper function.",
    message: "exit: nothing after this would ever run; put it in tl.when(condition, () => tl.exit())",
    failing: { body: `tl.exit();\n${STORE}` },
    passing: { body: `tl.when(tl.programId(0).ge(N), () => tl.exit());\n${STORE}` },
  },
  "not-given": {
    meaning: "A kernel may use an optional tensor only in a branch in which the caller has passed it.",
    message: "x may be absent here; use it inside tl.when(x.given, () => { … })",
    failing: {
      params: `x: tensor(tl.float32, ["N"]).optional(), y: tensor.out(tl.float32, ["N"]), z: tensor(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, y, z, BLOCK",
      body: `tl.store(y.at(i), tl.load(z.at(i)).add(tl.load(x.at(i))));`,
    },
    passing: {
      params: `x: tensor(tl.float32, ["N"]).optional(), y: tensor.out(tl.float32, ["N"]), z: tensor(tl.float32, ["N"]), BLOCK: constexpr()`,
      names: "x, y, z, BLOCK",
      body: `tl.store(y.at(i), tl.load(z.at(i)));
tl.when(x.given, () => tl.store(y.at(i), tl.load(z.at(i)).add(tl.load(x.at(i)))));`,
    },
  },
  "outside-kernel": {
    meaning:
      "Functions of `tl` record ops of the kernel that is being traced, so call them inside the kernel's function.",
    message:
      "tl.arange was called outside a kernel; call it in the function given to kernel(…), or in a callback of its options",
    failing: { before: "const lanes = tl.arange(0, 16);", body: STORE },
    passing: { before: "const lanes = () => tl.arange(0, 16);", body: STORE },
  },
  recursion: {
    meaning: "Triton does not support recursion.",
    message: "fn: a helper function cannot call itself; Triton has no recursion, use a loop",
    failing: {
      before: "const halve = tl.fn((v) => halve(v.mul(0.5)));",
      body: "tl.store(y.at(i), halve(tl.load(x.at(i))));",
    },
    passing: {
      before: "const halve = tl.fn((v) => v.mul(0.5));",
      body: "tl.store(y.at(i), halve(halve(tl.load(x.at(i)))));",
    },
  },
  "pipelined-load": {
    meaning:
      "Triton's pipeliner executes loads up to `numStages - 1` iterations early, even if an earlier iteration stores to the same elements. With `numStages` of 2 or more on `tl.range`, this affects all loads of an innermost loop. Otherwise, by the config's `numStages`, it affects loads that feed a product. It is an error if a load certainly reads a stored element, and a warning if the proof finds no answer. `tl.trusted` on the view waives the warning. The interpreter and the evaluator are not affected.",
    message:
      "example: this load of y reads what the store of the iteration before writes, and Triton's pipeliner executes the load first; pass { numStages: 1 } to tl.range, or call tl.debugBarrier() between the store and the load",
    failing: {
      params: `y: tensor.inout(tl.float32, ["R", "N"]), BLOCK: constexpr()`,
      names: "y, R, BLOCK",
      body: `for (const r of tl.range(1, R, 1, { numStages: 3 })) {
  tl.store(y.at(r, i), tl.load(y.at(r.sub(1), i)).mul(2));
}`,
    },
    passing: {
      params: `y: tensor.inout(tl.float32, ["R", "N"]), BLOCK: constexpr()`,
      names: "y, R, BLOCK",
      body: `for (const r of tl.range(1, R, 1, { numStages: 1 })) {
  tl.store(y.at(r, i), tl.load(y.at(r.sub(1), i)).mul(2));
}`,
    },
  },
  "operand-buffer": {
    meaning:
      "On sm_90 Triton executes a product asynchronously. A loop of two or more stages fills the buffers of its operands in rotation. If the loop also uses the loaded tile without a product, Triton allocates one buffer too few. A copy then overwrites an operand that an unfinished product still reads: on an H200, up to half of the elements were wrong. Products of fewer than 64 rows or fewer than four warps, and of float32 with `ieee`, are not affected.",
    message:
      "example: this tile is an operand of a product and is also used without one, and in a pipelined loop Triton for sm_90 overwrites it while the product still reads it; pass { numStages: 1 } to tl.range, or move the other use to a loop of its own",
    failing: sumBesideProduct(`  sum.value = sum.value.add(tl.sum(tile.to(tl.float32), 1));
  acc.value = tl.dot(tile, tl.trans(tile), acc.value);
}`),
    passing: sumBesideProduct(`  acc.value = tl.dot(tile, tl.trans(tile), acc.value);
}
for (const k of tl.range(0, K, BLOCK)) sum.value = sum.value.add(tl.sum(tl.load(a.at(lanes, k.add(lanes))).to(tl.float32), 1));`),
  },
  "scope-escape": {
    meaning:
      "A value of a loop or a branch does not exist after it. To keep a value, create a `tl.mut` before the loop.",
    message:
      "this value was made inside the loop and does not exist outside it; hold it in tl.mut(…) made before the loop and write its .value inside",
    failing: {
      body: `const values = [];
for (const k of tl.range(0, 4)) values[0] = tl.load(x.at(i));
tl.store(y.at(i), values[0]);`,
    },
    passing: {
      body: `const last = tl.mut(tl.zeros([BLOCK], tl.float32));
for (const k of tl.range(0, 4)) last.value = tl.load(x.at(i));
tl.store(y.at(i), last.value);`,
    },
  },
  "unused-value": {
    meaning:
      "The kernel computes a value that it does not use. This is a warning. For a boolean, it is an error if JavaScript may have tested the boolean, because JavaScript treats every traced value as true. In the example, a class field tests it. Bun and web pages cannot detect such a test, so every unused boolean is an error there.",
    message:
      "gt: nothing uses this truth value, so JavaScript may have taken it for true; choose with tl.where(condition, a, b), branch with tl.when(condition, () => …), or remove it",
    failing: {
      body: `const here = new (class {
  first = N.gt(0);
})();
if (here.first) ${STORE}`,
    },
    passing: { body: `tl.when(N.gt(0), () => {\n  ${STORE}\n});` },
  },
  "state-type": {
    meaning: "A `tl.mut` keeps its initial dtype and shape.",
    message: "value: the variable holds [BLOCK], the new value is a scalar; reduce or broadcast it",
    failing: {
      body: `const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
sum.value = tl.sum(tl.load(x.at(i)), 0);
tl.store(y.at(i), sum.value);`,
    },
    passing: {
      body: `const sum = tl.mut(tl.full([], 0, tl.float32));
sum.value = tl.sum(tl.load(x.at(i)), 0);
tl.store(y.at(i), tl.broadcastTo(sum.value, [BLOCK]));`,
    },
  },
  unreachable: {
    meaning: "A statement after `tl.exit` in the same arm never runs.",
    message: "this comes after tl.exit() and never runs; move it before, or in another arm",
    failing: {
      body: `tl.when(N.gt(0), () => {
  tl.exit();
  tl.store(y.at(i), tl.load(x.at(i)));
});`,
    },
    passing: {
      body: `tl.when(N.gt(0), () => {
  tl.store(y.at(i), tl.load(x.at(i)));
  tl.exit();
});`,
    },
  },
} as const satisfies Readonly<Record<string, Explanation>>;
