/**
 * A random kernel as plain data: what `build.ts` makes a kernel of, and fast-check draws and shrinks. Numbers named
 * `pick` choose among the tiles that exist at that point, counted back from the latest, so any recipe means something
 * and dropping a step leaves a recipe.
 */
import fc from "fast-check";
import { type DTypeName, dtypeTargets } from "../../../src/types/dtype.js";
import { operandsOf, samples } from "../../triton/ops/samples.js";

/** A tensor that the kernel reads, and how it addresses it. */
export interface Input {
  readonly dtype: DTypeName;
  /** Of the tile. `BLOCK` is a constexpr of 16. */
  readonly shape: readonly (number | "BLOCK")[];
  /**
   * `exact`: a view of a tensor of the tile's shape; `masked`: of a smaller one, whose dims are sizes; `programs`: with
   * a leading axis that the program's id picks; `pointer`: raw addresses with a mask; `descriptor`: a block of a tensor
   * descriptor, or `exact` where there is none.
   */
  readonly form: "exact" | "masked" | "programs" | "pointer" | "descriptor";
  readonly options: LoadOptions;
}
export interface LoadOptions {
  readonly cacheModifier?: ".ca" | ".cg" | undefined;
  readonly evictionPolicy?: "evict_first" | "evict_last" | undefined;
  readonly volatile?: boolean | undefined;
  /** Masked lanes hold 1 instead of 0. */
  readonly other?: boolean | undefined;
}

/** How freely an op's operands are taken: as they are, in the dtypes of its sample, or in its shapes too. */
export type Fit = "free" | "dtype" | "sample";

export type Step =
  | {
      readonly kind: "op";
      readonly op: string;
      readonly alternative: number;
      readonly picks: readonly number[];
      readonly fit: Fit;
    }
  | { readonly kind: "cast"; readonly pick: number; readonly dtype: DTypeName; readonly bitcast: boolean }
  | {
      readonly kind: "literal";
      readonly op: string;
      readonly pick: number;
      readonly value: number;
      readonly first: boolean;
    }
  | {
      readonly kind: "constant";
      readonly what: "programId" | "numPrograms" | "BLOCK" | "arange" | "full" | "scalar" | "chosen";
      readonly number: number;
      readonly dtype: DTypeName;
    }
  | {
      readonly kind: "movement";
      readonly what: "reshape" | "permute" | "expandDims" | "broadcast" | "join" | "flip";
      readonly pick: number;
      readonly number: number;
    }
  | {
      readonly kind: "range";
      readonly start: number;
      readonly turns: number;
      readonly step: number;
      readonly bound: "number" | "size" | "value";
      readonly unrolled: boolean;
      readonly options: Readonly<Record<string, number | boolean>>;
      readonly state: number;
      readonly body: readonly Step[];
    }
  | {
      readonly kind: "while";
      readonly turns: number;
      readonly named: boolean;
      readonly state: number;
      readonly body: readonly Step[];
    }
  | {
      readonly kind: "when";
      readonly condition: "value" | "flag" | "block" | "program";
      readonly pick: number;
      readonly gives: boolean;
      readonly state: number;
      readonly arms: readonly (readonly Step[])[];
      readonly otherwise: readonly Step[] | undefined;
    }
  | { readonly kind: "call"; readonly picks: readonly number[]; readonly body: readonly Step[] }
  | {
      readonly kind: "reduce";
      readonly pick: number;
      readonly axis: number;
      readonly combine: "add" | "maximum" | "mul" | "xor" | "argmax";
      readonly scan: boolean;
      readonly flag: boolean;
    }
  | { readonly kind: "map"; readonly picks: readonly number[] }
  | {
      readonly kind: "dot";
      readonly dtype: "int8" | "float16" | "bfloat16" | "float32" | "float64" | "float8e5" | "float8e4nv";
      readonly picks: readonly number[];
      readonly batched: boolean;
      readonly acc: boolean;
      readonly precision: "tf32" | "tf32x3" | "ieee";
    }
  | { readonly kind: "store"; readonly pick: number };

export interface Recipe {
  readonly inputs: readonly [Input, ...Input[]];
  readonly body: readonly Step[];
  readonly programs: number;
  readonly numWarps: 1 | 2 | 4;
  /** The value of the constexpr `FLAG`. */
  readonly flag: boolean;
}

const INTS = ["int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"] as const;
const FLOATS = ["float32", "float16", "bfloat16", "float64"] as const;
export const FP8 = ["float8e5", "float8e4nv"] as const;

const dtype = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<DTypeName>(...FLOATS) },
  { weight: 6, arbitrary: fc.constantFrom<DTypeName>(...INTS) },
  { weight: 1, arbitrary: fc.constant<DTypeName>("int1") },
);
const castDType = fc.oneof(
  { weight: 8, arbitrary: dtype },
  { weight: 1, arbitrary: fc.constantFrom<DTypeName>(...FP8) },
);

const shape = fc.constantFrom<readonly (number | "BLOCK")[]>(
  [8],
  [4, 8],
  ["BLOCK"],
  [16],
  [16, 16],
  [2, 4, 8],
  [1],
  [8, 1],
  [4, 1],
  ["BLOCK", 8],
  [1, "BLOCK"],
  [8, 4],
  [32],
  [2],
);
const loadOptions: fc.Arbitrary<LoadOptions> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ cacheModifier: fc.constantFrom(".ca", ".cg") }),
      fc.record({ evictionPolicy: fc.constantFrom("evict_first", "evict_last") }),
      fc.record({ volatile: fc.boolean() }),
      fc.record({ other: fc.boolean() }),
    ) as fc.Arbitrary<LoadOptions>,
  },
);
const input: fc.Arbitrary<Input> = fc.record({
  dtype,
  shape,
  form: fc.constantFrom("exact", "masked", "programs", "pointer", "descriptor"),
  options: loadOptions,
});

