/** `tilescript explain`, and where runs tell of it. */
import { expect, test } from "vitest";
import { runBinary } from "../../../src/runtime/cli/cli.js";
import { codesByArea } from "../../../src/diagnostics/explanations/index.js";
import type { ExplainReport } from "../../../src/runtime/report/reports.js";

async function explain(...args: readonly string[]) {
  let [out, err] = ["", ""];
  const streams = { out: (text: string) => (out += text), err: (text: string) => (err += text), color: false };
  const code = await runBinary(["explain", ...args], streams as unknown as Parameters<typeof runBinary>[1]);
  return { code, out, err };
}

test("a code is explained with the lines that fail, what they say, and the mended lines", async () => {
  const { code, out } = await explain("state-as-value");
  expect(code).toBe(0);
  expect(out).toMatch(/^state-as-value\n`tl\.mut` is a variable/);
  expect(out.indexOf(".add(sum)")).toBeLessThan(out.indexOf("this is state; read it with .value"));
  expect(out.indexOf("this is state; read it with .value")).toBeLessThan(out.indexOf(".add(sum.value)"));
});

test("without a code, all are listed", async () => {
  const { out } = await explain();
  for (const code of Object.values(codesByArea).flat()) expect(out).toContain(`  ${code} `);
});

test("programs get whole files", async () => {
  const { out } = await explain("grid-axes", "--json");
  const { codes } = JSON.parse(out) as ExplainReport;
  expect(codes).toHaveLength(1);
  expect(codes[0]).toMatchObject({ code: "grid-axes", area: "host", says: expect.stringContaining("4 axes") });
  expect(codes[0]!.fails!.file).toContain("grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK), 1, 1, 1],");
  expect(codes[0]!.passes!.file).toContain("grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK), 1, 1],");
});

test.each([
  ["scop-escape", "there is no code scop-escape; did you mean scope-escape?"],
  ["bounds", "there is no code bounds; `tilescript explain` lists all"],
])("an unknown code, %s", async (asked, message) => {
  expect(await explain(asked)).toEqual({ code: 2, out: "", err: `error usage: ${message}\n` });
});
