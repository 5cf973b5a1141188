/**
 * The test cases to compile: every config with every dtype, flag, choice and declared number, and each input layout.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase, CompiledKernel, Layout } from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase } from "./valid-cases.js";
import { withOptionalVariants } from "./cases.js";
import { configsOf, type Selection } from "./selection.js";
import { caseOf, constexprDims, declaredShapes, givenShape, type Shape, usualShapes } from "./shapes.js";
import { type Variant, variantsFor } from "./variants.js";

/**
 * Returns the test cases to compile, each with the first sizes that the kernel accepts. Declared sizes are tried before
 * generated ones. Dims that are constexprs take every declared value.
 */
export function compileCases(
  kernel: CompiledKernel,
  selection: Selection,
  layouts: readonly Layout[] = ["contiguous"],
): { readonly cases: readonly TestCase[]; readonly skipped: readonly string[] } {
  const { signature } = kernel;
  const cases: TestCase[] = [];
  const skipped = new Set<string>();
  for (const config of configsOf(kernel, selection)) {
    for (const variant of variantsFor(kernel, selection)) {
      for (const shapes of shapesByDims(kernel, selection)) {
        for (const layout of layouts) {
          const candidates = sortByAgreement(shapes, variant).map(({ sizes, args = {} }) =>
            // The variant overrides the constexprs of the shape, so that each value is compiled.
            caseOf(
              kernel,
              { sizes, args: { ...args, ...variant.constexprs } },
              variant,
              layout,
              config,
              selection.seed,
            ),
          );
          const [first] = candidates;
          const testCase =
            candidates.find((each) => kernel.refusal(each) === undefined) ??
            (first && nearbyCase(kernel, first, selection));
          if (!testCase) skipped.add(`config ${config}: the kernel refuses it (${first && kernel.refusal(first)})`);
          else if (testCase.layouts && Object.keys(testCase.layouts).length === 0)
            skipped.add(`${layout}: no input can have this layout`);
          else cases.push(...withOptionalVariants([...signature.tensors, ...signature.pointers], testCase, true, 0));
        }
      }
    }
  }
  return { cases, skipped: [...skipped] };
}

/** The shapes to try: one list for each declared value of the dims that are constexprs. */
function shapesByDims(kernel: CompiledKernel, selection: Selection): readonly (readonly Shape[])[] {
  if (selection.sizes) return [[givenShape(selection, kernel)]];
  const declared = declaredShapes(kernel);
  const names = constexprDims(kernel);
  const dimsOf = ({ sizes }: Shape) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const size = sizes[name];
        return size === undefined ? [] : [[name, size] as const];
      }),
    );
  const keyOf = (shape: Shape) => cacheKey(dimsOf(shape));
  const dimsByKey = new Map(declared.map((shape) => [keyOf(shape), dimsOf(shape)]));
  if (dimsByKey.size === 0) return [usualShapes(kernel)];
  return [...dimsByKey].map(([key, dims]) => [
    ...declared.filter((shape) => keyOf(shape) === key),
    ...usualShapes(kernel, dims),
  ]);
}

/** Sorts shapes first whose declared constexprs agree with the variant. */
function sortByAgreement(shapes: readonly Shape[], { constexprs }: Variant): readonly Shape[] {
  const conflictCount = ({ args = {} }: Shape): number =>
    Object.entries(constexprs).filter(([name, value]) => name in args && args[name] !== value).length;
  return shapes.toSorted((a, b) => conflictCount(a) - conflictCount(b));
}

/** A test case with accepted sizes near the rejected ones. Fields that affect compilation must stay the same. */
function nearbyCase(kernel: CompiledKernel, testCase: TestCase, { sizes }: Selection): TestCase | undefined {
  const base = sizes ? undefined : acceptedCase(kernel, testCase.config);
  if (!base || "refusal" in base) return undefined;
  const nearest = nearestAcceptedCase(kernel, testCase, base.at, (each) => kernel.refusal(each) === undefined);
  const compileKey = ({ dtypes, constexprs, layouts }: TestCase): string => cacheKey([dtypes, constexprs, layouts]);
  return compileKey(nearest) === compileKey(testCase) ? nearest : undefined;
}
