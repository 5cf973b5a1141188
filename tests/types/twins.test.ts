/** Each rule is a type and a function. On random operands both must say the same, word for word. */
import { expect, test } from "vitest";
import { Message } from "../../src/diagnostics/message.js";
import type { RuleError } from "../../src/types/rule-error.js";
import { whyBound, whyDim } from "../../src/types/constexpr.js";
import * as text from "../../src/types/constexpr-text.js";
import { elemOf, dtype, dtypes, type Elem } from "../../src/types/dtype.js";
import {
  permuteShape,
  transShape,
  whyPermute,
  whyReshape,
  whyTrans,
  expandShape,
  reduceShape,
  whyAxis,
  whyExpand,
} from "../../src/types/dims.js";
import {
  broadcast,
  fitsIn,
  sameShape,
  showShape,
  whyBroadcast,
  whyBroadcastTo,
  type Dim,
} from "../../src/types/shape.js";
import * as arith from "../../src/rules/arithmetic-rules.js";
import { rangeElement, whyCondition, whyRangeBound, whyStep, whyWhile } from "../../src/rules/control-rules.js";
import * as atomic from "../../src/rules/atomic-rules.js";
import * as create from "../../src/rules/create-rules.js";
import {
  inferDescriptor,
  rowsShape,
  whyBlockOffset,
  whyBlockValue,
  whyBlockWrite,
  whyDescriptor,
  whyRows,
} from "../../src/rules/descriptor-rules.js";
import { inferDot } from "../../src/rules/dot-rules.js";
import * as math from "../../src/rules/math-rules.js";
import * as memory from "../../src/rules/memory-rules.js";
import { inferReduce, reduceRules } from "../../src/rules/reduce-rules.js";
import {
  constexprType,
  type DescriptorType,
  literalType,
  none,
  tileType,
  type PointerType,
  type TileType,
  type Type,
} from "../../src/types/types.js";
import { disagreements, elemText, typeText, type Question } from "./type-oracle.js";
import { fc } from "../support/property.js";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("types of twins", "src/types", "src/dsl");

const seed = 20_240;
/** A rule's text, or "" where it holds, as a type says it; all else as JSON. */
const json = (value: unknown): string => JSON.stringify(value instanceof Message ? value.text : (value ?? ""));
const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number): T[] => fc.sample(arbitrary, { seed, numRuns: count });

// ---- random operands ------------------------------------------------------------------------------------------------

const T = elemOf(dtype("T", [dtypes.float16, dtypes.bfloat16]));
const elems = fc.constantFrom<Elem>(
  ...(["int1", "int8", "uint8", "int32", "int64", "uint32", "float16", "bfloat16", "float32", "float64"] as const),
  "float8e5",
  T,
);
const dims = fc.constantFrom<Dim>(1, 2, 16, "A", "B", "A * 2", "B // 2", "A * B", "B * A", "A * B * A", "A * B + 1");
const shapes = fc.array(dims, { maxLength: 3 });
const tiles: fc.Arbitrary<TileType> = fc.record({ kind: fc.constant("tile" as const), dtype: elems, shape: shapes });
const literals = fc.constantFrom(...[0, 1, 3, -1, 0.5, 1e-10, true].map(literalType));
const constexprs = fc.constantFrom(
  constexprType("int", "A"),
  constexprType("float", "EPS"),
  constexprType("bool", "FLAG"),
);
const pointers: fc.Arbitrary<PointerType> = fc.record({
  kind: fc.constant("pointer" as const),
  to: elems,
  shape: shapes,
  access: fc.constantFrom("in" as const, "out" as const),
});
const tensors = elems.map((to): Type => ({ kind: "tensor", to, dims: ["M", "N"], access: "in" }));
const operands: fc.Arbitrary<Type> = fc.oneof({ arbitrary: tiles, weight: 5 }, literals, constexprs, pointers, tensors);
/** Tiles that often fit together. */
const kin = fc
  .tuple(shapes, elems, elems, fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }))
  .map(([shape, a, b, ones]): [TileType, TileType] => [
    tileType(a, shape),
    tileType(
      b,
      shape.map((dim, i) => (ones[i] ? 1 : dim)),
    ),
  ]);
const pairs: fc.Arbitrary<[TileType, Type]> = fc.oneof(fc.tuple(tiles, operands), kin);

/** The rule's sentence; and the result, where there is one. */
function both(why: string, out: string, answer: Type | RuleError): Question[] {
  return answer instanceof Message
    ? [{ type: why, answer: json(answer) }]
    : [
        { type: why, answer: '""' },
        { type: out, answer: typeText(answer) },
      ];
}
/** An operand's arguments of a rule: `E, S`. */
const parts = (tile: TileType): string => `${elemText(tile.dtype)}, ${json(tile.shape)}`;

