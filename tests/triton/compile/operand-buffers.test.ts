/**
 * The fault "operand-buffer" in Triton's IR for sm_90: a loop with an asynchronous product in flight has fewer buffers
 * of an operand than stages. A change here means that the build's conditions no longer hold. `TILESCRIPT_PYTHON36`
 * names a Python with Triton 3.6.
 */
import { expect, test } from "vitest";
import { bufferCases } from "../../support/fixtures/operand-buffers.js";
import { python36, requirePython } from "../../support/python.js";
import { compileAll, jobsOf, sm90 } from "./jobs.js";

/** The first extent of each allocation that a loop rotates. */
const ALLOCATION = /ttg\.local_alloc[^\n]*-> !ttg\.memdesc<(\d+)x\d+x\d+x/g;
/** A product of an earlier iteration that has not finished. */
const IN_FLIGHT = /warp_group_dot_wait[^\n]*pendings = [1-9]/;

async function short(python: string): Promise<Readonly<Record<string, boolean>>> {
  const jobs = bufferCases.map(({ kernel }) => ({ ...jobsOf(kernel, sm90)[0]!, ttgir: true }));
  const compiled = await compileAll(python, jobs);
  return Object.fromEntries(
    compiled.map(({ error, ttgir }, i) => {
      const { name } = bufferCases[i]!.kernel;
      expect(error, name).toBeUndefined();
      const buffers = [...ttgir!.matchAll(ALLOCATION)].map(([, count]) => Number(count));
      const stages = name === "stages_of_loop" ? 2 : 3;
      return [name, IN_FLIGHT.test(ttgir!) && buffers.some((count) => count < stages)];
    }),
  );
}

const expected = Object.fromEntries(bufferCases.map(({ kernel, isShort }) => [kernel.name, isShort]));

test("operands with too few buffers", { timeout: 300_000 }, async () => {
  expect(await short(await requirePython())).toEqual(expected);
});

test.skipIf(python36 === undefined)("operands with too few buffers in Triton 3.6", { timeout: 300_000 }, async () => {
  expect(await short(python36!)).toEqual(expected);
});
