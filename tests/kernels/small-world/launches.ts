/** The launches of a kernel of the small world: all of them if they are few, or sizes at limits and random ones. */
import type { TensorData, TestCase } from "../../../src/compiled/compiled-kernel.js";
import { type ConstexprParam, isValue, paramsOf, type ScalarParam } from "../../../src/ir/nodes.js";
import { rangeOf } from "../../../src/ir/walk.js";
import { isInt, isUnsigned, members } from "../../../src/types/dtype.js";
import { tileSizes } from "../../../src/analysis/dtype-bindings.js";
import type { SmallKernel } from "./small-kernel.js";

export type Draw = (below: number) => number;

/** A size, and the tensors with it, each as a constant factor and the other sizes. */
interface Size {
  readonly name: string;
  readonly isPower: boolean;
  readonly shapes: readonly { readonly factor: number; readonly others: readonly string[] }[];
}

type Sizes = Readonly<Record<string, number>>;

export class Launches {
  readonly #sizes: readonly Size[];
  readonly #blocks: readonly number[];

  constructor(readonly kernel: SmallKernel) {
    const { ir } = kernel;
    const names = new Map(ir.params.map((param) => [param.value, param.name] as const));
    const shapes = paramsOf(ir, "tensor").map(({ dims }) => ({
      factor: dims.reduce<number>((total, dim) => total * ("value" in dim ? Number(dim.value) || 1 : 1), 1),
      names: dims.flatMap((dim) => (isValue(dim) ? (names.get(dim) ?? []) : [])),
    }));
    const powers = new Set(tileSizes(ir).map(({ param }) => param.name));
    const free = [
      ...paramsOf(ir, "size").filter(({ derived }) => !derived),
      ...paramsOf(ir, "constexpr").filter(({ from }) => from === "dim"),
    ];
    this.#sizes = free.map(({ name }) => ({
      name,
      isPower: powers.has(name),
      shapes: shapes.flatMap(({ factor, names }) =>
        names.includes(name) ? [{ factor, others: names.toSpliced(names.indexOf(name), 1) }] : [],
      ),
    }));
    this.#blocks = [
      ...new Set(
        ir.tuning.configs.flatMap(({ values }) => Object.values(values).filter((value) => typeof value === "number")),
      ),
    ];
  }

  /** The largest size for which no tensor is larger than int32 addresses, if sizes without a value are 1. */
  #most({ shapes }: Size, sizes: Sizes): number {
    const { int32Reach, int32End } = this.kernel.ir.limits;
    const extents = shapes.map(({ factor, others }) =>
      others.reduce((total, name) => total * (sizes[name] || 1), factor),
    );
    return Math.min(int32End - 1, ...extents.map((extent) => Math.floor((int32Reach + 1) / extent)));
  }

  /** All assignments of sizes that are not 0. Undefined if there are more than `limit`. */
  #assignments(limit: number): readonly Sizes[] | undefined {
    let assignments: readonly Sizes[] = [{}];
    for (const size of this.#sizes) {
      const next: Sizes[] = [];
      for (const sizes of assignments)
        for (let value = 1; value <= this.#most(size, sizes); value = size.isPower ? value * 2 : value + 1)
          if (next.push({ ...sizes, [size.name]: value }) > limit) return undefined;
      assignments = next;
    }
    return assignments;
  }

  /** Every launch with sizes that are not 0, if they are at most `limit` and only sizes and flags decide. */
  all(limit: number): readonly TestCase[] | undefined {
    const { ir } = this.kernel;
    const isOpen = ({ of, from, compute, choices }: ConstexprParam) =>
      from === "argument" && !compute && of !== "bool" && choices === undefined;
    if (paramsOf(ir, "scalar").some(({ dtype }) => members(dtype).every(isInt))) return undefined;
    if (paramsOf(ir, "constexpr").some(isOpen)) return undefined;
    const rest = this.#flagCases();
    const assignments = this.#assignments(limit / rest.length);
    return assignments?.flatMap((sizes, i) => rest.map((each) => ({ ...each, sizes, seed: i })));
  }

  /** Each combination of configs, optional tensors and flags. */
  #flagCases(): readonly TestCase[] {
    const { ir } = this.kernel;
    let cases: readonly TestCase[] = ir.tuning.configs.map((_, config) => ({
      sizes: {},
      config,
      seed: 0,
      absent: [],
      ...this.#numbers(() => 0),
    }));
    for (const { name, given } of [...paramsOf(ir, "tensor"), ...paramsOf(ir, "pointer")])
      if (given) cases = cases.flatMap((each) => [each, { ...each, absent: [...(each.absent ?? []), name] }]);
    for (const { name, of, from, compute } of paramsOf(ir, "constexpr"))
      if (from === "argument" && of === "bool" && !compute)
        cases = cases.flatMap((each) =>
          [true, false].map((value) => ({ ...each, constexprs: { ...each.constexprs, [name]: value } })),
        );
    return cases;
  }

  /** A launch whose sizes are mostly at limits: of blocks, and of int32. */
  draw(draw: Draw, seed: number): TestCase {
    const { ir } = this.kernel;
    const sizes: Record<string, number> = {};
    const order = this.#sizes.map((size) => ({ size, at: draw(1000) })).toSorted((x, y) => x.at - y.at);
    for (const { size } of order) sizes[size.name] = this.#drawSize(size, this.#most(size, sizes), draw);
    const optional = [...paramsOf(ir, "tensor"), ...paramsOf(ir, "pointer")].filter(({ given }) => given);
    return {
      sizes,
      config: draw(ir.tuning.configs.length),
      absent: optional.flatMap(({ name }) => (draw(2) === 0 ? [name] : [])),
      seed,
      ...this.#numbers(draw),
      ...this.#layouts(draw),
      gpu: { multiProcessorCount: 1 + draw(6) },
    };
  }

  #drawSize({ isPower }: Size, most: number, draw: Draw): number {
    if (isPower) return 2 ** draw(1 + Math.floor(Math.log2(Math.max(1, most))));
    const block = this.#blocks[draw(this.#blocks.length)] ?? 4;
    const choices = [
      () => most - draw(3),
      () => block * (1 + draw(4)) + draw(3) - 1,
      () => block * draw(1 + Math.floor(most / block)),
      () => draw(4),
      () => Math.floor(2 ** (Math.log2(1 + most) * (draw(1001) / 1000))),
      () => draw(most + 1),
    ];
    return Math.max(0, Math.min(most, choices[draw(choices.length)]!()));
  }

  #layouts(draw: Draw): Pick<TestCase, "layouts"> {
    if (draw(4) > 0) return {};
    const layouts = ["contiguous", "transposed", "sliced", "offset", "expanded"] as const;
    const drawn = paramsOf(this.kernel.ir, "tensor").map(({ name, role }) => {
      const layout = layouts[draw(layouts.length)]!;
      return [name, role !== "in" && layout === "expanded" ? "contiguous" : layout] as const;
    });
    return { layouts: Object.fromEntries(drawn) };
  }

  /** Dtypes, scalars and constexprs. */
  #numbers(draw: Draw): Pick<TestCase, "dtypes" | "scalars" | "constexprs"> {
    const { ir, signature } = this.kernel;
    const pick = <T>(values: readonly T[]): T => values[draw(values.length)]!;
    const constexprs = paramsOf(ir, "constexpr").filter(
      ({ from, compute, variable }) => from === "argument" && !compute && !variable,
    );
    return {
      dtypes: Object.fromEntries(Object.entries(signature.dtypes).map(([name, names]) => [name, pick(names)])),
      scalars: Object.fromEntries(paramsOf(ir, "scalar").map((param) => [param.name, this.#scalar(param, draw)])),
      constexprs: Object.fromEntries(
        constexprs.map(({ name, of, choices, default: preset }) => {
          if (choices) return [name, pick(choices)];
          if (of === "bool") return [name, draw(2) === 0];
          return [name, of === "int" ? this.#integer(false, draw) : Number(preset ?? 1)];
        }),
      ),
    };
  }

  #scalar({ dtype, default: preset }: ScalarParam, draw: Draw): number {
    const [first] = members(dtype);
    if (first === undefined || !isInt(first)) return Number(preset ?? 0.5);
    if (first === "int1") return draw(2);
    return this.#integer(!isUnsigned(first), draw);
  }

  #integer(isSigned: boolean, draw: Draw): number {
    const { int32End: end } = this.kernel.ir.limits;
    const block = this.#blocks[draw(this.#blocks.length)] ?? 4;
    const choices = [
      () => draw(5),
      () => end - 1 - draw(3),
      () => draw(end),
      () => block * (1 + draw(4)),
      () => 2 ** draw(6),
    ];
    const value = Math.min(end - 1, choices[draw(choices.length)]!());
    return isSigned && draw(4) === 0 ? -value - draw(2) : value;
  }

  /** Integers of which nothing is declared, over all of int32 and at its ends. Undefined if an input is no int32. */
  inputs(testCase: TestCase, draw: Draw): Record<string, TensorData> | undefined {
    const { ir } = this.kernel;
    const { int32End: end } = ir.limits;
    const inputs = this.kernel.inputs(testCase);
    const isSpread = draw(2) === 0;
    for (const param of paramsOf(ir, "tensor")) {
      const input = inputs[param.name];
      if (input?.dtype !== "int32") continue;
      const isFree = rangeOf(param) === undefined && !(param.name in ir.inputs);
      if (isFree && isSpread && testCase.layouts?.[param.name] !== "expanded")
        for (let i = 0; i < input.data.length; i++)
          input.data[i] = draw(3) === 0 ? [end - 1 - draw(2), -end + draw(2)][draw(2)]! : draw(2 * end) - end;
      if ((input.data as Int32Array).some((value) => value < -end || value >= end)) return undefined;
    }
    return inputs;
  }
}