/** Reads like a test of its own for each family, and asks the compiler once. */
function agree(name: string, questions: readonly Question[]): void {
  test(name, { timeout: 30_000 }, () => {
    expect(disagreements(name.replaceAll(" ", "-"), questions)).toEqual([]);
  });
}

// ---- families -------------------------------------------------------------------------------------------------------

test("the oracle catches a wrong answer", { timeout: 30_000 }, () => {
  const questions = [
    { type: "Broadcast<[1], [2]>", answer: "[2]" },
    { type: "Broadcast<[1], [2]>", answer: "[1]" },
  ];
  expect(disagreements("control", questions)).toEqual(["Broadcast<[1], [2]> is not [1]"]);
});

agree("shapes", [
  ...sample(
    fc.oneof(
      fc.tuple(shapes, shapes),
      kin.map(([a, b]) => [a.shape, b.shape] as const),
    ),
    300,
  ).flatMap(([a, b]) => {
    const args = `${json(a)}, ${json(b)}`;
    const common = broadcast(a, b);
    return [
      { type: `WhyBroadcast<"add", ${args}>`, answer: json(whyBroadcast("add", a, b)) },
      { type: `WhyBroadcastTo<${args}>`, answer: json(whyBroadcastTo(a, b)) },
      { type: `WhyReshape<"reshape", ${args}>`, answer: json(whyReshape("reshape", a, b)) },
      { type: `SameShape<${args}>`, answer: json(sameShape(a, b)) },
      { type: `FitsIn<${args}>`, answer: json(fitsIn(a, b)) },
      { type: `Show<${json(a)}>`, answer: json(showShape(a)) },
      ...(common ? [{ type: `Broadcast<${args}>`, answer: json(common) }] : []),
    ];
  }),
  ...sample(fc.tuple(shapes, fc.integer({ min: -4, max: 4 }), fc.boolean()), 200).flatMap(([shape, axis, keep]) => {
    const s = json(shape);
    const why = whyAxis("sum", shape, axis);
    const expand = whyExpand(shape, axis);
    return [
      { type: `WhyAxis<"sum", ${s}, ${axis}>`, answer: json(why) },
      { type: `WhyExpand<${s}, ${axis}>`, answer: json(expand) },
      { type: `WhyTrans<${s}>`, answer: json(whyTrans(shape)) },
      ...(why ? [] : [{ type: `Reduce<${s}, ${axis}, ${keep}>`, answer: json(reduceShape(shape, axis, keep)) }]),
      ...(expand ? [] : [{ type: `Expand<${s}, ${axis}>`, answer: json(expandShape(shape, axis)) }]),
      ...(shape.length < 2 ? [] : [{ type: `Trans<${s}>`, answer: json(transShape(shape)) }]),
    ];
  }),
  ...sample(fc.tuple(shapes, fc.array(fc.nat({ max: 2 }), { maxLength: 3 })), 100).flatMap(([shape, order]) => {
    const args = `${json(shape)}, ${json(order)}`;
    const why = whyPermute(shape, order);
    return [
      { type: `WhyPermute<${args}>`, answer: json(why) },
      ...(why ? [] : [{ type: `Permute<${args}>`, answer: json(permuteShape(shape, order)) }]),
    ];
  }),
]);

const spellings = { Add: text.addText, Sub: text.subText, Mul: text.mulText, FloorDiv: text.floorDivText };
const spelled = fc.array(
  fc.tuple(
    fc.constantFrom(...(Object.keys(spellings) as (keyof typeof spellings)[])),
    fc.constantFrom("2", "4", "8", "3", "0", "A", "B", "cdiv(M, A)", "A + B", "A * 2", "A * B", "M // 4"),
  ),
  { minLength: 1, maxLength: 4 },
);
agree("texts of constexprs", [
  ...sample(spelled, 400).flatMap((steps) => {
    let [type, value] = ['"A"', "A"];
    for (const [operator, operand] of steps) {
      type = `${operator}Text<${type}, ${json(operand)}>`;
      value = spellings[operator](value, operand);
    }
    return [{ type, answer: json(value) }];
  }),
  ...sample(fc.tuple(spelled, spelled), 50).flatMap(([a, b]) => {
    const name = (steps: typeof a) => steps.reduce((at, [operator, operand]) => spellings[operator](at, operand), "A");
    const [x, y] = [name(a), name(b)];
    return [
      { type: `ModText<${json(x)}, ${json(y)}>`, answer: json(text.modText(x, y)) },
      { type: `DivText<${json(x)}, ${json(y)}>`, answer: json(text.divText(x, y)) },
    ];
  }),
]);