const pick = fc.nat({ max: 15 });
const picks = fc.array(pick, { minLength: 4, maxLength: 4 });

/** Names of the ops that have samples, the common ones first. Each record with a sample is drawn. */
const isLibdevice = (op: string) => op.startsWith("libdevice");
/** Samples that need no tensor: their operands are tiles. */
const ofTiles = samples.filter(
  ({ op, operands }) =>
    op !== "makeTensorDescriptor" &&
    operandsOf(operands.split(" | ")[0]!).every(({ shape }) =>
      shape.every((length) => Number.isInteger(Math.log2(length))),
    ),
);
const names = [...new Set(ofTiles.map(({ op }) => op))].filter((op) => op !== "libdeviceFastTanhf"); // AMD's alone
const ELEMENTWISE =
  "add sub mul minimum maximum div floorDiv mod lt le gt ge eq ne and or xor shl shr where neg not abs fma clamp".split(
    " ",
  );
const isOnCuda = (dtype: DTypeName) => dtypeTargets[dtype] === undefined || "cuda" in dtypeTargets[dtype];
/** What the samples of an op ask for, over all its samples. */
export const alternatives = new Map(
  names.map((name) => [
    name,
    ofTiles
      .filter(({ op }) => op === name)
      .flatMap((sample) => sample.operands.split(" | ").map((text) => ({ sample, operands: operandsOf(text) })))
      .filter(({ operands }) => operands.every(({ dtype }) => isOnCuda(dtype))),
  ]),
);
const opName = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...ELEMENTWISE) },
  { weight: 12, arbitrary: fc.constantFrom(...names.filter((name) => !isLibdevice(name))) },
  { weight: 1, arbitrary: fc.constantFrom(...names.filter(isLibdevice)) },
);

const leaf: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("op" as const),
      op: opName,
      alternative: fc.nat({ max: 199 }),
      picks,
      fit: fc.constantFrom<Fit>("sample", "dtype", "free"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("cast" as const), pick, dtype: castDType, bitcast: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("literal" as const),
      op: fc.constantFrom(
        ...ELEMENTWISE.filter((name) => !["where", "neg", "not", "abs", "fma", "clamp"].includes(name)),
      ),
      pick,
      value: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom(-1, 0.5, -2.5, 100, 1e-3)),
      first: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("constant" as const),
      what: fc.constantFrom("programId", "numPrograms", "BLOCK", "arange", "full", "scalar", "scalar", "chosen"),
      number: fc.nat({ max: 6 }),
      dtype,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("movement" as const),
      what: fc.constantFrom("reshape", "permute", "expandDims", "broadcast", "join", "flip"),
      pick,
      number: fc.nat({ max: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("reduce" as const),
      pick,
      axis: fc.integer({ min: -1, max: 2 }),
      combine: fc.constantFrom("add", "maximum", "mul", "xor", "argmax"),
      scan: fc.boolean(),
      flag: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("map" as const), picks }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("dot" as const),
      dtype: fc.constantFrom("int8", "float16", "bfloat16", "float32", "float64", ...FP8),
      picks,
      batched: fc.boolean(),
      acc: fc.boolean(),
      precision: fc.constantFrom("tf32", "tf32x3", "ieee"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("store" as const), pick }) },
);

const rangeOptions = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        numStages: fc.integer({ min: 1, max: 3 }),
        loopUnrollFactor: fc.integer({ min: 1, max: 3 }),
        disallowAccMultiBuffer: fc.boolean(),
        flatten: fc.boolean(),
        disableLicm: fc.boolean(),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Record<string, number | boolean>>,
  },
);

const { steps } = fc.letrec<{ steps: readonly Step[]; step: Step }>((tie) => {
  const body = fc.array(tie("step"), { maxLength: 4, size: "max" });
  return {
    steps: fc.array(tie("step"), { minLength: 1, maxLength: 10, size: "max" }),
    step: fc.oneof(
      { depthSize: "small", maxDepth: 3, withCrossShrink: true },
      { weight: 20, arbitrary: leaf },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant("range" as const),
          start: fc.integer({ min: -2, max: 3 }),
          turns: fc.nat({ max: 3 }),
          step: fc.constantFrom(1, 2, 3, -1),
          bound: fc.constantFrom("number", "size", "value"),
          unrolled: fc.boolean(),
          options: rangeOptions,
          state: pick,
          body,
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("while" as const),
          turns: fc.nat({ max: 3 }),
          named: fc.boolean(),
          state: pick,
          body,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant("when" as const),
          condition: fc.constantFrom("value", "flag", "block", "program"),
          pick,
          gives: fc.boolean(),
          state: pick,
          arms: fc.array(body, { minLength: 1, maxLength: 3 }),
          otherwise: fc.option(body, { nil: undefined }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("call" as const), picks, body }) },
    ) as fc.Arbitrary<Step>,
  };
});

/** Random kernels, as data. */
export const recipes: fc.Arbitrary<Recipe> = fc.record({
  inputs: fc.array(input, { minLength: 1, maxLength: 4, size: "max" }) as unknown as fc.Arbitrary<Recipe["inputs"]>,
  body: steps,
  programs: fc.constantFrom(1, 2, 3),
  numWarps: fc.constantFrom(1, 2, 4),
  flag: fc.boolean(),
});
