/** The cases to measure: the author's shapes, those of the command line, or a sweep; each with every dtype and flag. */
import { cacheKey } from "../../compiled/canonical-json.js";
import { type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { configsOf, type Selection } from "./selection.js";
import { caseOf } from "./shapes.js";
import { variantsFor } from "./variants.js";
import { UsageError } from "../system/errors.js";

/** A range of values for one size, or for several together: `M,N,K=256..8192:x2`. */
export interface Sweep {
  readonly names: readonly string[];
  readonly values: readonly number[];
}

export interface BenchmarkCase {
  readonly selection: Selection;
  /** Instead of the author's. */
  readonly shapes?: readonly Pick<Selection, "sizes" | "scalars" | "constexprs">[];
  readonly sweep?: Sweep;
}

/** A sweep of more points is taken for a mistake. */
const MANY_POINTS = 200;

/** The values of `256..8192:x2` or `256..4096:+256`, both ends included. */
export function parseSweep(text: string): Sweep {
  const match = /^([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)=(\d+)\.\.(\d+):([x+])(\d+)$/.exec(text.replaceAll(" ", ""));
  if (!match) throw new UsageError(`--sweep: ${text} is not a sweep; write M=256..8192:x2, M=256..4096:+256 or M,N=…`);
  const [, names, from, to, operator, by] = match;
  const [low, high, step] = [Number(from), Number(to), Number(by)];
  if (low < 1 || high < low) throw new UsageError(`--sweep: ${from}..${to} is empty; write the smaller size first`);
  if (step < (operator === "x" ? 2 : 1))
    throw new UsageError(`--sweep: ${operator}${by} never reaches the end; write x2 or more, or +1 or more`);
  const values: number[] = [];
  for (let value = low; value <= high; value = operator === "x" ? value * step : value + step) values.push(value);
  if (values.length > MANY_POINTS)
    throw new UsageError(`--sweep: ${text} has ${values.length} points; the most is ${MANY_POINTS}, use a larger step`);
  return { names: names!.split(","), values };
}

/** The cases, each with a config that accepts it, and the cases that no config accepts. */
export function measuredCases(
  kernel: CompiledKernel,
  { selection, shapes, sweep }: BenchmarkCase,
): { readonly cases: readonly TestCase[]; readonly left: readonly string[] } {
  const left = new Set<string>();
  const found = new Map<string, TestCase>();
  const configs = configsOf(kernel, selection);
  for (const { sizes, given } of shapesToMeasure(kernel, shapes, sweep)) {
    for (const variant of variantsFor(kernel, selection)) {
      const shape = { label: "measured", sizes, layouts: [], ...(given && { given }) };
      const tried = configs.map((config) => caseOf(kernel, shape, variant, "contiguous", config, selection.seed));
      const at = tried.find((candidate) => kernel.refusal(candidate) === undefined);
      if (!at) left.add(`${formatSizes(sizes)}: the kernel refuses it (${kernel.refusal(tried[0]!)})`);
      // Variants that differ only in what the shape decides are equal.
      else found.set(cacheKey({ ...at, config: 0 }), at);
    }
  }
  return { cases: [...found.values()], left: [...left] };
}

interface Shape {
  readonly sizes: Readonly<Record<string, number>>;
  readonly given?: Readonly<Record<string, number | boolean | string>>;
}

function shapesToMeasure(kernel: CompiledKernel, shapes: BenchmarkCase["shapes"], sweep: Sweep | undefined): Shape[] {
  const { name } = kernel.signature;
  const own = kernel.shapes.map((sizes, i): Shape => ({ sizes, given: kernel.arguments?.[i] ?? {} }));
  const base = shapes
    ? shapes.map(({ sizes = {}, scalars, constexprs }): Shape => ({ sizes, given: { ...scalars, ...constexprs } }))
    : own;
  if (sweep) {
    const names = kernel.signature.sizes;
    const unknown = sweep.names.find((each) => !names.includes(each));
    if (unknown) throw new UsageError(`--sweep: there is no size ${unknown}; the sizes are ${names.join(", ")}`);
    const first = base[0] ?? { sizes: {} };
    const missing = names.filter((each) => !sweep.names.includes(each) && !(each in first.sizes));
    if (missing.length > 0)
      throw new UsageError(`--sweep: ${missing.join(", ")} missing; sweep them too, or give --shapes`);
    return sweep.values.map((value) => ({
      ...first,
      sizes: { ...first.sizes, ...Object.fromEntries(sweep.names.map((each) => [each, value])) },
    }));
  }
  if (base.length === 0)
    throw new UsageError(`${name} has no shapes to measure; give --shapes or --sweep, or list shapes in its spec`);
  return base;
}