agree(
  "operators",
  sample(pairs, 350).flatMap(([tile, other]) => {
    const name = () => "";
    const operand = typeText(other);
    const [rule, out] = [(op: string) => `"${op}", ${parts(tile)}, ${operand}`, `${parts(tile)}, ${operand}`];
    const compared = `${json(tile.shape)}, ${operand}`;
    return [
      ...both(`WhyArith<${rule("add")}>`, `ArithOut<${out}>`, arith.inferArith("add", tile, other, name)),
      ...both(`WhyCmp<${rule("lt")}>`, `CmpOut<${compared}>`, arith.inferCompare("lt", tile, other, "<")),
      ...both(`WhyQuotient<${rule("div")}>`, `DivideOut<${out}>`, arith.inferDivide("div", tile, other, name)),
      ...both(`WhyQuotient<${rule("mod")}>`, `ModuloOut<${out}>`, arith.inferModulo("mod", tile, other, name)),
      ...both(
        `WhyFloor<${rule("floorDiv")}>`,
        `ArithOut<${out}>`,
        arith.inferFloorDivide("floorDiv", tile, other, name),
      ),
      ...both(`WhyBits<${rule("and")}>`, `ArithOut<${out}>`, arith.inferBits("and", tile, other, name)),
      {
        type: `WhyLogic<${rule("logicalAnd")}>`,
        answer: json(arith.whyLogic("logicalAnd", tile.dtype, tile.shape, other)),
      },
    ];
  }),
);

agree("elementwise functions", [
  ...sample(fc.tuple(operands, operands), 250).flatMap(([x, y]) => {
    const args = `${typeText(x)}, ${typeText(y)}`;
    const first = x.kind === "pointer" || x.kind === "tensor" || (x.kind === "constexpr" && x.of === "bool");
    const pair = first
      ? []
      : both(`WhyPairSecond<"minimum", ${args}>`, `PairOut<"min", ${args}>`, math.inferPair("minimum", x, y, "min"));
    return [
      ...(x.kind === "constexpr" && y.kind !== "tile" ? [] : pair),
      ...both(`WhyMath<"exp", ${typeText(x)}>`, `MathOut<${typeText(x)}>`, math.inferMath("exp", x)),
      { type: `WhyInts<"cdiv", ${typeText(x)}>`, answer: json(math.whyInts("cdiv", x)) },
      ...(math.whyInts("cdiv", x) ? [] : both(`WhyCdiv<${args}>`, `CdivOut<${args}>`, math.inferCdiv(x, y))),
    ];
  }),
  ...sample(fc.tuple(shapes, pairs), 250).flatMap(([lanes, [x, y]]) => {
    const condition = typeText(tileType("int1", lanes));
    const first = whyBroadcast("where", lanes, x.shape);
    const args = `${condition}, ${typeText(x)}, ${typeText(y)}`;
    return [
      { type: `WhyWhereFirst<${condition}, ${typeText(x)}>`, answer: json(first) },
      ...(first
        ? []
        : both(`WhyWhereSecond<${args}>`, `WhereOut<${args}>`, math.inferWhere(tileType("int1", lanes), x, y))),
    ];
  }),
  ...sample(operands, 60).map((c) => ({
    type: `WhyCond<"where", ${typeText(c)}>`,
    answer: json(math.whyCond("where", c)),
  })),
]);

const axes = fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined });
const products = fc
  .tuple(
    elems,
    elems,
    fc.array(dims, { maxLength: 1 }),
    dims,
    dims,
    dims,
    fc.constantFrom(0, 1, 2),
    fc.option(tiles, { nil: undefined }),
  )
  .map(([e, f, batch, m, k, n, slip, acc]): [TileType, TileType, TileType | undefined] => [
    tileType(e, [...batch, m, k]),
    tileType(slip === 2 ? f : e, slip === 1 ? [...batch, n, k] : [...batch, k, n]),
    acc,
  ]);
