/**
 * The test cases to measure: declared shapes, shapes of the command line, or a sweep, each with every dtype and flag.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import { type TestCase, type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { configsOf, type Selection } from "./selection.js";
import { acceptedByConfig } from "./shapes.js";
import { variantsFor } from "./variants.js";
import { UsageError } from "../system/errors.js";

/** A range of values for one size or for several sizes together: `M,N,K=256..8192:x2`. */
export interface Sweep {
  readonly names: readonly string[];
  readonly values: readonly number[];
}

export interface BenchmarkCase {
  readonly selection: Selection;
  /** Replaces the declared shapes. */
  readonly shapes?: readonly Pick<Selection, "sizes" | "scalars" | "constexprs">[];
  readonly sweep?: Sweep;
}

/** The limit of points. A longer sweep is probably a mistake. */
const MAX_POINTS = 200;

/** Parses `256..8192:x2` or `256..4096:+256`; both bounds are inclusive. */
export function parseSweep(text: string): Sweep {
  const match = /^([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)=(\d+)\.\.(\d+):([x+])(\d+)$/.exec(text.replaceAll(" ", ""));
  if (!match) throw new UsageError(`--sweep: ${text} is not a sweep; write M=256..8192:x2, M=256..4096:+256 or M,N=…`);
  const [, names = "", from, to, operator, by] = match;
  const [low, high, step] = [Number(from), Number(to), Number(by)];
  if (low < 1 || high < low) throw new UsageError(`--sweep: ${from}..${to} is empty; write the smaller size first`);
  if (step < (operator === "x" ? 2 : 1))
    throw new UsageError(`--sweep: ${operator}${by} never reaches the end; write x2 or more, or +1 or more`);
  const values: number[] = [];
  for (let value = low; value <= high; value = operator === "x" ? value * step : value + step) values.push(value);
  if (values.length > MAX_POINTS)
    throw new UsageError(`--sweep: ${text} has ${values.length} points; the most is ${MAX_POINTS}, use a larger step`);
  return { names: names.split(","), values };
}

/** Returns the test cases, each with a config that accepts it, and messages about cases that no config accepts. */
export function measuredCases(
  kernel: CompiledKernel,
  { selection, shapes, sweep }: BenchmarkCase,
): { readonly cases: readonly TestCase[]; readonly skipped: readonly string[] } {
  const skipped = new Set<string>();
  const cases = new Map<string, TestCase>();
  const configs = configsOf(kernel, selection);
  for (const { sizes, args } of shapesToMeasure(kernel, shapes, sweep)) {
    for (const variant of variantsFor(kernel, selection)) {
      const shape = { label: "measured", sizes, layouts: [], ...(args && { args }) };
      const { accepted, refusal } = acceptedByConfig(kernel, shape, variant, configs, selection.seed);
      const [first] = accepted;
      if (!first) skipped.add(`${formatSizes(sizes)}: the kernel refuses it (${refusal})`);
      // Variants that differ only in values that the shape fixes are equal.
      else cases.set(cacheKey({ ...first, config: 0 }), first);
    }
  }
  return { cases: [...cases.values()], skipped: [...skipped] };
}

interface Shape {
  readonly sizes: Readonly<Record<string, number>>;
  readonly args?: Readonly<Record<string, number | boolean | string>>;
}

function shapesToMeasure(kernel: CompiledKernel, shapes: BenchmarkCase["shapes"], sweep: Sweep | undefined): Shape[] {
  const { name } = kernel.signature;
  const declared = kernel.shapes.map((sizes, i): Shape => ({ sizes, args: kernel.arguments?.[i] ?? {} }));
  const base = shapes
    ? shapes.map(({ sizes = {}, scalars, constexprs }): Shape => ({ sizes, args: { ...scalars, ...constexprs } }))
    : declared;
  if (sweep) {
    const names = kernel.signature.sizes;
    const unknown = sweep.names.find((axis) => !names.includes(axis));
    if (unknown) throw new UsageError(`--sweep: there is no size ${unknown}; the sizes are ${names.join(", ")}`);
    const first = base[0] ?? { sizes: {} };
    const missing = names.filter((axis) => !sweep.names.includes(axis) && !(axis in first.sizes));
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
