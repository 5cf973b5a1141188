/** What to compile: every config with every dtype, flag, choice and declared number, and inputs in each layout. */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase, CompiledKernel, Layout } from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase } from "./valid-cases.js";
import { withAndWithout } from "./cases.js";
import { configsOf, type Selection } from "./selection.js";
import { caseOf, constexprDims, declaredShapes, givenShape, type Shape, usualShapes } from "./shapes.js";
import { type Variant, variantsFor } from "./variants.js";

/**
 * The cases to compile, each at the first sizes that the kernel accepts; the author's sizes are tried before ours. Dims
 * that are constexprs take each of the author's values.
 */
export function compileCases(
  kernel: CompiledKernel,
  selection: Selection,
  layouts: readonly Layout[] = ["contiguous"],
): { readonly cases: readonly TestCase[]; readonly left: readonly string[] } {
  const { signature } = kernel;
  const cases: TestCase[] = [];
  const left = new Set<string>();
  for (const config of configsOf(kernel, selection)) {
    for (const variant of variantsFor(kernel, selection)) {
      for (const shapes of shapesByDims(kernel, selection)) {
        for (const layout of layouts) {
          const tried = preferred(shapes, variant).map(({ sizes, given = {} }) =>
            // The variant decides constexprs, so that each value is compiled whichever a shape has.
            caseOf(
              kernel,
              { sizes, given: { ...given, ...variant.constexprs } },
              variant,
              layout,
              config,
              selection.seed,
            ),
          );
          const at = tried.find((each) => kernel.refusal(each) === undefined) ?? near(kernel, tried[0]!, selection);
          if (!at) left.add(`config ${config}: the kernel refuses it (${kernel.refusal(tried[0]!)})`);
          else if (at.layouts && Object.keys(at.layouts).length === 0)
            left.add(`${layout}: no input can have this layout`);
          else cases.push(...withAndWithout([...signature.tensors, ...signature.pointers], at, true, 0));
        }
      }
    }
  }
  return { cases, left: [...left] };
}

/** The shapes to try, one list for each of the author's values of dims that are constexprs. */
function shapesByDims(kernel: CompiledKernel, selection: Selection): readonly (readonly Shape[])[] {
  if (selection.sizes) return [[givenShape(selection, kernel)]];
  const declared = declaredShapes(kernel);
  const names = constexprDims(kernel);
  const dimsOf = ({ sizes }: Shape) => Object.fromEntries(names.map((name) => [name, sizes[name]!] as const));
  const keys = new Set(declared.map((shape) => JSON.stringify(dimsOf(shape))));
  if (keys.size === 0) return [usualShapes(kernel)];
  return [...keys].map((key) => {
    const shapes = declared.filter((shape) => JSON.stringify(dimsOf(shape)) === key);
    return [...shapes, ...usualShapes(kernel, dimsOf(shapes[0]!))];
  });
}

/** The shapes whose author gives the variant's constexprs with them come first. */
function preferred(shapes: readonly Shape[], { constexprs }: Variant): readonly Shape[] {
  const unlike = ({ given = {} }: Shape): number =>
    Object.entries(constexprs).filter(([name, value]) => name in given && given[name] !== value).length;
  return shapes.toSorted((a, b) => unlike(a) - unlike(b));
}

/** A case with sizes near those that the kernel refuses; the rest, which decides what is compiled, stays. */
function near(kernel: CompiledKernel, at: TestCase, { sizes }: Selection): TestCase | undefined {
  const base = sizes ? undefined : acceptedCase(kernel, at.config);
  if (!base || "refusal" in base) return undefined;
  const found = nearestAcceptedCase(kernel, at, base.at, (each) => kernel.refusal(each) === undefined);
  const rest = ({ dtypes, constexprs, layouts }: TestCase): string => cacheKey([dtypes, constexprs, layouts]);
  return rest(found) === rest(at) ? found : undefined;
}
