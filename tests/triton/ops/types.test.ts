/**
 * The type that our rules give a call is the type that Triton gives it: for every call that they allow, over all dtypes
 * and pairs of dtypes and over ranks 0 to 5, in both versions. Triton types only, so thousands of calls are cheap.
 */
import { describe, expect, test } from "vitest";
import { dtypeNames } from "../../../src/types/dtype.js";
import { sampleCases, sampledTests } from "../../support/sampled-tests.js";
import { requirePython, type CaseError, runScript } from "../../support/python.js";
import { sourcesOfOp, typeCase, typesModule, type TypeCase } from "./harness.js";
import { type Operand, operandsOf, type Sample, samples } from "./samples.js";

sampledTests("types of ops in Triton", "src/rules");

const SHAPES = [[], [1], [8], [4, 8], [4, 1], [2, 4, 8], [2, 2, 2, 4, 2]];
/** Ops of three operands of which two are promoted. */
const SELECTS = new Set(["where", "clamp", "fma"]);

/** The operands of a sample in all dtypes, their shapes kept. */
function inAllDTypes(sample: Sample, operands: readonly Operand[]): Operand[][] {
  const one = dtypeNames.map((dtype) => operands.map((operand) => ({ ...operand, dtype })));
  if (operands.length < 2 || sample.op.startsWith("libdevice")) return one;
  const [first, second] = sample.op === "where" ? [1, 2] : [0, 1];
  if (operands.length > 2 && !SELECTS.has(sample.op)) return one;
  return dtypeNames.flatMap((a) =>
    dtypeNames.map((b) =>
      operands.map((operand, i) =>
        i === first ? { ...operand, dtype: a } : i === second ? { ...operand, dtype: b } : operand,
      ),
    ),
  );
}

/** The same in all shapes, each operand's its own where there are two. */
function inAllShapes(operands: readonly Operand[]): Operand[][] {
  if (operands.length !== 2) return SHAPES.map((shape) => operands.map((operand) => ({ ...operand, shape })));
  return SHAPES.flatMap((a) =>
    SHAPES.map((b) => [
      { ...operands[0]!, shape: a },
      { ...operands[1]!, shape: b },
    ]),
  );
}

/** Samples that differ in their operands only make one call twice: a key for what is called with which types. */
const keyOf = ({ apply }: Sample, { id, results }: TypeCase) =>
  [id, apply, ...results.map(({ dtype, shape }) => `${String(dtype)}[${shape.join()}]`)].join(" ");

function everything(): { readonly legal: readonly TypeCase[]; readonly refused: number } {
  const legal = new Map<string, TypeCase>();
  let refused = 0;
  for (const sample of samples) {
    const alternatives = sample.operands.split(" | ").map(operandsOf);
    const first = alternatives[0]!;
    const all = [...alternatives, ...inAllDTypes(sample, first), ...inAllShapes(first)];
    for (const operands of all) {
      const found = typeCase(sample, operands);
      if (found) legal.set(keyOf(sample, found), found);
      else refused++;
    }
  }
  return { legal: [...legal.values()], refused };
}

const BATCH = 64;
const { legal, refused } = everything();
const python36 = process.env.TILESCRIPT_PYTHON36;

function batches(of: readonly TypeCase[], size: number): TypeCase[][] {
  return (["cuda", "hip"] as const).flatMap((backend) => {
    const these = of.filter((given) => given.backend === backend);
    return Array.from({ length: Math.ceil(these.length / size) }, (_, i) => these.slice(i * size, (i + 1) * size));
  });
}

/** Calls that Triton refuses or types otherwise: batches first, then each call of those that are wrong. */
async function wrong(python: string, of: readonly TypeCase[], size = BATCH): Promise<string[]> {
  if (of.length === 0) return [];
  const parts = batches(of, size);
  const lines = parts.map((part, i) => ({ id: String(i), backend: part[0]!.backend, module: typesModule(part) }));
  const reasons = await runScript<Record<string, CaseError>>(python, new URL("types_cases.py", import.meta.url), lines);
  const suspects = parts.flatMap((part, i) => (String(i) in reasons ? part : []));
  if (size > 1) return wrong(python, suspects, 1);
  return parts.flatMap(([only], i) => (String(i) in reasons ? [`${only!.id}: ${reasons[i]!.error}`] : []));
}

/** The calls that this run asks about. */
const drawnOf = (calls: readonly TypeCase[], version: string) =>
  sampleCases("typed calls", calls, {
    key: ({ id }) => `${id} ${version}`,
    sources: ({ id }) => sourcesOfOp(id.split(" ")[0]!),
    perRun: 1200,
  });

describe("types of results", { timeout: 600_000 }, () => {
  test("installed Triton", async () => {
    console.log(`${legal.length} calls typed, ${refused} refused by our rules`);
    expect(legal.length).toBeGreaterThan(4000);
    expect(await wrong(await requirePython(), drawnOf(legal, "3.9"))).toEqual([]);
  });
  test.skipIf(!python36)("Triton 3.6", async () => {
    const these = legal.filter(({ since39 }) => !since39);
    console.log(`${these.length} calls typed`);
    expect(await wrong(python36!, drawnOf(these, "3.6"))).toEqual([]);
  });
});
