/**
 * Every op compiles with real Triton, over its dtypes, on each backend that its record names, and on no other; and Triton
 * infers the type that we declare.
 */
import { describe, expect, test } from "vitest";
import { type DTypeName, dtypeTargets, type Backend, type Targets } from "../../../src/types/dtype.js";
import { table } from "../../../src/ops/table.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { requirePython, runScript } from "../../support/python.js";
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

/** Each case's module, which all targets compile. */
const modules = new Map<OpCase, string>();
function sharedModule(testCase: OpCase): string {
  const module = modules.get(testCase) ?? tritonModule(testCase);
  modules.set(testCase, module);
  return module;
}

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

/** Calls that one kernel makes together, because each should compile. */
const TOGETHER = 16;

function together(these: readonly OpCase[]): readonly (readonly OpCase[])[] {
  return Array.from({ length: Math.ceil(these.length / TOGETHER) }, (_, i) =>
    these.slice(i * TOGETHER, (i + 1) * TOGETHER),
  );
}

/** Why Triton refuses each case that it refuses. */
async function refusals(
  python: string,
  target: Target,
  groups: readonly (readonly OpCase[])[],
  moduleOf = sharedModule,
): Promise<Readonly<Record<string, string>>> {
  const lines = groups.map((group, i) => ({
    id: `kernel ${i}`,
    module: "",
    parts: group.map((each) => ({ id: each.id, module: moduleOf(each), params: pointerTypes(each) })),
    target,
  }));
  const script = new URL("compile_cases.py", import.meta.url);
  return Object.assign({}, ...Object.values(await runScript<Record<string, object>>(python, script, lines))) as Record<
    string,
    string
  >;
}

/** The calls that a full run compiles for one target. */
const PER_RUN = 320;

/** What Triton refuses and should not, and what it takes and should not; prints what it refuses rightly. */
async function surprises(
  python: string,
  target: Target,
  version: Version,
  { these = all, perRun = PER_RUN }: { readonly these?: readonly OpCase[]; readonly perRun?: number } = {},
): Promise<object> {
  const of = sampleCases("compilations of ops", these, {
    key: ({ id }) => `${id} ${target[1]} ${version}`,
    sources: ({ op }) => sourcesOfOp(op),
    perRun,
  });
  const [has, lacks] = [true, false].map((wanted) => of.filter((given) => isOn(given, target, version) === wanted));
  const reasons = await refusals(python, target, [...together(has!), ...lacks!.map((each) => [each])]);
  const counts = new Map<string, number>();
  for (const { id } of lacks!) {
    const why = reasons[id]?.replace(/attribute \W*\w+\W*$/, "attribute …") ?? "nothing";
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  const summary = [...counts].map(([why, count]) => `\n  ${count} × ${why}`).join("");
  console.log(`Triton ${version}, ${target[1]}: ${has!.length} calls compile, ${lacks!.length} are refused${summary}`);
  return {
    refused: Object.fromEntries(Object.entries(reasons).filter(([id]) => !lacks!.some((each) => each.id === id))),
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
  test("a call that does not compile is named among those that do", async () => {
    const group = all.slice(0, 3);
    const wrong = (each: OpCase) =>
      each === group[1]
        ? sharedModule(each).replace(/declared\((\w+), tl\.\w+/, "declared($1, tl.int1")
        : sharedModule(each);
    const found = await refusals(await requirePython(), sm90, [group], wrong);
    expect(found).toEqual({ [group[1]!.id]: expect.stringContaining("dtype") });
  });
  test("sm_90", async () => expect(await surprises(await requirePython(), sm90, "3.9")).toEqual(none));
  test("gfx942", async () => expect(await surprises(await requirePython(), gfx942, "3.9")).toEqual(none));
  test("sm_100, products, descriptors and 8-bit floats", async () =>
    expect(await surprises(await requirePython(), sm100, "3.9", { these: blackwell })).toEqual(none));
});

describe.skipIf(!python36)("Triton 3.6", { timeout: 600_000 }, () => {
  test("sm_90", async () => expect(await surprises(python36!, sm90, "3.6")).toEqual(none));
  test("gfx942", async () => expect(await surprises(python36!, gfx942, "3.6", { perRun: PER_RUN / 2 })).toEqual(none));
  test("sm_100, products, descriptors and 8-bit floats", async () =>
    expect(await surprises(python36!, sm100, "3.6", { these: blackwell })).toEqual(none));
});
