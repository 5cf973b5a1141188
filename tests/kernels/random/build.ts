/** Makes a kernel of a recipe, through the functions that authors call. */
import { constexpr, kernel, scalar, tensor, tl, TileScriptError } from "tilescript";
import { type DTypeName, dtypeTable, isFp8, isInt, isUnsigned } from "../../../src/types/dtype.js";
import { probe } from "../../../src/diagnostics/diagnostic.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { table } from "../../../src/ops/table.js";
import type { Operand } from "../../triton/ops/samples.js";
import { exact, kindOf, type Precision, type Rule, sumFactor } from "./exactness.js";
import { alternatives, type Fit, type Input, type Recipe, type Step } from "./recipe.js";
import {
  areCompatible,
  between,
  BLOCK,
  cast,
  dtypeOf,
  isFloating,
  isTile,
  lengthsOf,
  like,
  numbers,
  ordered,
  scalarOf,
  shaped,
  sizeOf,
  type Tile,
  typeOf,
} from "./tiles.js";

export interface Options {
  /**
   * Where values are compared: what is not exact is stored at once and used no further, so that an error never grows;
   * ops that the evaluator does not model, and those that print, are left out.
   */
  readonly values?: boolean;
}

/** A tensor that the kernel stores to, once for each program. */
export interface Output {
  readonly name: string;
  readonly dtype: DTypeName;
  /** Of one program's part. */
  readonly shape: readonly number[];
  /** Stored where not every program, or no turn of a loop, may come by: it holds numbers before the launch. */
  readonly partial: boolean;
  /** One that may be left out; undefined for any other. */
  readonly optional?: "asked for" | "left out" | undefined;
  /** The atomic op that writes it, if no plain store does; it holds numbers before the launch. */
  readonly atomic?: AtomicOp | undefined;
  readonly rule: Rule;
}

export interface RandomKernel {
  readonly kernel: unknown;
  readonly outputs: readonly Output[];
  readonly sizes: Readonly<Record<string, number>>;
  readonly scalars: Readonly<Record<string, number>>;
}

/** @throws TileScriptError where the recipe is refused while it is traced. */
export function build(recipe: Recipe, { values = false }: Options = {}): RandomKernel {
  return new Author(recipe, values, undefined).finish();
}

/** Some outputs may be left out: what is drawn stays as it is, so the number of programs and their place decide. */
function optionalAt(at: number, programs: number, { kind }: Rule): Output["optional"] {
  if (at === 0 || (at + programs) % 3 > 0) return undefined;
  // The bound of another output is needed.
  return kind === "exact" && (at + programs) % 2 === 0 ? "left out" : "asked for";
}

