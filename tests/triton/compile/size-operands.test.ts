/**
 * Every op that takes a scalar compiles with a size as that scalar, whatever its value. Triton passes a size of 1 as a
 * constant, which has no methods. `TILESCRIPT_PYTHON36` names a Python with Triton 3.6.
 */
import { expect, test } from "vitest";
import { sizeOperands } from "../../support/fixtures/size-operands.js";
import { python36, requirePython } from "../../support/python.js";
import { compileAll, jobsOf, sm90 } from "./jobs.js";

async function errorsOf(python: string): Promise<Readonly<Record<string, string>>> {
  const shapes = ["ones", "odd"] as const;
  const cases = sizeOperands.flatMap(({ name, kernel }) =>
    shapes.map((shape) => ({ name: `${name}, ${shape}`, kernel, shape })),
  );
  const compiled = await compileAll(
    python,
    cases.map(({ kernel, shape }) => jobsOf(kernel, sm90, shape)[0]!),
  );
  return Object.fromEntries(compiled.flatMap(({ error }, i) => (error === undefined ? [] : [[cases[i]!.name, error]])));
}

test("sizes as operands", { timeout: 300_000 }, async () => {
  expect(await errorsOf(await requirePython())).toEqual({});
});

test.skipIf(python36 === undefined)("sizes as operands in Triton 3.6", { timeout: 300_000 }, async () => {
  // Before 3.9, Triton clamps floats only.
  expect(Object.keys(await errorsOf(python36!))).toEqual(["clamp, ones", "clamp, odd"]);
});
