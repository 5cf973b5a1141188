/** Asks the TypeScript compiler about many types at once: each question says what the type must be, exactly. */
import type { Elem } from "../../src/types/dtype.js";
import { literalValue, type Type } from "../../src/types/types.js";
import { inProjectFolder, tsc } from "../support/tsc.js";

/** A type expression over the exports of `src/types` and `src/rules`, and the type that it must be. */
export interface Question {
  readonly type: string;
  readonly answer: string;
}

/** Where each name of a question comes from. */
const exportsOf = {
  "types/rule-error": "Same",
  "types/dtype": "OneOf DType",
  "types/promote":
    "Promote Divide Modulo WhyPromote WhyCompare WhySelect WhyDivide WhyFloorDivide WhyInt WhyFloat32 " +
    "WhyNumber WhyLiteral WhyWeak",
  "types/casts": "WhyCast WhyBitcast SumElement MaxElement",
  "types/shape": "Broadcast WhyBroadcast WhyBroadcastTo SameShape FitsIn Show",
  "types/dims": "Axis WhyAxis Reduce Expand WhyExpand Trans WhyTrans Permute WhyPermute WhyReshape Double DoubleAt",
  "types/constexpr": "Constexpr ConstBool ConstFloat Span WhyDim WhyBound",
  "types/constexpr-text": "AddText SubText MulText FloorDivText ModText DivText",
  "types/tile": "Tile",
  "rules/tensor-types": "Pointer Tensor View Descriptor",
  "rules/arithmetic-rules": "WhyArith ArithOut WhyCmp CmpOut WhyQuotient DivideOut ModuloOut WhyFloor WhyBits WhyLogic",
  "rules/math-rules":
    "WhyMath MathOut WhyPairSecond PairOut WhyInts WhyCdiv CdivOut WhyCond WhyWhereFirst " + "WhyWhereSecond WhereOut",
  "rules/reduce-rules": "WhySum WhyMax WhyReduceAxis ReduceOut SumOf MaxOf",
  "rules/dot-rules": "WhyDotFirst WhyDotSecond WhyDotAcc DotOut",
  "rules/control-rules": "WhyRangeBound RangeElement WhyStep WhyWhen WhyWhile",
  "rules/create-rules":
    "WhyFill WhyTo ToOut WhyJoin JoinOut WhySplit WhyCat CatOut InterleaveOut WhyGatherIndex " + "WhyHistogram",
  "rules/atomic-rules": "WhyAtomic WhyAtomicRead WhyAtomicValue WhyAtomicMask WhySwap",
  "rules/descriptor-rules":
    "WhyBase WhyBlockOffset WhyBlockValue WhyBlockWrite WhyDescribed WhyDescriptor WhyRows RowsShape",
  "rules/memory-rules": "WhyOffset OffsetOperand IndexArgs IndexedShape WhyLoad WhyWrite WhyMaskFor WhyValue",
};

/** The questions whose answer is another, in words. `name` keeps the files of two tests apart. */
export function disagreements(name: string, questions: readonly Question[]): string[] {
  const head = [
    ...Object.entries(exportsOf).map(
      ([module, names]) => `import type { ${names.replaceAll(" ", ", ")} } from "../../../../src/${module}.js";`,
    ),
    "type Is<T extends true> = T;",
  ];
  const lines = questions.map(({ type, answer }, i) => `export type Q${i} = Is<Same<${type}, ${answer}>>;`);
  const files = { "questions.ts": [...head, ...lines].join("\n") };
  const output = inProjectFolder(name, files, (folder) => tsc(["-p", folder, "--pretty", "false"]), { paths: {} });
  return output
    .split("\n")
    .filter((line) => line.includes("error TS"))
    .map((line) => {
      const at = Number(/questions\.ts\((\d+)/.exec(line)?.[1] ?? 0) - 1 - head.length;
      const question = questions[at];
      return question ? `${question.type} is not ${question.answer}` : line;
    });
}

/** An element type as TypeScript writes it. */
export function elemText(elem: Elem): string {
  return typeof elem === "string" ? JSON.stringify(elem) : `OneOf<"${elem.name}", ${JSON.stringify(elem.members)}>`;
}

/** A run-time type as the type of the argument that an author would pass. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case "tile":
      return `Tile<${elemText(type.dtype)}, ${JSON.stringify(type.shape)}>`;
    case "pointer":
      return `Pointer<${elemText(type.to)}, ${JSON.stringify(type.shape)}, "${type.access}">`;
    case "view":
      return `View<${elemText(type.to)}, ${JSON.stringify(type.shape)}, "${type.access}">`;
    case "descriptor":
      return `Descriptor<${elemText(type.to)}, ${JSON.stringify(type.shape)}, "${type.access}">`;
    case "constexpr": {
      if (literalValue(type) !== undefined || type.text === "true" || type.text === "false") return type.text;
      const names = { int: "Constexpr", float: "ConstFloat", bool: "ConstBool", string: "never", dtype: "never" };
      return `${names[type.of]}<${JSON.stringify(type.text)}>`;
    }
    case "tensor":
      return `Tensor<${elemText(type.to)}, ${JSON.stringify(type.dims)}, "${type.access}">`;
    case "none":
      return "undefined";
    default:
      return type satisfies never;
  }
}
