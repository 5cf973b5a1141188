/**
 * What records say to proofs agrees with what their ops compute: `term`, `holds`, `folds` and `neutral` with
 * `evaluate`.
 */
import { Message } from "../../../src/diagnostics/message.js";
import { describe, expect, test } from "vitest";
import type { Op } from "../../../src/ir/op.js";
import type { Runtime } from "../../../src/values/runtime-values.js";
import { fromNumbers, type TileArray } from "../../../src/numerics/array.js";
import { isBig } from "../../../src/numerics/numeric-int.js";
import { table } from "../../../src/ops/table.js";
import { combineFixpoint } from "../../../src/prove/properties/padding/abstract-lane.js";
import { Valuation } from "../../../src/prove/launch-search.js";
import { asFloat, covers, type NumberClasses, classify, EMPTY } from "../../../src/symbolic/number-class.js";
import { number, product, symbol, type Term, truth, withTermTable } from "../../../src/symbolic/term.js";
import { dtypeTable, type DTypeName, isUnsigned } from "../../../src/types/dtype.js";
import { literalType, tileType, type Type, type Typed } from "../../../src/types/types.js";
import { fc, runCount } from "../../support/property.js";

const NUMBERS = ["value", "index", "valueOrPointer", "tile", "tileOrPointer", "mask"];
/** Arguments that are no numbers, for ops that need some. */
const MORE: Readonly<Record<string, Readonly<Record<string, readonly [Typed, Runtime]>>>> = {
  to: {
    dtype: [
      { type: { kind: "none" }, dtype: "float32" },
      { kind: "dtype", dtype: "float32" },
    ],
  },
  cast: {
    dtype: [
      { type: { kind: "none" }, dtype: "int32" },
      { kind: "dtype", dtype: "int32" },
    ],
  },
  full: {
    shape: [{ type: { kind: "none" }, items: [] }, []],
    dtype: [
      { type: { kind: "none" }, dtype: "float32" },
      { kind: "dtype", dtype: "float32" },
    ],
  },
  trusted: { reason: [{ type: literalType("why"), literal: "why" }, "why"] },
  zeros: {
    shape: [{ type: { kind: "none" }, items: [] }, []],
    dtype: [
      { type: { kind: "none" }, dtype: "float32" },
      { kind: "dtype", dtype: "float32" },
    ],
  },
};
/** They move lanes, ask the launch, or check what they are given. */
const ELSEWHERE = new Set([
  "dot",
  "dotScaled",
  "programId",
  "numPrograms",
  "arange",
  "swizzle2d",
  "multipleOf",
  "maxContiguous",
  "maxConstancy",
  "broadcast",
  "broadcastTo",
]);

const numbersOf = (op: Op): readonly string[] =>
  Object.entries(op.operands).flatMap(([name, kind]) => (NUMBERS.includes(kind.replace("?", "")) ? [name] : []));

interface Call {
  readonly result: Extract<Type, { kind: "tile" }>;
  readonly typed: Readonly<Record<string, Typed>>;
  evaluate(values: readonly (readonly number[])[]): TileArray | undefined;
}

/** A call of an op with tiles of a shape and a dtype; undefined where its rule refuses them. */
function callOf(op: Op, dtype: DTypeName, shape: readonly number[], more: Readonly<Record<string, Typed>> = {}) {
  const names = numbersOf(op);
  const given = MORE[op.name] ?? {};
  const isKnown = Object.entries(op.operands).every(
    ([name, kind]) => kind.endsWith("?") || names.includes(name) || name in given || name in more,
  );
  if (!isKnown || !op.evaluate) return undefined;
  const typed: Record<string, Typed> = { ...more };
  for (const name of names) typed[name] = { type: tileType(dtype, shape) };
  for (const [name, [type]] of Object.entries(given)) typed[name] = type;
  const type = op.infer(typed);
  if (type instanceof Message) return undefined;
  const result = "kind" in type ? type : type[0];
  if (result?.kind !== "tile" || typeof result.dtype !== "string") return undefined;
  const out = { dtype: result.dtype as DTypeName, shape: result.shape as readonly number[] };
  const call: Call = {
    result,
    typed,
    evaluate(values) {
      let reported = false;
      const tiles = names.map((name, i) => [name, tileOf(dtype, shape, values[i]!)]);
      const rest = Object.entries(given).map(([name, [, value]]) => [name, value]);
      const literals = Object.entries(more).map(([name, { literal }]) => [name, literal]);
      const context = { results: [out], result: out, program: [0, 0, 0], grid: [1, 1, 1] };
      const made = op.evaluate!(Object.fromEntries([...tiles, ...rest, ...literals]), {
        ...context,
        report: () => (reported = true),
        undefine: () => (reported = true),
      } as never);
      return reported ? undefined : ((Array.isArray(made) ? made[0] : made) as TileArray);
    },
  };
  return call;
}

