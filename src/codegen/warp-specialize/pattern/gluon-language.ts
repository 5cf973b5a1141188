/** The ops that Gluon shares with Triton's language. */
import type { OpStatement } from "../../../ir/nodes.js";
import { notSpecializable } from "./not-specializable.js";

/** The names of `triton.language` that `gluon.language` has too, in Triton 3.6 and in 3.9. */
const SHARED: ReadonlySet<string> = new Set(
  (
    "abs arange assume broadcast cast cdiv ceil constexpr cos div_rn erf exp exp2 expand_dims fdiv float16 float32 float64 floor fma " +
    "full full_like bfloat16 int1 int8 int16 int32 int64 join load log log2 max maximum min minimum num_programs permute " +
    "program_id reshape rsqrt sin split sqrt sqrt_rn sum uint8 uint16 uint32 uint64 umulhi where xor_sum zeros zeros_like static_range"
  ).split(" "),
);

/** Functions that Gluon lacks and that are emitted as Triton defines them. */
export const EXPANDED = ["sigmoid", "swizzle2d"] as const;

/** Methods of Gluon's tensors. */
const METHODS: ReadonlySet<string> = new Set(["to"]);

const isInGluon = (name: string): boolean => SHARED.has(name) || EXPANDED.some((each) => each === name);

/** @throws {@link NotSpecializable} if Gluon has no equivalent op. */
export function checkLanguage(statement: OpStatement): void {
  const { op, location: at, options } = statement;
  const { spelling } = op;
  const isExternal = spelling.form === "call" && !spelling.name.startsWith("tl.");
  const name = isExternal ? spelling.name : `tl.${op.name}`;
  const symbol = spelling.form === "call" && Object.keys(options).find((option) => option in (spelling.symbols ?? {}));
  if (symbol) notSpecializable(`Gluon has no ${name} with ${symbol}`, at);
  switch (spelling.form) {
    case "call":
      if (isExternal || !isInGluon(spelling.name.slice("tl.".length))) notSpecializable(`Gluon has no ${name}`, at);
      return;
    case "method":
      if (!METHODS.has(spelling.name)) notSpecializable(`Gluon has no ${name}`, at);
      return;
    case "infix":
    case "prefix":
    case "expand":
    case "same":
    case "conditional":
      return;
    case "reflect":
    case "pointer":
    case "raw":
    case "apply":
    case "lowered":
      return notSpecializable(`${name} has no warp-specialized form`, at);
    default:
      return spelling satisfies never;
  }
}