const ATOMIC_OPS = ["atomicAdd", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor", "atomicXchg"] as const;
type AtomicOp = (typeof ATOMIC_OPS)[number];
const ATOMIC_DTYPES: ReadonlySet<DTypeName> = new Set(["int32", "int64", "uint32", "uint64"]);

/** Some outputs of integers are written by an atomic op, likewise. */
function atomicAt(at: number, programs: number, dtype: DTypeName): AtomicOp | undefined {
  if (!ATOMIC_DTYPES.has(dtype) || (at + programs) % 3 !== 1) return undefined;
  return ATOMIC_OPS[(at + programs) % ATOMIC_OPS.length];
}

/** Some tiles lie in a length of 3 of 4, the rest is masked. */
const maskedLength = (length: number): number => Math.ceil((length * 3) / 4);
const inputDims = ({ shape }: Input): number[] => shape.map((dim) => (dim === "BLOCK" ? BLOCK : dim));

/** The inner rows of a descriptor have 16 bytes or more. */
function hasDescriptor(input: Input): boolean {
  const { bits } = dtypeTable[input.dtype];
  return bits >= 8 && ((inputDims(input).at(-1) ?? 0) * bits) / 8 >= 16;
}

/** Values of scalars: small ones, whose width only the declared dtype tells, and those at the ends of the dtype. */
const SCALARS: Readonly<Partial<Record<DTypeName, readonly number[]>>> = {
  int8: [5, -3, 127, -128],
  int16: [5, -3, 2 ** 15 - 1, -(2 ** 15)],
  int32: [7, -3, 2 ** 31 - 1, -(2 ** 31)],
  int64: [5, -3, 2 ** 31, 2 ** 53 - 1, -(2 ** 63)],
  uint8: [3, 200, 255],
  uint16: [3, 2 ** 15, 2 ** 16 - 1],
  uint32: [3, 2 ** 31, 2 ** 32 - 1],
  uint64: [3, 2 ** 31, 2 ** 64 - 2048],
  float16: [1.5, 3, 0.1, -0, 65504, NaN],
  bfloat16: [1.5, 3, 0.1, -0, 2 ** 127, NaN],
  float32: [1.5, 3, 0.1, -0, 2 ** 24 + 2, 2 ** 127, NaN],
  float64: [1.5, 3, 0.1, -0, 2 ** 53 - 1, 1e300, NaN],
};
/** The name of a scalar, such as `s_int64_2`, by its dtype and the position of its value. */
const scalarName = (dtype: DTypeName, number: number): string => {
  const named = dtype in SCALARS ? dtype : "int32";
  return `s_${named}_${number % SCALARS[named]!.length}`;
};
const scalars = Object.entries(SCALARS).flatMap(([dtype, values]) =>
  values.map((value, i) => ({ name: `s_${dtype}_${i}`, dtype: dtype as DTypeName, value })),
);

/** Ops that say or print something, and give what they are given; their samples keep what they promise only as they are. */
const AS_SAMPLED = new Set(["assume", "deviceAssert", "multipleOf", "maxContiguous", "maxConstancy", "expectZero"]);
const PRINTS = new Set(["devicePrint", "staticPrint", "expectZero"]);
/**
 * NaN and the two zeros have no place in an order. Likewise, where values are compared: `-x` of zero is 0.0 in Triton 3.6
 * and -0.0 in 3.9; a float `x % y` is `x - trunc(x / y) * y` on an NVIDIA GPU, which is the remainder where the quotient is
 * exact, but gives a zero remainder of either dividend the same sign; and equal elements are any of them to an argmax with
 * `tieBreakLeft: false`. Such operands are replaced, and the sign of such a zero is taken away. `ceil` and `floor` of a
 * subnormal are those of zero on an NVIDIA GPU, so that none is rounded.
 */
const LEAST_NORMAL = 2 ** -126;
const ORDERS = new Set("minimum maximum clamp max min argmax argmin sort topk bitonicMerge".split(" "));
const modeled = new Map(table.map((op) => [op.name, op.evaluate !== undefined]));

/** How many numbers are added up to an element of the result. */
function termsOf(op: string, operands: readonly Tile[], result: Tile): number {
  const [x] = operands;
  if (op === "dot") return lengthsOf(x).at(-1)!;
  // A byte holds two numbers of 4 bits.
  if (op === "dotScaled") return 2 * lengthsOf(x).at(-1)!;
  const folded = sizeOf(x) / sizeOf(result);
  return folded > 1 ? folded : Math.max(...lengthsOf(x));
}

/** The tiles that exist at a point of the program. */
class Scope {
  constructor(
    readonly tiles: Tile[],
    readonly depth: number,
  ) {}
  inner(...more: readonly Tile[]): Scope {
    return new Scope([...this.tiles, ...more], this.depth + 1);
  }
}

/**
 * Writes the kernel. Its body is entered many times, with and without the bodies inside it, and must always make the
 * same statements: what the first time decides is kept by where it was decided.
 */
class Author {
  readonly #outputs = new Map<string, Output>();
  /** Positions of the tiles that are stored at the end: those that nothing has used, or the last one. */
  #left: readonly number[] | undefined;
  readonly #used = new Set<string>();
  readonly #consumed = new Set<Tile>();
  #args: Record<string, any> = {};
  /** Where in the recipe the next statement is from, and how many outputs that step has so far. */
  #place = { path: "", outputs: 0 };

  constructor(
    readonly recipe: Recipe,
    readonly values: boolean,
    /** What is stored, known from a first run of the body; undefined in that run. */
    readonly declared: { readonly outputs: readonly Output[]; readonly used: ReadonlySet<string> } | undefined,
  ) {}

  /** Runs the body once to see which outputs there are, and makes the kernel that has them. */
  finish(): RandomKernel {
    trace(definitionOf(this.#kernel()));
    const outputs = [...this.#outputs.values()];
    const declared = { outputs, used: this.#used };
    const { inputs } = this.recipe;
    const sizes = inputs.flatMap((input, i) =>
      input.form === "masked" ? inputDims(input).map((length, axis) => [`N${i}_${axis}`, maskedLength(length)]) : [],
    );
    return {
      kernel: new Author(this.recipe, this.values, declared).#kernel(),
      outputs,
      sizes: Object.fromEntries(sizes) as Record<string, number>,
      scalars: Object.fromEntries(
        scalars.flatMap(({ name, value }) => (this.#used.has(name) ? [[name, value] as const] : [])),
      ),
    };
  }

  #kernel(): unknown {
    const { recipe, declared } = this;
    const isUsed = (name: string) => declared === undefined || declared.used.has(name);
    const params: Record<string, unknown> = {};
    recipe.inputs.forEach((input, i) => (params[`x${i}`] = tensor(tl[input.dtype], this.#dims(input, i) as [number])));
    for (const { name, dtype, shape, partial, optional, atomic } of declared?.outputs ?? []) {
      const output = (partial || atomic ? tensor.inout : tensor.out)(tl[dtype], [recipe.programs, ...shape] as [
        number,
      ]);
      params[name] = optional ? output.optional() : output;
    }
    for (const { name, dtype } of scalars) if (isUsed(name)) params[name] = scalar(tl[dtype]);
    if (isUsed("BLOCK")) params["BLOCK"] = constexpr();
    if (isUsed("FLAG")) params["FLAG"] = constexpr.bool();
    const config = {
      numWarps: recipe.numWarps,
      ...(isUsed("BLOCK") && { BLOCK }),
      ...(isUsed("FLAG") && { FLAG: recipe.flag }),
    };
    const spec = { params, grid: () => [recipe.programs], config };
    return kernel(
      "random_kernel",
      spec as never,
      ((args: Record<string, any>) => this.#within("body", () => this.#body(args))) as never,
    );
  }

  #dims({ form, ...input }: Input, i: number): readonly (number | string)[] {
    const lengths = inputDims({ form, ...input });
    if (form === "masked") return lengths.map((_, axis) => `N${i}_${axis}`);
    return form === "programs" ? [this.recipe.programs, ...lengths] : lengths;
  }

  #arg(name: string): any {
    this.#used.add(name);
    return this.#args[name];
  }

  #body(args: Record<string, any>): void {
    this.#args = args;
    const scope = new Scope(
      this.recipe.inputs.map((input, i) => this.#load(input, args[`x${i}`])),
      0,
    );
    this.#steps(this.recipe.body, scope);
    if (!this.#left) {
      const left = scope.tiles.flatMap((tile, i) => (this.#consumed.has(tile) ? [] : [i]));
      this.#left = left.length > 0 || this.#outputs.size > 0 ? left : [scope.tiles.length - 1];
    }
    this.#consumeAll(scope.tiles);
    for (const i of this.#left) this.#store(scope.tiles[i]!, exact, scope);
  }

  /** Runs what the recipe has at a place; a body remembers its own, since it may be entered later. */
  #within<Result>(path: string, act: () => Result): Result {
    const outer = this.#place;
    this.#place = { path, outputs: 0 };
    try {
      return act();
    } finally {
      this.#place = outer;
    }
  }

  #bodyOf<Given extends readonly unknown[], Result>(
    name: string | number,
    body: (...given: Given) => Result,
  ): (...given: Given) => Result {
    const path = `${this.#place.path} ${name}`;
    return (...given) => this.#within(path, () => body(...given));
  }

  #load(input: Input, x: any): Tile {
    const { shape, form, options } = input;
    const { other, ...rest } = options;
    const lanes = shape.map((length) => tl.arange(0, length === "BLOCK" ? this.#arg("BLOCK") : length));
    if (form === "pointer") {
      let offsets: Tile;
      shape.forEach((length, axis) => {
        const own = lanes.reduce<Tile>(
          (lane, _, at) => (at === axis ? lane : tl.expandDims(lane, at as never)),
          lanes[axis],
        );
        offsets = offsets === undefined ? own : offsets.mul(length === "BLOCK" ? this.#arg("BLOCK") : length).add(own);
      });
      const mask = offsets.lt(maskedLength(inputDims({ shape } as Input).reduce((size, length) => size * length, 1)));
      return tl.load(x.ptr.add(offsets), { ...rest, mask, other: other ? 1 : 0 });
    }
    if (form === "descriptor" && hasDescriptor(input)) {
      const block = shape.map((length) => (length === "BLOCK" ? this.#arg("BLOCK") : length));
      return tl.makeTensorDescriptor(x, block as never).load(block.map(() => 0) as never);
    }
    const given = { ...rest, ...(other && form === "masked" && { other: 1 }) };
    return tl.load(form === "programs" ? x.at(tl.programId(0), ...lanes) : x.at(...lanes), given as never);
  }

  /** Gives the position of the output. */
  #store(tile: Tile, rule: Rule, { depth }: Scope): number {
    const key = `${this.#place.path}:${this.#place.outputs++}`;
    const known = [...this.#outputs.keys()].indexOf(key);
    const at = known < 0 ? this.#outputs.size : known;
    const name = `y${at}`;
    const partial = depth > 0;
    const optional = partial ? undefined : optionalAt(at, this.recipe.programs, rule);
    const dtype = dtypeOf(tile);
    const atomic = optional ? undefined : atomicAt(at, this.recipe.programs, dtype);
    const output = { name, dtype, shape: lengthsOf(tile), partial, optional, atomic, rule };
    if (known < 0) this.#outputs.set(key, output);
    this.#consumed.add(tile);
    if (!this.declared) return at;
    const lanes = tile.shape.map((length: unknown) => tl.arange(0, length as never));
    const write = () => {
      const view = this.#args[name].at(tl.programId(0), ...lanes);
      if (atomic) (tl[atomic] as (target: unknown, value: unknown) => unknown)(view, tile);
      else tl.store(view, tile);
    };
    if (optional) tl.when(this.#args[name].given, write);
    else write();
    return at;
  }

  #take(scope: Scope, pick: number, fits: (tile: Tile) => boolean = () => true): Tile {
    const found = scope.tiles.filter(fits);
    const from = found.length > 0 ? found : scope.tiles;
    const tile = from[from.length - 1 - (pick % from.length)]!;
    this.#consumed.add(tile);
    return tile;
  }

  #steps(steps: readonly Step[], scope: Scope): void {
    const { path } = this.#place;
    for (const [i, step] of steps.entries()) this.#within(`${path}.${i}`, () => this.#step(step, scope));
  }

  #step(step: Step, scope: Scope): void {
    switch (step.kind) {
      case "op":
        return this.#op(step, scope);
      case "cast":
        return this.#keep(this.#cast(this.#take(scope, step.pick), step), scope);
      case "literal":
        return this.#literal(step, scope);
      case "constant":
        return this.#keep(this.#constant(step), scope);
      case "movement":
        return this.#movement(step, scope);
      case "range":
        return this.#range(step, scope);
      case "while":
        return this.#while(step, scope);
      case "when":
        return this.#when(step, scope);
      case "call":
        return this.#call(step, scope);
      case "reduce":
        return this.#reduce(step, scope);
      case "map":
        return this.#map(step, scope);
      case "dot":
        return this.#dot(step, scope);
      case "store":
        this.#store(this.#take(scope, step.pick), exact, scope);
        return;
      default:
        return step satisfies never;
    }
  }

  #keep(tile: Tile, scope: Scope): void {
    if (isTile(tile) && !scope.tiles.includes(tile)) scope.tiles.push(tile);
  }

  /** Keeps what an op gave, or stores it where it is not exact. `again` calls the op on other operands. */
  #result(
    op: string,
    given: unknown,
    operands: readonly Tile[],
    again: (...operands: Tile[]) => unknown,
    scope: Scope,
    precision?: Precision,
  ): void {
    const results = (Array.isArray(given) ? given : [given]).filter(isTile);
    const kinds = results.map((tile) => kindOf(op, dtypeOf(tile)));
    results.forEach((tile, i) => {
      const kind = kinds[i]!;
      if (!this.values || kind.kind === "exact")
        return this.#keep(this.values && op === "mod" && isFloating(tile) ? tile.add(0) : tile, scope);
      if (kind.kind !== "sum") {
        this.#store(tile, kind as Rule, scope);
        return;
      }
      const magnitude = again(
        ...operands.map((operand) => (isFloating(operand) && !isFp8(dtypeOf(operand)) ? tl.abs(operand) : operand)),
      );
      // Both are compared within a bound that the first one holds.
      const next = this.#outputs.size;
      const factor = sumFactor(termsOf(op, operands, tile), dtypeOf(tile), precision);
      const of = this.#store(magnitude, { kind: "bound", of: next, factor }, scope);
      this.#store(tile, { kind: "bound", of, factor }, scope);
    });
  }

  // ---- ops of the table ---------------------------------------------------------------------------------------------

  #op({ op, alternative, picks, fit }: Extract<Step, { kind: "op" }>, scope: Scope): void {
    if (this.values && (PRINTS.has(op) || op.startsWith("libdevice") || !modeled.get(op))) return;
    const all = alternatives.get(op)!;
    const { sample, operands } = all[alternative % all.length]!;
    if (this.values && sample.anyOfEqual) return;
    const order: readonly Fit[] = ["free", "dtype", "sample"];
    for (const how of order.slice(AS_SAMPLED.has(op) ? 2 : order.indexOf(fit))) {
      try {
        const tiles = probe(() => this.#operands(op, operands, picks, how, scope));
        // Codes of 4 bits have a sign each, which the sum of absolute values is without.
        const positive = (tile: Tile, i: number): Tile =>
          op === "dotScaled" && dtypeOf(tile) === "uint8" && !operands[i]!.range ? tile.and(0x77) : tile;
        const again = (...given: Tile[]): unknown => sample.apply(...given.map(positive));
        return probe(() => this.#result(op, sample.apply(...tiles), tiles, again, scope));
      } catch (error) {
        // The op's own rule refuses these operands; those of the sample it must take.
        if (how === "sample" || !(error instanceof TileScriptError)) throw error;
      }
    }
  }

  #operands(op: string, operands: readonly Operand[], picks: readonly number[], fit: Fit, scope: Scope): Tile[] {
    const first = this.#take(scope, picks[0]!);
    return operands.map((operand, i) => {
      let tile =
        i === 0 ? first : this.#take(scope, picks[i] ?? i, (other) => fit === "sample" || areCompatible(first, other));
      if (fit === "sample") tile = shaped(tile, numbers(...operand.shape));
      if (fit !== "free") tile = cast(tile, operand.dtype);
      return this.#inDomain(op, tile, operand);
    });
  }

  /** What an op says nothing about does not happen: divisors are positive, shifts short, NaN is not sorted. */
  #inDomain(op: string, tile: Tile, { range }: Operand): Tile {
    const isCast = op === "to" || op === "cast";
    const inside = range && !(isCast && !isFloating(tile)) ? between(tile, range[0], range[1]) : undefined;
    if (!this.values || !isFloating(tile) || isFp8(dtypeOf(tile))) return inside ?? tile;
    if (op === "mod")
      return inside === undefined ? between(tile, -1000, 1000) : cast(cast(inside, "int32"), dtypeOf(tile));
    if (ORDERS.has(op)) return ordered(inside ?? tile);
    if (inside !== undefined) return inside;
    if (op === "neg") return tl.where(tile.eq(0), 1, tile);
    if (op === "ceil" || op === "floor") return tl.where(tl.abs(tile).lt(LEAST_NORMAL), 0, tile);
    // Each product of halves is rounded, and their order is the compiler's.
    if (op === "cumprod" && dtypeTable[dtypeOf(tile) as DTypeName].bits < 32)
      return cast(between(tile, -8, 8), "float32");
    if (kindOf(op, dtypeOf(tile)).kind !== "exact" && op !== "div") return between(tile, -8, 8);
    return isCast ? between(tile, 0, 100) : tile;
  }

  #literal({ op, pick, value, first }: Extract<Step, { kind: "literal" }>, scope: Scope): void {
    const tile = this.#inDomain(op, this.#take(scope, pick), { dtype: "int32", shape: [] });
    const divides = ["floorDiv", "mod", "div", "shl", "shr"].includes(op);
    const literals = [value, Math.trunc(Math.abs(value)), 1].map((each) =>
      divides ? Math.min(Math.max(each, 1), 5) : each,
    );
    const f = (tl as unknown as Record<string, (...args: Tile[]) => Tile>)[op]!;
    for (const literal of literals) {
      try {
        const call = (x: Tile): Tile => (first && !divides ? f(literal, x) : f(x, literal));
        return probe(() => this.#result(op, call(tile), [tile], call, scope));
      } catch (error) {
        if (!(error instanceof TileScriptError)) throw error;
      }
    }
  }

  #cast(tile: Tile, { dtype, bitcast }: { dtype: DTypeName; bitcast: boolean }): Tile {
    const bits = (name: DTypeName): number => tl[name].bits as number;
    const from = dtypeOf(tile);
    if (bitcast && bits(from) === bits(dtype) && from !== dtype && !isFp8(from) && !isFp8(dtype))
      return (this.values ? ordered(tile) : tile).to(tl[dtype] as Tile, { bitcast: true });
    return cast(tile, dtype);
  }

  #constant({ what, number, dtype }: Extract<Step, { kind: "constant" }>): Tile {
    if (what === "programId" || what === "numPrograms") return tl[what](0);
    if (what === "BLOCK")
      return tl.full([4], this.#arg("BLOCK"), tl[isInt(dtype) && dtype !== "int1" ? dtype : "int32"] as Tile);
    if (what === "arange") return number % 2 ? tl.arange(0, this.#arg("BLOCK")) : tl.arange(number, number + 8);
    if (what === "scalar") return this.#arg(scalarName(dtype, number));
    if (what === "chosen") {
      const [FLAG, BLOCK] = [this.#arg("FLAG"), this.#arg("BLOCK")];
      return number % 2
        ? tl.full([4], FLAG.choose(number, BLOCK), tl.int32)
        : tl.sum(tl.arange(0, FLAG.choose(8, BLOCK.mul(2))), 0);
    }
    const lengths = number % 2 ? [8] : [4, 8];
    return tl.full(lengths as [8], (dtype === "int1" ? number % 2 === 1 : number) as never, tl[dtype] as Tile);
  }

  #movement({ what, pick, number }: Extract<Step, { kind: "movement" }>, scope: Scope): void {
    const tile = this.#take(scope, pick);
    const lengths = typeOf(tile).shape;
    const rank = lengths.length;
    const isPlain = lengths.every((length) => typeof length === "number");
    const arranged = (): Tile => {
      const size = sizeOf(tile);
      const shapes = [
        [size],
        [1, size],
        [size, 1],
        ...(size >= 4
          ? [
              [size / 2, 2],
              [2, size / 4, 2],
            ]
          : []),
      ];
      return isPlain && rank > 0 ? tl.reshape(tile, shapes[number % shapes.length]! as never) : tile;
    };
    const spread = (): Tile => {
      const shape = tile.shape.map((length: unknown, axis: number) =>
        lengths[axis] === 1 ? [2, 4, 8][number % 3] : length,
      );
      return rank === 0 ? tl.broadcastTo(tile, [[8], [4, 8]][number % 2]! as never) : tl.broadcastTo(tile, shape);
    };
    const orders = [
      [0, 1, 2],
      [2, 0, 1],
      [1, 2, 0],
      [0, 2, 1],
      [2, 1, 0],
      [1, 0, 2],
    ];
    const moves: Record<typeof what, () => Tile> = {
      reshape: arranged,
      permute: () => (rank < 2 ? tile : tl.permute(tile, orders[number % 6]!.filter((axis) => axis < rank) as never)),
      expandDims: () => (rank === 3 ? tile : tl.expandDims(tile, (number % (rank + 1)) as never)),
      broadcast: spread,
      join: () => {
        if (rank === 3) return tl.ravel(tile);
        const other = like(this.#take(scope, pick + number), tile);
        const joined = tl.join(tile, other);
        if (number % 2 === 0) return joined;
        const [left, right] = tl.split(
          tl.permute(joined, (rank === 2 ? [1, 0, 2] : [...Array(rank + 1).keys()]) as never),
        );
        this.#keep(left, scope);
        return right;
      },
      flip: () => (rank === 0 || !isPlain ? tile : tl.flip(tile, (number % rank) as never)),
    };
    this.#keep(moves[what](), scope);
  }

  // ---- control flow ---------------------------------------------------------------------------------------------------

  /** Runs steps in a scope of their own, and gives the last tile that they made, or the tile given. */
  #inner(steps: readonly Step[], scope: Scope, ...seen: readonly Tile[]): Tile | undefined {
    const inner = scope.inner(...seen);
    const before = inner.tiles.length;
    this.#steps(steps, inner);
    const last = inner.tiles.length > before ? inner.tiles.at(-1) : seen.at(-1);
    this.#consumeAll([...seen, ...inner.tiles.slice(before)]);
    return last;
  }

  /** A truth value that nothing uses is refused; one that is cast is used. */
  #consumeAll(tiles: readonly Tile[]): void {
    for (const tile of tiles) {
      if (dtypeOf(tile) === "int1") cast(tile, "int32");
      this.#consumed.add(tile);
    }
  }

  #range(step: Extract<Step, { kind: "range" }>, scope: Scope): void {
    const state = tl.mut(this.#take(scope, step.state));
    const { start, turns, unrolled, options } = step;
    const size = step.bound === "size" && !unrolled ? this.#size() : undefined;
    const by = size === undefined && step.bound !== "value" ? step.step : Math.abs(step.step);
    const end = start + turns * by;
    const bounds: unknown[] =
      size !== undefined
        ? [size.sub(turns * by), size, by]
        : step.bound === "value" && !unrolled
          ? [tl.programId(0).add(start), tl.programId(0).add(end), by]
          : [start, end, by];
    // MLIR cannot unroll a loop whose number of turns it knows and whose bounds it does not (an assertion of its own).
    const known = step.bound === "number" ? options : { ...options, loopUnrollFactor: undefined };
    const loop = unrolled ? tl.staticRange(...(bounds as [0])) : tl.range(...(bounds as [0]), known as never);
    for (const index of loop as Iterable<Tile>) {
      const seen = unrolled ? tl.full([], index as never, tl.int32) : index;
      const last = this.#inner(step.body, scope, seen, state.value);
      state.value = like(last, state.value as Tile);
    }
    this.#keep(state.value, scope);
  }

  #size(): Tile | undefined {
    const i = this.recipe.inputs.findIndex(({ form }) => form === "masked");
    return i < 0 ? undefined : this.#args[`N${i}_0`];
  }

  #while({ turns, named, state: pick, body }: Extract<Step, { kind: "while" }>, scope: Scope): void {
    const state = tl.mut(this.#take(scope, pick));
    const count = tl.mut(tl.programId(0));
    tl.whileLoop(
      () => {
        if (!named) return count.value.lt(turns);
        const doubled = count.value.mul(2);
        return doubled.lt(2 * turns).and(doubled.ge(-1));
      },
      this.#bodyOf("body", () => {
        state.value = like(this.#inner(body, scope, count.value, state.value), state.value as Tile);
        count.value = count.value.add(1);
      }),
    );
    this.#keep(state.value, scope);
  }

  #when(step: Extract<Step, { kind: "when" }>, scope: Scope): void {
    const held = this.#take(scope, step.state);
    const subject =
      step.condition === "value" ? cast(scalarOf(this.#take(scope, step.pick)), "int32") : tl.programId(0);
    const condition = (i: number): Tile => {
      if (step.condition === "flag" && i === 0) return this.#arg("FLAG");
      if (step.condition === "flag" || step.condition === "block") return this.#arg("BLOCK").gt(8 * (i + 1));
      return subject.gt(i);
    };
    if (step.gives) {
      const arm = (i: number, steps: readonly Step[]) =>
        this.#bodyOf(i, () => like(this.#inner(steps, scope, held), held));
      const [first, ...others] = step.arms;
      let chain = tl.when(condition(0), arm(0, first!));
      others.forEach((steps, i) => (chain = chain.elseWhen(condition(i + 1), arm(i + 1, steps) as never)));
      return this.#keep(chain.otherwise(arm(-1, step.otherwise ?? []) as never), scope);
    }
    const state = tl.mut(held);
    const arm = (i: number, steps: readonly Step[]) =>
      this.#bodyOf(i, () => {
        state.value = like(this.#inner(steps, scope, state.value), held);
      });
    const [first, ...others] = step.arms;
    let chain = tl.when(condition(0), arm(0, first!));
    others.forEach((steps, i) => (chain = chain.elseWhen(condition(i + 1), arm(i + 1, steps))));
    if (step.otherwise) chain.otherwise(arm(-1, step.otherwise));
    this.#keep(state.value, scope);
  }

  #call({ picks, body }: Extract<Step, { kind: "call" }>, scope: Scope): void {
    const [x, y] = [this.#take(scope, picks[0]!), this.#take(scope, picks[1]!)];
    const traced = this.#bodyOf("helper", (a: Tile, b: Tile) => {
      const inner = new Scope([a, b], scope.depth + 1);
      this.#steps(body, inner);
      this.#consumeAll(inner.tiles);
      return inner.tiles.at(-1);
    });
    const helper = tl.fn("helper", (a: Tile, b: Tile) => traced(a, b));
    this.#keep(helper(x, y), scope);
  }

  // ---- ops that take functions, and products --------------------------------------------------------------------------

  #reduce(step: Extract<Step, { kind: "reduce" }>, scope: Scope): void {
    const picked = this.#take(scope, step.pick, (tile) => typeOf(tile).shape.length > 0 && !isFp8(dtypeOf(tile)));
    const dtype = dtypeOf(picked);
    let x: Tile = dtype === "int1" || isFp8(dtype) ? cast(picked, "int32") : picked;
    if (typeOf(x).shape.length === 0) x = shaped(x, numbers(8));
    const rank = typeOf(x).shape.length;
    const axis = step.axis < 0 ? -1 : step.axis % rank;
    const options = step.scan ? { reverse: step.flag } : { keepDims: step.flag };
    const fold = (of: unknown, combine: unknown): any =>
      ((step.scan ? tl.associativeScan : tl.reduce) as Tile)(of, axis, combine, options);
    const isSum = step.combine === "add" || step.combine === "mul";
    if (this.values && isFloating(x)) x = isSum ? between(x, -2, 2) : ordered(x);
    if (step.combine === "argmax") {
      const lanes = shaped(tl.arange(0, x.shape.at(-1)), { dims: typeOf(x).shape, values: x.shape });
      const [best, where] = fold([x, lanes], ([a, i]: Tile[], [b, j]: Tile[]) => {
        const isFirst = a!.gt(b!).or(a!.eq(b!).and(i!.lt(j!)));
        return [tl.where(isFirst, a!, b!), tl.where(isFirst, i!, j!)];
      });
      this.#keep(best, scope);
      return this.#keep(where, scope);
    }
    const combines = {
      add: (a: Tile, b: Tile) => a.add(b),
      mul: (a: Tile, b: Tile) => a.mul(b),
      maximum: (a: Tile, b: Tile) => tl.maximum(a, b),
      xor: (a: Tile, b: Tile) => (isFloating(a) ? tl.minimum(a, b) : a.xor(b)),
    };
    const again = (y: Tile): Tile => fold(y, combines[step.combine as "add"]);
    this.#result(isSum ? (step.combine === "add" ? "sum" : "cumprod") : "max", again(x), [x], again, scope);
  }

  #map({ picks }: Extract<Step, { kind: "map" }>, scope: Scope): void {
    const isNumber = (tile: Tile): boolean => {
      const dtype = dtypeOf(tile);
      return typeOf(tile).shape.length > 0 && !isFp8(dtype) && dtype !== "int1" && !isUnsigned(dtype);
    };
    const [picked, other] = [this.#take(scope, picks[0]!, isNumber), this.#take(scope, picks[1]!, isNumber)];
    const x = isNumber(picked) ? picked : shaped(cast(picked, "float32"), numbers(8));
    const y = like(other, x);
    this.#keep(
      tl.mapElementwise((a: any, b: any) => tl.when(a.gt(0), () => a.add(b)).otherwise(() => b.mul(2)), x, y),
      scope,
    );
  }

  #dot(step: Extract<Step, { kind: "dot" }>, scope: Scope): void {
    const k = step.dtype === "int8" || step.dtype.startsWith("float8") ? 32 : 16;
    const batch = step.batched ? [2] : [];
    const operand = (pick: number, ...lengths: number[]): Tile => {
      const tile = shaped(this.#take(scope, pick), numbers(...batch, ...lengths));
      return cast(this.values && isFloating(tile) ? between(cast(tile, "float32"), -8, 8) : tile, step.dtype);
    };
    const out = step.dtype === "int8" ? "int32" : step.dtype === "float64" ? "float64" : "float32";
    const [a, b] = [operand(step.picks[0]!, 16, k), operand(step.picks[1]!, k, 16)];
    const acc =
      step.acc && !this.values
        ? cast(shaped(this.#take(scope, step.picks[2]!), numbers(...batch, 16, 16)), out)
        : undefined;
    const options = step.dtype === "float32" ? { inputPrecision: step.precision } : {};
    const again = (x: Tile, y: Tile): Tile => tl.dot(x, y, acc, options);
    this.#result("dot", again(a, b), [a, b], again, scope, step.dtype === "float32" ? step.precision : undefined);
  }
}
