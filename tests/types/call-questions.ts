/**
 * Calls that are drawn from samples: each differs from one that is right in one argument, one option, or the dtype or
 * shape of all its tiles. So a question that fails is small.
 */
import type { Op, OperandKind } from "../../src/ir/op.js";
import { elemNames } from "./call-setting.js";
import { callText, parseCall, type Call } from "./call-parts.js";

const tiles = new RegExp(
  `\\b((?:[pvtd]_(?:in|out|inout)_)?)(${elemNames.join("|")})_((?:[A-Z0-9]+(?:x2|by2)?_?)*)\\b`,
  "g",
);
const retyped = (text: string, elem: string) =>
  text.replace(tiles, (_, kind: string, __, dims: string) => `${kind}${elem}_${dims}`);
const reshaped = (text: string, dims: string) =>
  text.replace(tiles, (_, kind: string, elem: string) => `${kind}${elem}_${dims}`);
const isOperand = (text: string) => new RegExp(`^${tiles.source}$`).test(text);

const SHAPES = ["", "1", "8", "M", "N", "M_N", "N_M", "M_1", "1_M", "8_8", "M_Mx2", "M_Mby2", "2_M_N"];
const NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "1e-10", "300", "-5"];
const CONSTEXPRS = ["M", "EPS", "FLAG", "M.mul(2)"];
const TRUTHS = ["true", "false"];
/** What is nothing that a kernel computes with. */
const OTHERS = ['"x"', "null", "undefined", "tl.float16", "[0]", "() => 1"];
const STATE = ["tl.mut(float32_M)"];
const ADDRESSES = [
  "p_in_float32_",
  "p_in_int32_M",
  "v_in_float32_M",
  "v_inout_int32_M_N",
  "t_in_float32_A_B",
  "t_inout_int32_A",
  "d_in_float32_16_16",
  "d_inout_int32_1_16",
];
const LISTS = [
  "[]",
  "[0]",
  "[1, 0]",
  "[0, 1]",
  "[0, 0]",
  "[M]",
  "[M, N]",
  "[16, 16]",
  "[3]",
  "[int32_]",
  "[int32_, 0]",
  "[float32_]",
  "[int32_M, int32_N]",
  "[2, 32]",
  "[M, N, 1048576]",
];
const FUNCTIONS = ["(a, b) => a.add(b)", "(a, b) => a.lt(b)", "(a) => a", "() => 1"];
const DTYPES = elemNames.map((name) => (name.length === 1 ? name : `tl.${name}`));

/** Words that options and constants take. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  propagateNan: ["none", "all"],
  sem: ["acquire", "release", "acq_rel", "relaxed"],
  scope: ["gpu", "cta", "sys"],
  paddingOption: ["zero", "nan"],
  cacheModifier: [".ca", ".cg", ".cv", ".wb", ".cs", ".wt"],
  evictionPolicy: ["evict_first", "evict_last"],
  inputPrecision: ["tf32", "tf32x3", "ieee", "bf16x3"],
  fpDowncastRounding: ["rtne", "rtz"],
  lhsFormat: ["e2m1", "e4m3", "e5m2", "bf16", "fp16"],
  rhsFormat: ["e2m1", "e4m3", "e5m2", "bf16", "fp16"],
};

/** What may be drawn for an operand. */
function drawn(name: string, kind: OperandKind, given: string | undefined): readonly string[] {
  const values = [...NUMBERS, ...CONSTEXPRS, ...TRUTHS];
  const wrong = [...OTHERS, ...STATE, ...ADDRESSES];
  const like = given !== undefined && isOperand(given) ? given : "float32_M";
  const others = [...elemNames.map((elem) => retyped(like, elem)), ...SHAPES.map((dims) => reshaped(like, dims))];
  switch (kind) {
    case "value":
    case "index":
    case "tiles":
    case "tile":
    case "mask":
    case "tileOrPointer":
    case "valueOrPointer":
      return [...others, ...values, ...wrong];
    case "address":
    case "tensor":
    case "tensorOrView":
    case "descriptor":
      return [
        ...others,
        ...["in", "out", "inout"].map((access) => like.replace(/_(in|out|inout)_/, `_${access}_`)),
        ...ADDRESSES,
        ...STATE,
        "float32_M",
        "1",
      ];
    case "constant":
    case "constants":
      return [
        ...(WORDS[name] ?? []).map((word) => JSON.stringify(word)),
        ...values,
        ...LISTS.slice(0, 8),
        "int32_",
        ...OTHERS,
      ];
    case "shape":
    case "values":
      return [...LISTS, "[float32_M]", "[int64_]", "[true]", "[t_in_float32_A_B]", "[EPS]", "1"];
    case "dtype":
      return [...DTYPES, "1", "float32_M"];
    case "function":
      return [...FUNCTIONS, "1"];
    default:
      return kind satisfies never;
  }
}
const kindOf = (kind: string) => kind.replace("?", "") as OperandKind;

/** The calls that differ from `sample`, a call of `op`, in one thing. */
export function callsLike(sample: string, op: Op): string[] {
  const call = parseCall(sample);
  const isMethod = !/^(tl|libdevice)\b/.test(call.callee);
  const kinds = Object.entries(op.operands);
  const changed: Call[] = [];
  call.args.forEach((given, i) => {
    const at = Math.min(isMethod ? i + 1 : i, kinds.length - 1);
    const [name, kind] = kinds[at]!;
    for (const text of drawn(
      name,
      op.hasRestOperand && at === kinds.length - 1 ? "value" : op.variadic ? "value" : kindOf(kind),
      given,
    ))
      changed.push({ ...call, args: call.args.with(i, text) });
  });
  const next = kinds[call.args.length + (isMethod ? 1 : 0)];
  for (const text of next ? drawn(next[0], kindOf(next[1]), undefined) : ["0", "float32_M"])
    changed.push({ ...call, args: [...call.args, text] });
  if (call.args.length > 0) changed.push({ ...call, args: call.args.slice(0, -1) });
  for (const [name, kind] of Object.entries(op.options))
    if (name !== "claimed")
      for (const text of drawn(name, kindOf(kind), ["value", "mask"].includes(kindOf(kind)) ? "int1_M" : undefined))
        changed.push({ ...call, options: { ...call.options, [name]: text } });
  changed.push({ ...call, options: { ...call.options, color: "1" } });
  const whole = [...elemNames.map((elem) => retyped(sample, elem)), ...SHAPES.map((dims) => reshaped(sample, dims))];
  const receivers = isMethod
    ? ["M", "EPS", "FLAG"].map((name) => callText({ ...call, callee: call.callee.replace(/^\w+/, name) }))
    : [];
  return [...new Set([sample, ...changed.map(callText), ...whole, ...receivers])];
}

/** `tl.sum(x, 1)` and `x.sum(1)`, where `op` is a method too: both are declared, and must say the same. */
export function inBothForms(text: string, op: Op): string[] {
  const { callee, args, options } = parseCall(text);
  const [receiver, ...others] = args;
  if (!op.method || !callee.startsWith("tl.") || receiver === undefined || !isOperand(receiver)) return [text];
  return [text, callText({ callee: `${receiver}.${callee.slice("tl.".length)}`, args: others, options })];
}
