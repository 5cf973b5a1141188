/** A tile's dimension as a value that authors compute with. */
import { builder } from "../ir/builder.js";
import { readText } from "../types/constexpr-value.js";
import { Handle } from "../ir/handle.js";
import * as ops from "../ops/index.js";

/** A constexpr, or a number if the text spells one. */
type Operand = any;

/** The ops without their signatures, which are dear to instantiate for `any`: 6 % of all instantiations of this package. */
const untyped: Readonly<Record<keyof typeof ops, (...operands: Operand[]) => Operand>> = ops as never;

/** The value of `BLOCK`, an argument, or of `BLOCK * 2`, computed unless the kernel has done so already. */
export function dimValue(text: string): Operand {
  const known = builder("shape").constexprs.get(text);
  if (known && !known.scope.closed) return new Handle(known);
  return readText<Operand>(text, {
    number: (value) => value,
    name: (name) => new Handle(builder("shape").constexprs.get(name)!),
    neg: untyped.neg,
    not: untyped.not,
    isString: (name, word) => {
      const value = builder("shape").constexprs.get(name);
      const isText = value?.type.kind === "constexpr" && value.type.of === "string";
      return isText ? untyped.eq(new Handle(value), word) : undefined;
    },
    binary: {
      "+": untyped.add,
      "-": untyped.sub,
      "*": untyped.mul,
      "//": untyped.floorDiv,
      "/": untyped.div,
      "%": untyped.mod,
      "<": untyped.lt,
      "<=": untyped.le,
      ">": untyped.gt,
      ">=": untyped.ge,
      "==": untyped.eq,
      "!=": untyped.ne,
    },
    call: {
      choose: untyped.choose,
      and: untyped.and,
      or: untyped.or,
      cdiv: untyped.cdiv,
      min: untyped.minimum,
      max: untyped.maximum,
      shl: untyped.shl,
      shr: untyped.shr,
      bit_length: untyped.bitLength,
      next_power_of_2: untyped.nextPowerOf2,
    },
  });
}
