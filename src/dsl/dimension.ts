/** A tile's dimension as a value that authors compute with. */
import { builder } from "../ir/builder.js";
import { readText } from "../types/constexpr-value.js";
import { Handle } from "../ir/handle.js";
import * as ops from "../ops/index.js";

/** A constexpr, or a number if the text spells one. */
type Operand = any;

/** The value of `BLOCK`, an argument, or of `BLOCK * 2`, computed unless the kernel has done so already. */
export function dimValue(text: string): Operand {
  const known = builder("shape").constexprs.get(text);
  if (known && !known.scope.closed) return new Handle(known);
  return readText<Operand>(text, {
    number: (value) => value,
    name: (name) => new Handle(builder("shape").constexprs.get(name)!),
    neg: ops.neg,
    not: ops.not,
    isWord: (name, word) => {
      const value = builder("shape").constexprs.get(name);
      const isText = value?.type.kind === "constexpr" && value.type.of === "string";
      return isText ? ops.eq(new Handle(value) as never, word as never) : undefined;
    },
    binary: {
      "+": ops.add,
      "-": ops.sub,
      "*": ops.mul,
      "//": ops.floorDiv,
      "/": ops.div,
      "%": ops.mod,
      "<": ops.lt,
      "<=": ops.le,
      ">": ops.gt,
      ">=": ops.ge,
      "==": ops.eq,
      "!=": ops.ne,
    },
    call: {
      choose: ops.choose,
      and: ops.and,
      or: ops.or,
      cdiv: ops.cdiv,
      min: ops.minimum,
      max: ops.maximum,
      shl: ops.shl,
      shr: ops.shr,
      bit_length: ops.bitLength,
      next_power_of_2: ops.nextPowerOf2,
    },
  });
}
