/** Obligations as SMT-LIB scripts: each asserts what its terms say, at numbers and by a reader of its own. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "../../../src/index.js";
import { build } from "../../../src/pipeline/build.js";
import { smtScript } from "../../../src/prove/smt.js";
import { Valuation } from "../../../src/prove/launch-search.js";
import { uniform } from "../../../src/numerics/random.js";
import {
  andTerm,
  atMost,
  call,
  equal,
  iteTerm,
  maxTerm,
  minTerm,
  NEXT_POWER,
  not,
  number,
  orTerm,
  product,
  quotient,
  remainder,
  sum,
  symbol,
  symbolsIn,
  type Term,
} from "../../../src/symbolic/term.js";

type Node = string | readonly Node[];
type Value = bigint | boolean;

/** The S-expressions of a script. */
function read(script: string): readonly Node[] {
  const tokens = script.replace(/;.*/g, "").match(/\|[^|]*\||[()]|[^\s()|]+/g) ?? [];
  const stack: Node[][] = [[]];
  for (const token of tokens) {
    if (token === "(") stack.push([]);
    else if (token === ")") {
      const list = stack.pop() ?? [];
      stack.at(-1)?.push(list);
    } else stack.at(-1)?.push(token);
  }
  return stack[0] ?? [];
}

const truncated: Readonly<Record<string, (x: bigint, y: bigint) => bigint>> = {
  bvadd: (x, y) => x + y,
  bvsub: (x, y) => x - y,
  bvmul: (x, y) => x * y,
  bvand: (x, y) => x & y,
  bvsdiv: (x, y) => (y === 0n ? (x < 0n ? 1n : -1n) : x / y),
  bvsrem: (x, y) => (y === 0n ? x : x % y),
  bvsmod: (x, y) => (y === 0n ? x : ((x % y) + y) % y),
};

/** The width of the first number. */
function widthOf(nodes: readonly Node[]): number {
  for (const node of nodes) {
    if (typeof node === "string") continue;
    const width = node[0] === "_" && String(node[1]).startsWith("bv") ? Number(node[2]) : widthOf(node);
    if (width > 0) return width;
  }
  return 0;
}

/** Whether all assertions hold where symbols have these values. What is declared besides them is `power`. */
function holds(statements: readonly Node[], values: ReadonlyMap<string, number>, power = 0n): boolean {
  const known = new Map<string, Value>([...values].map(([name, value]) => [`|${name}|`, BigInt(value)]));
  const width = widthOf(statements);
  const evaluate = (node: Node): Value => {
    if (typeof node === "string") {
      if (node === "true" || node === "false") return node === "true";
      return known.get(node) ?? power;
    }
    const [head, ...operands] = node;
    if (head === "_") return BigInt.asIntN(width, BigInt(String(operands[0]).slice(2)));
    const args = operands.map(evaluate);
    const [x, y] = args as [bigint, bigint];
    if (head === "and") return args.every(Boolean);
    if (head === "or") return args.some(Boolean);
    if (head === "not") return !args[0];
    if (head === "=") return args[0] === args[1];
    if (head === "ite") return (args[0] ? args[1] : args[2]) ?? false;
    if (head === "bvsle") return x <= y;
    if (head === "bvslt") return x < y;
    const result = truncated[String(head)]?.(x, y) ?? 0n;
    expect(BigInt.asIntN(width, result), `${String(head)} wraps`).toBe(result);
    return result;
  };
  let isSatisfied = true;
  for (const statement of statements) {
    const [head, name, , , body] = statement as readonly Node[];
    if (head === "define-fun") known.set(String(name), evaluate(body ?? ""));
    if (head === "assert") isSatisfied = evaluate(name ?? "") === true && isSatisfied;
  }
  return isSatisfied;
}

