/** Each rule of a stage finds the program that breaks it. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { checkStage, rulesOf, type Stage } from "../../../src/check/stages.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import type { KernelIR, OpStatement, Statement } from "../../../src/ir/nodes.js";
import { lowerViews } from "../../../src/lower/views.js";

const copy = kernel(
  "copy",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const total = tl.mut(tl.load(x.at(i)));
    for (const k of tl.range(0, 4)) total.value = total.value.add(tl.load(x.at(i.add(k))));
    tl.store(y.at(i), total.value);
  },
);
const traced = trace(definitionOf(copy));
const lowered = lowerViews(traced);

type Change = (statements: readonly Statement[]) => readonly Statement[];
const changed = (ir: KernelIR, change: Change): KernelIR => ({
  ...ir,
  body: { ...ir.body, statements: change(ir.body.statements) },
});

const isOp = (name: string) => (statement: Statement) => statement.kind === "op" && statement.op.name === name;

/** Changes the first op of this name. */
const withOp =
  (name: string, change: (statement: OpStatement) => OpStatement): Change =>
  (statements) => {
    const place = statements.findIndex(isOp(name));
    expect(place).toBeGreaterThanOrEqual(0);
    return statements.with(place, change(statements[place] as OpStatement));
  };

const viewOf = (ir: KernelIR) => (ir.body.statements.find(isOp("at")) as OpStatement).results[0]!;

test("a kernel keeps the rules of both stages", () => {
  checkStage(traced, "traced");
  checkStage(lowered, "lowered");
});

const wrong: readonly (readonly [rule: string, stage: Stage, ir: KernelIR, change: Change])[] = [
  ["One statement makes each value.", "traced", traced, (all) => [...all, all[0]!]],
  ["A value is made before its use", "traced", traced, (all) => all.slice(1)],
  ["A value is made before its use", "lowered", lowered, (all) => all.filter(({ kind }) => kind !== "let")],
  ["A value is made before its use", "traced", traced, (all) => [all.find(({ kind }) => kind === "read")!, ...all]],
  [
    "A value is made before its use",
    "traced",
    traced,
    (all) => {
      const loop = all.find((each) => each.kind === "for")!;
      const inner = (loop.kind === "for" ? loop.body.statements : []).find(isOp("load")) as OpStatement;
      return withOp("store", (store) => ({ ...store, operands: [store.operands[0], inner.results[0]] }))(all);
    },
  ],
  [
    "An op has an argument for each",
    "traced",
    traced,
    withOp("add", (add) => ({ ...add, operands: [add.operands[0]] })),
  ],
  [
    "An op has an argument for each",
    "traced",
    traced,
    withOp("add", (add) => ({ ...add, options: { mask: add.operands[0]! } })),
  ],
  [
    "The results of an op have the types",
    "traced",
    traced,
    withOp("mul", (mul) => ({ ...mul, operands: [mul.operands[0], viewOf(traced)] })),
  ],
  [
    "A view is the first operand",
    "traced",
    traced,
    withOp("store", (store) => ({ ...store, operands: [store.operands[0], viewOf(traced)] })),
  ],
  [
    "Variables, loops, branches",
    "traced",
    traced,
    (all) => all.map((each) => (each.kind === "let" ? { ...each, initial: viewOf(traced) } : each)),
  ],
  ["No view is left", "lowered", traced, (all) => all],
  [
    "An op reaches memory by a pointer",
    "lowered",
    lowered,
    withOp("load", (load) => ({ ...load, operands: [traced.params[0]!.value] })),
  ],
  [
    "What masked lanes hold stands beside a mask.",
    "lowered",
    lowered,
    withOp("load", (load) => ({ ...load, options: { other: { kind: "literal", value: 0 } } })),
  ],
];

test.each(wrong)("%s (%s)", (rule, stage, ir, change) => {
  expect(() => checkStage(changed(ir, change), stage)).toThrow(rule);
});

test("there is a wrong program for each rule", () => {
  const rules = new Set(
    (["traced", "lowered"] as const).flatMap((stage) => rulesOf(stage).map(({ invariant: says }) => says)),
  );
  const broken = [...rules].filter((says) => wrong.some(([start]) => says.startsWith(start)));
  expect(broken).toEqual([...rules]);
});