agree("reductions and dot", [
  ...sample(fc.tuple(tiles, axes, fc.boolean()), 250).flatMap(([x, axis, keep]) => {
    if (axis === undefined && x.shape.length === 0) return [];
    const [tile, ax] = [typeText(x), `${axis}`];
    return [
      ...both(
        `WhySum<"sum", ${tile}> extends "" ? WhyReduceAxis<"sum", ${tile}, ${ax}> : WhySum<"sum", ${tile}>`,
        `ReduceOut<${tile}, SumOf<${tile}>, ${ax}, ${keep}>`,
        inferReduce(reduceRules.summing, "sum", x, axis, keep),
      ),
      ...both(
        `WhyMax<"max", ${tile}> extends "" ? WhyReduceAxis<"max", ${tile}, ${ax}> : WhyMax<"max", ${tile}>`,
        `ReduceOut<${tile}, MaxOf<${tile}>, ${ax}, ${keep}>`,
        inferReduce(reduceRules.comparing, "max", x, axis, keep),
      ),
    ];
  }),
  ...sample(
    fc.oneof(
      products,
      fc.tuple(
        tiles,
        tiles,
        axes.map(() => undefined),
      ),
    ),
    250,
  ).flatMap(([a, b, acc]) => {
    const [x, y, c] = [typeText(a), typeText(b), acc ? typeText(acc) : "undefined"];
    const why =
      `WhyDotFirst<${x}> extends "" ? WhyDotSecond<${x}, ${y}> extends "" ? WhyDotAcc<${x}, ${y}, ${c}> ` +
      `: WhyDotSecond<${x}, ${y}> : WhyDotFirst<${x}>`;
    return both(why, `DotOut<${x}, ${y}, ${c}>`, inferDot(a, b, acc));
  }),
]);

agree("memory", [
  ...sample(fc.tuple(pointers, operands), 250).flatMap(([pointer, other]) => {
    const [p, o, s] = [typeText(pointer), typeText(other), json(pointer.shape)];
    const why = memory.whyOffset("add", pointer, other);
    return [
      { type: `WhyOffset<"add", ${s}, ${o}>`, answer: json(why) },
      ...(why ? [] : [{ type: `OffsetOperand<${s}, ${o}>`, answer: json(memory.offsetOut(pointer, other).shape) }]),
      { type: `WhyWrite<"store", ${p}>`, answer: json(memory.whyWrite("store", pointer)) },
      { type: `WhyLoad<${o}>`, answer: json(memory.whyLoad(other)) },
      { type: `WhyMaskFor<"load", ${p}, ${o}>`, answer: json(memory.whyMaskFor("load", pointer, other)) },
      {
        type: `WhyValue<"store", ${elemText(pointer.to)}, ${s}, ${o}>`,
        answer: json(memory.whyValue("store", pointer.to, pointer.shape, other)),
      },
    ];
  }),
  ...sample(fc.array(operands, { maxLength: 3 }), 150).flatMap((indices) => {
    const list = `[${indices.map(typeText).join(", ")}]`;
    const whys = indices.map(memory.whyIndex);
    const checked = indices.map((index, i) => (whys[i] ? json(whys[i]) : typeText(index)));
    return [
      { type: `IndexArgs<${list}>`, answer: `readonly [${checked.join(", ")}]` },
      ...(whys.some(Boolean) ? [] : [{ type: `IndexedShape<${list}>`, answer: json(memory.spans(indices)) }]),
    ];
  }),
]);

const kinds = Object.keys(atomic.atomicKinds) as atomic.AtomicKind[];
agree(
  "atomics",
  sample(fc.tuple(pointers, operands, fc.constantFrom(...kinds)), 250).flatMap(([pointer, other, kind]) => {
    const [p, o] = [typeText(pointer), typeText(other)];
    return [
      { type: `WhyAtomic<"swap", "${kind}", ${p}>`, answer: json(atomic.whyAtomic("swap", kind, pointer)) },
      { type: `WhyAtomicRead<"peek", "${kind}", ${p}>`, answer: json(atomic.whyAtomicRead("peek", kind, pointer)) },
      { type: `WhyAtomicValue<"swap", ${p}, ${o}>`, answer: json(atomic.whyAtomicValue("swap", pointer, other)) },
      { type: `WhyAtomicMask<"swap", ${p}, ${o}>`, answer: json(atomic.whyAtomicMask("swap", pointer, other)) },
      { type: `WhySwap<"swap", ${p}, ${o}>`, answer: json(atomic.whySwap("swap", pointer, other)) },
    ];
  }),
);

