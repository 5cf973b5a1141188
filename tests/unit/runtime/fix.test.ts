/** Edits of messages, applied to the author's file. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { build } from "../../../src/pipeline/build.js";
import { check } from "../../../src/runtime/commands/check.js";
import { fix } from "../../../src/runtime/commands/explain.js";
import { applyEdits } from "../../../src/runtime/invocation/edits.js";
import type { CheckReport, FixReport } from "../../../src/runtime/report/reports.js";

const folder = join(import.meta.dirname, `../../../node_modules/.cache/fix-${process.pid}`);
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));

const file = (body: string): string => `import { constexpr, kernel, tensor, tl } from "tilescript";
export const fixed = kernel(
  "fixed",
  {
    params: { x: tensor(tl.float32, ["N", "K"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, N, K, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
${body}
    tl.store(y.at(i), sum.value);
  },
);
`;

/** Writes the file, and runs the command on its kernel. */
async function ran<Report>(command: typeof fix, name: string, text: string): Promise<{ code: number; report: Report }> {
  const path = join(folder, name);
  writeFileSync(path, text);
  const { fixed } = (await import(/* @vite-ignore */ path)) as { fixed: unknown };
  let out = "";
  const streams = { out: (chunk: string) => (out += chunk), err: () => undefined, color: false };
  const job = await command.plan([{ name: "fixed", compile: () => build(fixed) }], { json: true, once: true }, streams);
  return { code: await job({} as never), report: JSON.parse(out) as Report };
}

test("operators and counting loops become methods and ranges", async () => {
  const wrong = file(`    for (let k = 0; k < K; k++) {
      sum.value = sum.value + tl.load(x.at(i, k));
    }`);
  const first = await ran<FixReport>(fix, "loop.ts", wrong);
  expect(first.report).toMatchObject({ ok: true, files: [{ edits: 1 }] });
  // What stood inside the loop is mended next.
  const second = await ran<FixReport>(fix, "again.ts", readFileSync(join(folder, "loop.ts"), "utf8"));
  expect(second.report).toMatchObject({ ok: true, files: [{ edits: 1 }], left: [] });
  expect(readFileSync(join(folder, "again.ts"), "utf8")).toBe(
    file(`    for (const k of tl.range(0, K)) {
      sum.value = sum.value.add(tl.load(x.at(i, k)));
    }`),
  );
});

test("nested operators are mended at once", async () => {
  const wrong = file("    sum.value = tl.load(x.at(i * 2 + i, (i + 1) * i)) * sum.value + i;");
  const { report } = await ran<FixReport>(fix, "nested.ts", wrong);
  expect(report).toMatchObject({ ok: true, files: [{ edits: 1 }], left: [] });
  expect(readFileSync(join(folder, "nested.ts"), "utf8")).toBe(
    file("    sum.value = tl.load(x.at(i.mul(2).add(i), i.add(1).mul(i))).mul(sum.value).add(i);"),
  );
});

/** The file after all that `fix` mends, one message after the other. */
async function mended(name: string, wrong: string): Promise<string> {
  let text = file(wrong);
  for (let round = 0; round < 20; round++) {
    const path = `${round}-${name}`;
    const { report } = await ran<FixReport>(fix, path, text);
    text = readFileSync(join(folder, path), "utf8");
    if (report.files.length === 0) break;
  }
  return text;
}

test("methods get no parentheses that they do not need", async () => {
  const wrong =
    "    sum.value = ((i * 2) + i) * (i - 1) + -(i % 3) + tl.where(i >= 0 && i < N, 1, 2) + (tl.load(x.at(i, 0))) * 2;";
  expect(await mended("nested.ts", wrong)).toBe(
    file(
      "    sum.value = i.mul(2).add(i).mul(i.sub(1)).add(i.mod(3).neg()).add(tl.where(i.ge(0).and(i.lt(N)), 1, 2)).add(tl.load(x.at(i, 0)).mul(2));",
    ),
  );
});

