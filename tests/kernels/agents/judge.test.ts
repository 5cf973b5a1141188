/** The judge of kernels that coding agents write: right ones pass on the evaluator, wrong ones do not. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { judge, type Verdict } from "../../../bench/agents/judge.js";
import { tasks } from "../../../bench/agents/tasks.js";
import { typeErrors } from "../../support/tsc.js";
import { sampledTests } from "../../support/sampled-tests.js";
import { solved } from "./solved.js";

sampledTests("agents' kernels to judge", "bench/agents");

const folder = mkdtempSync(join(tmpdir(), "tilescript-judged-"));
afterAll(() => rmSync(folder, { recursive: true }));

const IMPORTS = `import { constexpr, kernel, scalar, tensor, tl } from "tilescript";\n`;

function verdictOn(task: string, text: string, types = false): Promise<Verdict> {
  const file = join(folder, `${task}.ts`);
  writeFileSync(file, `${IMPORTS}${text}\n`);
  return judge(task, file, { devices: ["eval"], runs: 5, types });
}

test("solutions have no type error", { timeout: 60_000 }, () => {
  const files = Object.entries(solved).map(([task, text]) => [`${task}.ts`, `${IMPORTS}${text}\n`] as const);
  expect(typeErrors("solutions", Object.fromEntries(files))).toEqual([]);
});

test("there are twenty tasks, each with a solution", () => {
  expect(Object.keys(solved)).toEqual(tasks.map(({ name }) => name));
  expect(tasks).toHaveLength(20);
});

test("a solution has no type error for the judge", { timeout: 60_000 }, async () => {
  expect(await verdictOn("bias_relu", solved["bias_relu"]!, true)).toMatchObject({ right: true });
});

test.each(Object.entries(solved))("%s is judged right", { timeout: 60_000 }, async (task, text) => {
  expect(await verdictOn(task, text)).toMatchObject({ right: true });
});

interface Mistake {
  readonly what: string;
  readonly task: string;
  /** What stands in the solution, and what in its place. */
  readonly change: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

const mistakes: readonly Mistake[] = [
  {
    what: "another comparison",
    task: "count_above",
    change: { ".gt(threshold)": ".lt(threshold)" },
    says: /cases|count/,
  },
  {
    what: "padding in a sum",
    task: "row_mean_var",
    change: { "tl.where(cols.lt(N), values.sub(average), 0)": "values.sub(average)" },
    says: /variance/,
  },
  { what: "a type error", task: "bias_relu", change: { "0).to(T));": "0));" }, says: /bias_relu\.ts.*error TS\d+/ },
  {
    what: "another dtype",
    task: "gather_rows",
    change: { "tensor(tl.int32": "tensor(tl.int64" },
    says: /the task says in tensor of int32/,
  },
  {
    what: "a result that only a reference of its own has",
    task: "column_sums",
    change: { "sums.value);": "sums.value.mul(2));", "grid:": "reference: ({ x }) => x.sum(0).mul(2),\n    grid:" },
    says: /cases|y/,
  },
];

test.each(mistakes)("$what is judged wrong", { timeout: 60_000 }, async ({ what, task, change, says }) => {
  let text = solved[task]!;
  for (const [from, to] of Object.entries(change)) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  const verdict = await verdictOn(task, text, what === "a type error");
  expect(verdict.right).toBe(false);
  expect(verdict.says).toMatch(says);
});