const descriptors: fc.Arbitrary<DescriptorType> = fc.record({
  kind: fc.constant("descriptor" as const),
  to: elems,
  shape: fc.oneof(
    fc.array(dims, { minLength: 1, maxLength: 3 }),
    dims.map((dim): Dim[] => [1, dim]),
  ),
  access: fc.constantFrom("in" as const, "out" as const),
});
agree(
  "descriptors",
  sample(fc.tuple(descriptors, operands, pointers), 250).flatMap(([desc, other, pointer]) => {
    const [o, block, e] = [typeText(other), json(desc.shape), elemText(desc.to)];
    const why = whyRows("gather", desc, other);
    return [
      { type: `WhyBlockOffset<"load", ${o}>`, answer: json(whyBlockOffset("load", other)) },
      {
        type: `WhyBlockValue<"store", ${e}, ${block}, ${o}>`,
        answer: json(whyBlockValue("store", desc.to, desc.shape, other)),
      },
      { type: `WhyBlockWrite<"store", "${desc.access}">`, answer: json(whyBlockWrite("store", desc)) },
      { type: `WhyDescriptor<"load", ${typeText(desc)}>`, answer: json(whyDescriptor("load", desc)) },
      { type: `WhyDescriptor<"load", ${o}>`, answer: json(whyDescriptor("load", other)) },
      { type: `WhyLoad<${typeText(desc)}>`, answer: json(memory.whyLoad(desc)) },
      { type: `WhyRows<"gather", ${block}, ${o}>`, answer: json(why) },
      ...(why === undefined ? [{ type: `RowsShape<${block}, ${o}>`, answer: json(rowsShape(desc, other)) }] : []),
      { type: `WhyBase<${typeText(pointer)}>`, answer: json(madeOf(pointer, true)) },
      { type: `WhyBase<${o}>`, answer: json(madeOf(other, true)) },
      { type: `WhyDescribed<${o}>`, answer: json(madeOf(other, false)) },
    ];
  }),
);
/** What is said of the base of a descriptor when all else is right. */
function madeOf(base: Type, isExplicit: boolean): RuleError | undefined {
  const list = (...numbers: number[]) => ({ type: none, items: numbers.map((each) => ({ type: literalType(each) })) });
  const axes = base.kind === "tensor" ? base.dims.map(() => 16) : [16];
  const blockShape = list(...axes);
  const extents = { shape: list(16), strides: list(1) };
  const answer = inferDescriptor({ base: { type: base }, blockShape, ...(isExplicit && extents) });
  return answer instanceof Message ? answer : undefined;
}

agree("control and creation", [
  ...sample(operands, 150).flatMap((x) => {
    const o = typeText(x);
    return [
      { type: `WhyRangeBound<${o}>`, answer: json(whyRangeBound(x)) },
      { type: `WhyStep<${o}>`, answer: json(whyStep(x)) },
      { type: `WhyWhen<${o}>`, answer: json(whyCondition(x)) },
      { type: `WhyWhile<${o}>`, answer: json(whyWhile(x)) },
      { type: `WhyDim<"zeros", ${o}>`, answer: json(whyDim("zeros", x)) },
      { type: `WhyBound<"arange", ${o}>`, answer: json(whyBound("arange", x)) },
    ];
  }),
  ...sample(fc.tuple(operands, elems), 150).map(([x, elem]) => ({
    type: `WhyFill<${typeText(x)}, ${elemText(elem)}>`,
    answer: json(create.whyFill(x, elem)),
  })),
  ...sample(fc.tuple(tiles, elems, fc.boolean()), 150).flatMap(([x, elem, bits]) =>
    both(
      `WhyTo<${elemText(x.dtype)}, DType<${elemText(elem)}>, ${bits}>`,
      `ToOut<${typeText(x)}, DType<${elemText(elem)}>>`,
      create.inferTo(x, elem, bits),
    ),
  ),
  ...sample(fc.constantFrom<Elem>("int8", "int32", "uint32", "int64"), 8).map((elem) => ({
    type: `RangeElement<0, ${typeText(tileType(elem, []))}, 1>`,
    answer: elemText(rangeElement(literalType(0), tileType(elem, []), literalType(1))),
  })),
  ...sample(fc.oneof(kin, fc.tuple(tiles, tiles)), 200).flatMap(([x, y]) => {
    const args = `${typeText(x)}, ${typeText(y)}`;
    const split = create.inferSplit(x);
    return [
      ...both(`WhyJoin<"join", ${args}>`, `JoinOut<${args}>`, create.inferJoin(x, y)),
      ...(x.shape.length === 0 && y.shape.length === 0
        ? []
        : both(`WhyJoin<"interleave", ${args}>`, `InterleaveOut<${args}>`, create.inferInterleave(x, y))),
      ...(x.shape.length === 0 ? [] : both(`WhyCat<${args}>`, `CatOut<${typeText(x)}, 0>`, create.inferCat(x, y, 0))),
      { type: `WhySplit<${typeText(x)}>`, answer: json(split instanceof Message ? split : undefined) },
    ];
  }),
]);
