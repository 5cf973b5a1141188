/** A dim of a tile as a value that authors can compute with. */
import { builder } from "../ir/builder.js";
import { readText } from "../types/constexpr-value.js";
import { Handle } from "../ir/handle.js";
import * as ops from "../ops/index.js";

/** A constexpr handle, or a number. */
type Operand = any;

/** The ops without their signatures: instantiating those for `any` is 6 % of this package's type instantiations. */
const untypedOps: Readonly<Record<keyof typeof ops, (...operands: Operand[]) => Operand>> = ops as never;

/** The value of a dim such as `BLOCK` or `BLOCK * 2`. Reuses the kernel's value if that is in scope. */
export function dimValue(text: string): Operand {
  const constexpr = builder("shape").constexprs.get(text);
  if (constexpr && !constexpr.scope.isClosed) return new Handle(constexpr);
  return readText<Operand>(text, {
    number: (value) => value,
    name: (name) => new Handle(builder("shape").constexprOf(name)),
    neg: untypedOps.neg,
    not: untypedOps.not,
    isString: (name, choice) => {
      const value = builder("shape").constexprs.get(name);
      const isText = value?.type.kind === "constexpr" && value.type.of === "string";
      return isText ? untypedOps.eq(new Handle(value), choice) : undefined;
    },
    binary: {
      "+": untypedOps.add,
      "-": untypedOps.sub,
      "*": untypedOps.mul,
      "//": untypedOps.floorDiv,
      "/": untypedOps.div,
      "%": untypedOps.mod,
      "<": untypedOps.lt,
      "<=": untypedOps.le,
      ">": untypedOps.gt,
      ">=": untypedOps.ge,
      "==": untypedOps.eq,
      "!=": untypedOps.ne,
    },
    call: {
      choose: untypedOps.choose,
      and: untypedOps.and,
      or: untypedOps.or,
      cdiv: untypedOps.cdiv,
      min: untypedOps.minimum,
      max: untypedOps.maximum,
      shl: untypedOps.shl,
      shr: untypedOps.shr,
      bit_length: untypedOps.bitLength,
      next_power_of_2: untypedOps.nextPowerOf2,
    },
  });
}