test("a script asserts the facts and the opposite of the goal, at random numbers", () => {
  const random = uniform(7);
  const below = (end: number): number => Math.floor(random() * end);
  const names = ["M", "N", "program 0"];
  const integer = (depth: number): Term => {
    const [x, y] = depth === 0 ? [] : [integer(depth - 1), integer(depth - 1)];
    if (!x || !y) return below(3) === 0 ? number(below(9) - 4) : symbol(names[below(3)] ?? "M");
    const makers = [
      () => sum(x, y),
      () => product(x, y),
      () => quotient(x, y),
      () => quotient(x, y, true),
      () => remainder(x, y),
      () => remainder(x, y, true),
      () => minTerm(x, y),
      () => maxTerm(x, y),
      () => iteTerm(atMost(x, y), y, sum(x, number(1))),
    ];
    return makers[below(makers.length)]?.() ?? x;
  };
  const truth = (): Term => {
    const [x, y] = [integer(2), integer(2)];
    const makers = [() => atMost(x, y), () => equal(x, y), () => not(equal(x, y))];
    const first = makers[below(3)]?.() ?? atMost(x, y);
    const second = atMost(integer(1), integer(1));
    return below(2) === 0 ? andTerm(first, second) : orTerm(first, second);
  };
  let compared = 0;
  for (let i = 0; i < 400; i++) {
    const [goal, fact] = [truth(), truth()];
    const result = smtScript({ goal, facts: [fact] }, { status: "unknown", comments: [], int32Bits: 8 });
    if ("reason" in result) continue;
    const statements = read(result.script);
    for (let j = 0; j < 10; j++) {
      const values = new Map(names.map((name) => [name, below(256) - 128]));
      const valuation = new Valuation(values);
      const [isGoal, isFact] = [valuation.truth(goal), valuation.truth(fact)];
      // Division by 0 has no value.
      if (isGoal === undefined || isFact === undefined) continue;
      // A fact that shares no symbol with the goal is left out.
      const isRelevant = symbolsIn(fact).size === 0 || [...symbolsIn(fact)].some((name) => symbolsIn(goal).has(name));
      expect(holds(statements, values), result.script).toBe(!isGoal && (isFact || !isRelevant));
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(2000);
});

test("the next power of two has one value", () => {
  const goal = equal(call(NEXT_POWER, symbol("N")), symbol("M"));
  const result = smtScript({ goal: not(goal), facts: [] }, { status: "unknown", comments: [], int32Bits: 8 });
  const statements = read("script" in result ? result.script : "");
  for (let n = -4; n <= 40; n++) {
    const power = n <= 0 ? 0 : 2 ** Math.ceil(Math.log2(n));
    for (let m = 0; m <= 70; m++) {
      const values = new Map([
        ["N", n],
        ["M", m],
      ]);
      expect(holds(statements, values, BigInt(m))).toBe(m === power);
    }
  }
});

const copy = (claimsBounds: boolean, offset = 0) =>
  build(
    kernel(
      "copy",
      {
        doc: "Copies.",
        params: {
          ids: tensor(tl.int32, ["N"], { range: [0, "N"] }),
          x: tensor(tl.float32, ["N"]),
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      },
      ({ ids, x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const values = tl.load(x.at(claimsBounds ? tl.inBounds(i.add(offset)) : i), { other: 0 });
        tl.store(y.at(i), values.add(tl.load(x.at(tl.inBounds(tl.load(ids.at(i), { other: 0 })))).mul(0)));
      },
    ),
  );

test("a script has the status of the proof, and what has none has a reason", async () => {
  const [right] = (await copy(false)).smt();
  expect(right?.obligations.map(({ property, scripts, reason }) => [property, scripts?.length ?? reason])).toEqual([
    ["bounds", 1],
    ["bounds", 1],
    ["bounds", "it depends on values that memory or a loop holds"],
    ["bounds", 1],
    ["coverage", "its property is not one of index arithmetic"],
    ["race", "its property is not one of index arithmetic"],
    ["overflow", 2],
  ]);
  const statuses = (exported: typeof right) =>
    exported?.obligations.flatMap(({ scripts = [] }) => scripts.map((script) => /:status (\w+)/.exec(script)?.[1]));
  expect(statuses(right)).toEqual(["unsat", "unsat", "unsat", "unsat", "unsat"]);
  const [wrong] = (await copy(true, 1)).smt();
  expect(statuses(wrong)).toContain("sat");
  const sat = wrong?.obligations
    .flatMap(({ scripts = [] }) => scripts)
    .find((script) => script.includes(":status sat"));
  expect(sat).toContain("; copy: bounds of the load from x");
});
