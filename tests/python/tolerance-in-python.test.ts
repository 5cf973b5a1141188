/** `verify_kernel.py` judges files that TileScript did not write by the same rule as `src/compiled/tolerance.ts`. */
import { execa } from "execa";
import { expect, test } from "vitest";
import { toleranceOfSum } from "../../src/compiled/tolerance.js";
import { dtypeNames, dtypeTable } from "../../src/types/dtype.js";
import { requirePython } from "../support/python.js";

const script = `
import json, sys
import torch
from tilescript_worker.kernel_file import tolerance_of_sum
cases = json.load(sys.stdin)
print(json.dumps([
    tolerance_of_sum(getattr(torch, case["torch"]), case["terms"], case["way"], case.get("rtol"), case.get("atol"))
    for case in cases
]))
`;
import { fc } from "../support/property.js";

test("both rules give the same tolerances for drawn outputs", { timeout: 60_000 }, async () => {
  const figure = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });
  const drawn = fc.record({
    dtype: fc.constantFrom(...dtypeNames),
    terms: fc.oneof(fc.constantFrom(1, 63, 64, 65), fc.integer({ min: 1, max: 1 << 20 })),
    way: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 0.1, noNaN: true })),
    rtol: figure,
    atol: fc.oneof(figure, fc.double({ min: 1, max: 3, noNaN: true })),
  });
  const cases = fc
    .sample(drawn, { numRuns: 400, seed: 11 })
    .concat(dtypeNames.map((dtype) => ({ dtype, terms: 1000, way: 2 ** -9, rtol: undefined, atol: undefined })))
    .map((each) => ({ ...each, torch: dtypeTable[each.dtype].torch }));
  const { stdout } = await execa(await requirePython(), ["-c", script], {
    input: JSON.stringify(cases),
    env: { PYTHONPATH: new URL("../../python", import.meta.url).pathname },
  });
  const given = JSON.parse(stdout) as object[];
  cases.forEach(({ dtype, terms, way, rtol, atol }, i) => {
    const override = { ...(rtol !== undefined && { rtol }), ...(atol !== undefined && { atol }) };
    expect(given[i], `${dtype} ${terms} ${way}`).toEqual(toleranceOfSum(dtype, terms, way, override));
  });
});
