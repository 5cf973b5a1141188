/**
 * Every op compiles with real Triton, over its dtypes, on each backend that its record names, and on no other; and Triton
 * infers the type that we declare.
 */
import { describe, expect, test } from "vitest";
import { dtypeTargets, type Backend, type Targets } from "../../../src/types/targets.js";
import type { DTypeName } from "../../../src/types/dtype.js";
import { table } from "../../../src/ops/table.js";
import { drawn } from "../../support/drawn.js";
import { requirePython, type CaseError, askScript } from "../../support/python.js";
import { cases, type OpCase, pointerTypes, sourcesOfOp, tritonModule } from "./harness.js";

type Version = "3.6" | "3.9";
type Target = readonly [backend: Backend, arch: number | string, warpSize: number];
const sm90: Target = ["cuda", 90, 32];
const sm100: Target = ["cuda", 100, 32];
const gfx942: Target = ["hip", "gfx942", 64];

const everything = cases({ checks: true });
/** The copy engine of sm_90 moves no rows by their numbers. */
const isHoppers = ({ op }: OpCase) => op !== "descriptorGather" && op !== "descriptorScatter";
const all = everything.filter(isHoppers);

/** Whether a backend of a version of Triton has all that a case needs. */
function isOn(testCase: OpCase, [backend]: Target, version: Version): boolean {
  if (testCase.since39 && version === "3.6") return false;
  const asked: (Targets | undefined)[] = [
    table.find(({ name }) => name === testCase.op)?.needs.targets,
    ...[...testCase.operands, ...testCase.results].map(({ dtype }) => dtypeTargets[dtype as DTypeName]),
  ];
  return asked.every((targets) => {
    const since = targets ? targets[backend] : "3.6";
    return since !== undefined && since <= version;
  });
}

/** What Triton refuses and should not, and what it takes and should not; prints what it refuses rightly. */
async function surprises(python: string, target: Target, version: Version, these = all): Promise<object> {
  const of = drawn("compilations of ops", these, {
    key: ({ id }) => `${id} ${target[1]} ${version}`,
    sources: ({ op }) => sourcesOfOp(op),
  });
  const lines = of.map((testCase) => ({
    id: testCase.id,
    module: tritonModule(testCase),
    params: pointerTypes(testCase),
    target,
  }));
  const reasons = await askScript<Record<string, CaseError>>(
    python,
    new URL("compile_cases.py", import.meta.url),
    lines,
  );
  const [has, lacks] = [true, false].map((wanted) => of.filter((given) => isOn(given, target, version) === wanted));
  const counts = new Map<string, number>();
  for (const { id } of lacks!) {
    const why = reasons[id]?.error.replace(/attribute \W*\w+\W*$/, "attribute …") ?? "nothing";
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const summary = [...counts].map(([why, count]) => `\n  ${count} × ${why}`).join("");
  console.log(`Triton ${version}, ${target[1]}: ${has!.length} calls compile, ${lacks!.length} are refused${summary}`);
  return {
    refused: Object.fromEntries(has!.flatMap(({ id }) => (id in reasons ? [[id, reasons[id]!.error]] : []))),
    taken: lacks!.filter(({ id }) => !(id in reasons)).map(({ id }) => id),
  };
}

const none = { refused: {}, taken: [] };
const python36 = process.env.TILESCRIPT_PYTHON36;
/** Where Blackwell differs from Hopper: its own matrix and copy instructions, and conversions of 8-bit floats. */
const blackwell = everything.filter(
  ({ op, operands, results }) =>
    op.startsWith("dot") ||
    op.startsWith("descriptor") ||
    [...operands, ...results].some(({ dtype }) => String(dtype).startsWith("float8")),
);

describe("installed Triton", { timeout: 600_000 }, () => {
  test("sm_90", async () => expect(await surprises(await requirePython(), sm90, "3.9")).toEqual(none));
  test("gfx942", async () => expect(await surprises(await requirePython(), gfx942, "3.9")).toEqual(none));
  test("sm_100, products, descriptors and 8-bit floats", async () =>
    expect(await surprises(await requirePython(), sm100, "3.9", blackwell)).toEqual(none));
});

describe.skipIf(!python36)("Triton 3.6", { timeout: 600_000 }, () => {
  test("sm_90", async () => expect(await surprises(python36!, sm90, "3.6")).toEqual(none));
  test("gfx942", async () => expect(await surprises(python36!, gfx942, "3.6")).toEqual(none));
  test("sm_100, products, descriptors and 8-bit floats", async () =>
    expect(await surprises(python36!, sm100, "3.6", blackwell)).toEqual(none));
});