function tileOf(dtype: DTypeName, shape: readonly number[], values: readonly number[]): TileArray {
  if (!isBig(dtype)) return fromNumbers(dtype, shape, values);
  const data = (dtype === "int64" ? BigInt64Array : BigUint64Array).from(values.map(BigInt));
  return { dtype, shape, data } as TileArray;
}

const isFloatName = (name: DTypeName) => name.includes("float");
function limits(dtype: DTypeName): readonly [number, number] {
  if (isFloatName(dtype)) return [-Infinity, Infinity];
  const { bits } = dtypeTable[dtype];
  if (dtype === "int1") return [0, 2];
  return isUnsigned(dtype) ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}
const kindIn = (value: number, dtype: DTypeName): NumberClasses => classify(value, ...limits(dtype));

/** Numbers of each kind that neither overflow nor underflow. */
function valuesOf(dtype: DTypeName): readonly number[] {
  if (dtype === "int1") return [0, 1];
  if (isFloatName(dtype)) return [-Infinity, -2.5, -1, -0.5, 0, 0.25, 1, 1.5, 3, Infinity, NaN];
  const [least, most] = limits(dtype);
  return isUnsigned(dtype) ? [0, 1, 2, 5, most] : [least, -3, -1, 0, 1, 2, 5, most];
}
const wide = (dtype: DTypeName): boolean => isBig(dtype);

const DTYPES: readonly DTypeName[] = ["float32", "float64", "bfloat16", "int32", "int8", "uint8", "int1"];
const named = (ops: readonly Op[]) => ops.map((op) => [op.name, op] as const);

describe("what a lane holds", () => {
  const ops = table.filter(({ proof, name }) => proof.classTransfer && !ELSEWHERE.has(name));

  test.each(named(ops))("tl.%s", (_, op) => {
    let checked = 0;
    for (const dtype of DTYPES) {
      const call = callOf(op, dtype, []);
      if (!call || wide(dtype)) continue;
      const out = call.result.dtype as DTypeName;
      const context = { args: call.typed, isFloat: isFloatName(out) };
      const names = numbersOf(op);
      const visit = (values: readonly number[]): void => {
        if (values.length < names.length) {
          for (const value of valuesOf(dtype)) visit([...values, value]);
          return;
        }
        const result = call.evaluate(values.map((value) => [value]));
        if (!result) return;
        const widens = context.isFloat && !isFloatName(dtype);
        const given = values.map((value) => kindIn(value, dtype));
        const kinds = Object.fromEntries(names.map((name, i) => [name, widens ? asFloat(given[i]!) : given[i]!]));
        const held = op.proof.classTransfer!(kinds, context);
        const got = Number(result.data[0]);
        checked++;
        expect(covers(held, kindIn(got, out)), `${dtype} ${values.join(", ")} gives ${got}`).toBe(true);
      };
      visit([]);
    }
    expect(checked).toBeGreaterThan(0);
  });
});

