/** Loads and stores. */
import { optionValue } from "../diagnostics/catalog/rule-codes.js";
import type { Constant } from "../values/runtime-values.js";
import { type Validate, whyChoice, type RuleError } from "../types/rule-error.js";
import {
  type Load,
  loadOut,
  type Store,
  whyInBounds,
  type InBoundsOut,
  type WhyInBounds,
  whyLoad,
  whyMaskFor,
  whyOther,
  whyValue,
  whyWrite,
} from "../rules/memory-rules.js";
import type { PointerType, ViewType, Typed } from "../types/types.js";
import { defineOp } from "./define.js";
import type { TypedArguments } from "../ir/op.js";

const CACHE_MODIFIERS = { load: ["", ".ca", ".cg", ".cv", ".cs"], store: ["", ".wb", ".cg", ".cs", ".wt"] } as const;

const cacheOptions = { cacheModifier: "constant?", evictionPolicy: "constant?" } as const;
type CacheOptions = TypedArguments<typeof cacheOptions> & { readonly volatile?: Typed | undefined };

/** Checks the cache options. They exclude each other, because ptxas rejects a combination of them. */
function whyCacheOptions(
  op: "load" | "store",
  { cacheModifier, evictionPolicy, volatile }: CacheOptions,
): RuleError | undefined {
  const why =
    whyChoice(`${op}: cacheModifier`, cacheModifier?.literal, CACHE_MODIFIERS[op]) ||
    whyChoice(`${op}: evictionPolicy`, evictionPolicy?.literal, ["", "evict_first", "evict_last"]);
  if (why) return why;
  const present = [
    ...(cacheModifier?.literal ? ["cacheModifier"] : []),
    ...(evictionPolicy?.literal ? ["evictionPolicy"] : []),
    ...(volatile?.literal ? ["volatile"] : []),
  ];
  return present.length > 1
    ? optionValue(`${op}: ${present.join(" and ")} exclude each other`, "give one of them")
    : undefined;
}

/** Declares that an index is in bounds, so that a view does not mask it. The evaluator checks this in every run. */
export const inBounds = defineOp<<const X>(index: Validate<X, WhyInBounds<X>>) => InBoundsOut<X>>()({
  name: "inBounds",
  operands: { index: "value" },
  effect: "pure",
  spelling: { form: "same" },
  infer: ({ index }) => whyInBounds(index.type) || index.type,
  fold: (index: Constant) => index,
  evaluate: ({ index }) => index,
  facts: { nonNegative: ([index]) => index === true, claimsInBounds: true, isIdentity: true },
  proof: { term: ({ index }) => index, anyWidth: true, classTransfer: ({ index }) => index },
});

/**
 * Loads a tile: `tl.load(ptr, mask=mask, other=0.0)`. Lanes that a view masks contain `other`, by default 0. Lanes that
 * an explicit mask disables contain `other`, and are undefined without it. `cacheModifier` ".cs" needs Triton 3.9.
 */
export const load = defineOp<Load>()({
  name: "load",
  operands: { address: "address" },
  options: { mask: "mask?", other: "value?", ...cacheOptions, volatile: "constant?" },
  effect: "read",
  spelling: { form: "call", name: "tl.load" },
  lowering: { maskedLanes: 0 },
  infer: (args) => {
    const { address, mask, other } = args;
    const why = whyLoad(address.type) || whyCacheOptions("load", args);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return (
      (mask && whyMaskFor("load", addressType, mask.type)) ||
      (other && whyOther(addressType, mask !== undefined, other.type)) ||
      loadOut(addressType)
    );
  },
  evaluate: ({ address, mask, other }, context) => context.load(address, mask, other),
  needs: { needsTriton39: ({ cacheModifier }) => cacheModifier?.literal === ".cs" },
  proof: { memoryOperands: { address: "address" } },
});

/** Stores a tile: `tl.store(ptr, value, mask=mask)`. The value must have the tensor's dtype. A scalar is broadcast. */
export const store = defineOp<Store>()({
  name: "store",
  operands: { address: "address", value: "value" },
  options: { mask: "mask?", ...cacheOptions },
  effect: "write",
  spelling: { form: "call", name: "tl.store" },
  infer: (args) => {
    const { address, value, mask } = args;
    const why = whyWrite("store", address.type) || whyCacheOptions("store", args);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return (
      whyValue("store", addressType.to, addressType.shape, value.type) ||
      (mask && whyMaskFor("store", addressType, mask.type)) || { kind: "none" }
    );
  },
  evaluate: ({ address, value, mask }, context) => {
    context.store(address, value, mask);
    return [];
  },
  proof: { memoryOperands: { address: "address", value: "value" } },
});