test("a misspelt option gets the name that was meant", async () => {
  const wrong = `    for (const k of tl.range(0, K, 1, { numStage: 2 })) {
      const other = 0;
      const loaded = tl.load(x.ptr.add(i.mul(K).add(k)), { mask: i.lt(K), othr: 0, cacheModifer: ".cg" });
      sum.value = sum.value.add(tl.load(x.ptr.add(i), { mask: i.lt(K), default: other }), loaded);
    }`;
  expect(await mended("options.ts", wrong)).toBe(
    file(
      wrong
        .replace("numStage:", "numStages:")
        .replace("othr", "other")
        .replace("cacheModifer", "cacheModifier")
        .replace("default:", "other:"),
    ),
  );
});

test("an option that may be one of two, or takes another value, is left to the author", async () => {
  for (const option of ["allowTf32: false", "color: 1"]) {
    const wrong = `    sum.value = sum.value.add(tl.sum(tl.dot(tl.load(x.at(i, i)), tl.load(x.at(i, i)), { ${option} }), 1));`;
    expect(await mended("left-options.ts", wrong)).toBe(file(wrong));
  }
});

test("state that stands for its value is read", async () => {
  const wrong = `    const more = tl.mut(sum);
    const shifts = tl.mut(0);
    more.value = sum;
    const one = sum.add(1).mul(more);
    const two = tl.exp(one.add(sum, more));
    const loaded = tl.load(x.ptr.add(i), { mask: i.lt(K), other: sum as never });
    for (const k of tl.range(shifts, K)) sum.value = tl.where(i.lt(k), more, two).add(loaded);
    tl.when(shifts.eq(0), () => {
      sum.value = sum.exp();
    });`;
  expect(await mended("state.ts", wrong)).toBe(
    file(`    const more = tl.mut(sum.value);
    const shifts = tl.mut(0);
    more.value = sum.value;
    const one = sum.value.add(1).mul(more.value);
    const two = tl.exp(one.add(sum.value, more.value));
    const loaded = tl.load(x.ptr.add(i), { mask: i.lt(K), other: sum.value as never });
    for (const k of tl.range(shifts.value, K)) sum.value = tl.where(i.lt(k), more.value, two).add(loaded);
    tl.when(shifts.value.eq(0), () => {
      sum.value = sum.value.exp();
    });`),
  );
});

test("state is read in the call that it is given to, not where a function passes on what it gets", async () => {
  const wrong = `    const twice = (value: typeof sum) => tl.mul(value, 2);
    sum.value = twice(sum);`;
  expect(await mended("passed.ts", wrong)).toBe(file(wrong));
});

test("what has no edit stays and is reported", async () => {
  const wrong = file("    sum.value = tl.load(x.at(i / 2, 0));");
  const { code, report } = await ran<FixReport>(fix, "left.ts", wrong);
  expect(code).toBe(1);
  expect(report).toMatchObject({ ok: false, files: [], left: [{ code: "hidden-coercion" }] });
  expect(readFileSync(join(folder, "left.ts"), "utf8")).toBe(wrong);
});

test("a report of check has the remedy beside the sentence", async () => {
  const { report } = await ran<CheckReport>(check, "check.ts", file("    sum.value = tl.load(x.at(i, 0)) + 1;"));
  expect(report.kernels[0]!.diagnostics[0]).toMatchObject({
    code: "hidden-coercion",
    at: { line: 12 },
    remedy: "write tl.load(x.at(i, 0)).add(1)",
    edit: { text: "tl.load(x.at(i, 0)).add(1)" },
  });
});

test("of edits that overlap the outer one is applied, and the text around them is kept", async () => {
  const at = (column: number) => ({ file: "a.ts", line: 2, column });
  const edits = [
    { at: at(3), end: at(4), text: "inner" },
    { at: at(1), end: at(6), text: "outer" },
    { at: at(8), end: at(9), text: "!" },
  ];
  expect(await applyEdits("a\nbcdef gh\n", edits)).toEqual({ text: "a\nouter g!\n", applied: 2 });
});