describe("what leaves other lanes as they are", () => {
  const pairs = table.filter(({ proof, name }) => proof.isNeutral && !proof.foldSemantics && !ELSEWHERE.has(name));

  test.each(named(pairs))("beside one in tl.%s", (_, op) => {
    let neutral = 0;
    for (const dtype of DTYPES) {
      const call = callOf(op, dtype, []);
      if (!call || call.result.dtype !== dtype) continue;
      for (const held of valuesOf(dtype))
        for (const beside of valuesOf(dtype))
          for (const isFirst of [true, false]) {
            const isPair = Number.isFinite(held) || held === beside || Number.isFinite(beside);
            if (!isPair || !op.proof.isNeutral!(kindIn(held, dtype), kindIn(beside, dtype), isFirst)) continue;
            neutral++;
            const result = call.evaluate(isFirst ? [[held], [beside]] : [[beside], [held]]);
            expect(Number(result?.data[0]), `${dtype} ${held} beside ${beside}`).toBe(beside);
          }
    }
    if (op.name !== "and") expect(neutral).toBeGreaterThan(0);
  });

  // A product, and what an author's function folds, are in tests of their own.
  const folds = table.filter(
    ({ proof }) =>
      proof.foldSemantics && proof.isNeutral && !["contraction", "packed"].includes(proof.foldSemantics.form),
  );
  const literal = (value: number): Typed => ({ type: literalType(value), literal: value });

  test.each(named(folds))("in tl.%s, whose results are of the kinds that it says", (_, op) => {
    const axis = op.name === "topk" ? { k: literal(2) } : { [Object.keys(op.operands)[1]!]: literal(0) };
    const isOf = (dtype: DTypeName, size: number) => callOf(op, dtype, [size], axis);
    let neutral = 0;
    for (const dtype of DTYPES) {
      const pool = valuesOf(dtype).filter((value) => !Number.isNaN(value));
      fc.assert(
        fc.property(
          fc.array(fc.constantFrom(...pool), { minLength: 2, maxLength: 2 }),
          fc.constantFrom(...pool),
          (row, held) => {
            const [short, long] = [isOf(dtype, 2), isOf(dtype, 4)];
            if (!short || !long) return;
            const kinds = row.map((value) => kindIn(value, dtype));
            const rule = { combine: op.proof.foldSemantics!.combineClasses, isNeutral: () => false, generic: EMPTY };
            const before = short.evaluate([row])!;
            const out = before.dtype as DTypeName;
            const isSame = out === dtype;
            if (rule.combine && isSame && op.proof.foldSemantics!.form !== "normalization" && isFloatName(dtype)) {
              const held = combineFixpoint(
                rule,
                kinds.reduce((all, each) => all | each, EMPTY),
              );
              for (const value of before.data) expect(covers(held, kindIn(Number(value), out))).toBe(true);
            }
            if (!kinds.every((beside) => op.proof.isNeutral!(kindIn(held, dtype), beside, false))) return;
            neutral++;
            const after = long.evaluate([[...row, held, held]])!;
            const isFull = after.data.length === 4;
            const last = isFull ? Array.from(after.data.slice(0, 2), Number) : Array.from(after.data, Number);
            const given = Array.from(before.data, Number);
            expect(last.map(plain), `${dtype} [${row.join(", ")}] with ${held}`).toEqual(given.map(plain));
            // In a scan, what comes before changes nothing either.
            if (!isFull || op.proof.foldSemantics!.form !== "scan") return;
            const moved = long.evaluate([[held, held, ...row]])!;
            expect(Array.from(moved.data.slice(2), Number).map(plain)).toEqual(given.map(plain));
          },
        ),
        { numRuns: runCount(400) },
      );
    }
    expect(neutral).toBeGreaterThan(0);
  });
});

/** -0 is 0. */
const plain = (value: number): number => (value === 0 ? 0 : value);

describe("terms", () => {
  test.each(["or", "xor"] as const)("of tl.%s, where the operands have no bits in common", (name) => {
    const rule = table.find((op) => op.name === name)!.proof.term!;
    const context = { args: {}, lane: [], isTruth: false, isFolded: false, grid: [], program: [] };
    fc.assert(
      fc.property(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -40, max: 40 }), (high, low) =>
        withTermTable(() => {
          const [x, y] = [product(number(16), symbol("high")), symbol("low")];
          const values = new Valuation(new Map(Object.entries({ high, low })));
          const found = [rule({ x, y }, context), rule({ x: y, y: x }, context)].map((of) =>
            values.integer(of as Term),
          );
          const isKnown = low >= 0 && low < 16;
          const exact = name === "or" ? (high * 16) | low : (high * 16) ^ low;
          expect(found).toEqual(isKnown ? [exact, exact] : [undefined, undefined]);
        }),
      ),
    );
  });

  const ops = table.filter(
    ({ proof, name, evaluate }) => proof.term && evaluate && !ELSEWHERE.has(name) && !name.startsWith("libdevice"),
  );

  test.each(named(ops))("of tl.%s are what it computes", (_, op) => {
    let checked = 0;
    for (const dtype of ["int32", "int1"] as const) {
      const call = callOf(op, dtype, []);
      if (!call) continue;
      const names = numbersOf(op);
      const out = call.result.dtype as DTypeName;
      if (isFloatName(out)) continue;
      const of = (value: number): Term => (dtype === "int1" ? truth(value === 1) : number(value));
      const pool = dtype === "int1" ? fc.integer({ min: 0, max: 1 }) : fc.integer({ min: -9, max: 40 });
      fc.assert(
        fc.property(fc.array(pool, { minLength: names.length, maxLength: names.length }), (values) =>
          withTermTable(() => {
            const result = call.evaluate(values.map((value) => [value]));
            if (!result) return;
            const terms = Object.fromEntries(names.map((name, i) => [name, of(values[i]!)]));
            const context = {
              args: call.typed,
              lane: [],
              isTruth: out === "int1",
              isFolded: false,
              grid: [],
              program: [],
            };
            const term = op.proof.term!(terms, context);
            if (term === undefined || Array.isArray(term)) return;
            const value = new Valuation(new Map());
            const made = value.integer(term as Term) ?? value.truth(term as Term);
            // Terms do not wrap.
            if (Math.abs(Number(made)) >= 2 ** 31) return;
            checked++;
            expect(Number(made), `${op.name}(${values.join(", ")}) of ${dtype}`).toBe(Number(result.data[0]));
          }),
        ),
        { numRuns: runCount(400) },
      );
    }
    if (!["to", "full", "zeros"].includes(op.name) && numbersOf(op).length > 0) expect(checked).toBeGreaterThan(0);
  });
});
