/** Loads, stores and atomics. An atomic returns the old value. */
import { optionValue } from "../diagnostics/catalog/rule-codes.js";
import { bitwise, exchange, greatest, least, sum, type Change } from "../numerics/array-map.js";
import {
  type Atomic,
  type AtomicCas,
  type AtomicKind,
  type AtomicLoad,
  type AtomicPoll,
  type AtomicStore,
  whyAtomic,
  whyAtomicMask,
  whyAtomicRead,
  whyAtomicValue,
  whySwap,
} from "../rules/atomic-rules.js";
import {
  loadOut,
  type Load,
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
import { none, type PointerType, tileType, type Type, type ViewType, type Typed } from "../types/types.js";
import { defineOp } from "./define.js";
import type { TypedArguments } from "../ir/op.js";
import type { Constant } from "../values/runtime-values.js";
import { type RuleError, type Validate, whyChoice } from "../types/rule-error.js";

const ordering = { sem: "constant?", scope: "constant?" } as const;
const SEMANTICS = ["acquire", "release", "acq_rel", "relaxed"];

/** Repeats the checks of TypeScript's types for authors who write JavaScript. */
function whyOrdering(
  op: string,
  { sem, scope }: TypedArguments<typeof ordering>,
  allowed = SEMANTICS,
): RuleError | undefined {
  if (sem && !allowed.includes(String(sem.literal)))
    return optionValue(`${op}: sem is one of ${allowed.join(", ")}, this is ${String(sem.literal)}`);
  return scope && !["gpu", "cta", "sys"].includes(String(scope.literal))
    ? optionValue(`${op}: scope is gpu, cta or sys, this is ${String(scope.literal)}`)
    : undefined;
}

/** The memory order of an access, for the evaluator. */
const orderOf = (sem: Constant | undefined, fallback: string): string => (typeof sem === "string" ? sem : fallback);

function atomic<Name extends string, Kind extends AtomicKind>(
  name: Name,
  python: string,
  kind: Kind,
  change: Change,
  needsOldValue: boolean,
) {
  return defineOp<Atomic<Name, Kind>>()({
    name,
    operands: { address: "address", value: "value" },
    options: { mask: "mask?", ...ordering },
    effect: "atomic",
    spelling: { form: "call", name: python },
    infer: (args) => {
      const { address, value, mask } = args;
      const why = whyAtomic(name, kind, address.type) || whyOrdering(name, args);
      if (why) return why;
      const addressType = address.type as PointerType | ViewType;
      return (
        whyAtomicValue(name, addressType, value.type) ||
        (mask && whyAtomicMask(name, addressType, mask.type)) ||
        loadOut(addressType)
      );
    },
    evaluate: ({ address, value, mask, sem }, context) => {
      return context.atomic(address, mask, {
        operands: [value],
        change: change(address.dtype),
        reads: needsOldValue,
        order: orderOf(sem, "acq_rel"),
      });
    },
    proof: { memoryOperands: { address: "address", value: "value" } },
  });
}

/** Atomic addition: `tl.atomic_add(ptr, value, mask=mask)`. */
export const atomicAdd = atomic("atomicAdd", "tl.atomic_add", "add", sum, true);
/**
 * Atomic maximum: `tl.atomic_max(ptr, value, mask=mask)`. A NaN in memory remains. A positive NaN operand replaces any
 * number.
 */
export const atomicMax = atomic("atomicMax", "tl.atomic_max", "extreme", greatest, true);
/** Atomic minimum: `tl.atomic_min(ptr, value, mask=mask)`. A positive NaN operand has no effect. */
export const atomicMin = atomic("atomicMin", "tl.atomic_min", "extreme", least, true);
/** Bitwise and: `tl.atomic_and(ptr, value, mask=mask)`. */
export const atomicAnd = atomic("atomicAnd", "tl.atomic_and", "bits", bitwise("and"), true);
/** Bitwise or: `tl.atomic_or(ptr, value, mask=mask)`. */
export const atomicOr = atomic("atomicOr", "tl.atomic_or", "bits", bitwise("or"), true);
/** Bitwise exclusive or: `tl.atomic_xor(ptr, value, mask=mask)`. */
export const atomicXor = atomic("atomicXor", "tl.atomic_xor", "bits", bitwise("xor"), true);
/** Replaces the value: `tl.atomic_xchg(ptr, value, mask=mask)`. */
export const atomicXchg = atomic("atomicXchg", "tl.atomic_xchg", "exchange", exchange, false);

/**
 * Compare-and-swap: writes `value` if memory equals `compare` bit for bit, `tl.atomic_cas(ptr, compare, value)`. Both
 * operands must have the dtype and shape of the address. There is no mask, so each index of a view must be in bounds.
 */
export const atomicCas = defineOp<AtomicCas>()({
  name: "atomicCas",
  operands: { address: "address", compare: "value", value: "value" },
  options: ordering,
  effect: "atomic",
  spelling: { form: "call", name: "tl.atomic_cas" },
  infer: (args) => {
    const { address, compare, value } = args;
    const why = whyAtomic("atomicCas", "compare", address.type) || whyOrdering("atomicCas", args);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return (
      whySwap("atomicCas", addressType, compare.type) ||
      whySwap("atomicCas", addressType, value.type) ||
      loadOut(addressType)
    );
  },
  evaluate: ({ address, compare, value, sem }, context) =>
    context.atomic(address, undefined, {
      operands: [compare, value],
      change: (old, expected, next) => (Object.is(old, expected) ? next : old),
      reads: true,
      order: orderOf(sem, "acq_rel"),
    }),
  proof: { memoryOperands: { address: "address", value: "value" } },
});

/** Atomic load: `tl.atomic_load(ptr)`. Needs Triton 3.9. */
export const atomicLoad = defineOp<AtomicLoad>()({
  name: "atomicLoad",
  operands: { address: "address" },
  options: { mask: "mask?", ...ordering },
  effect: "atomic",
  spelling: { form: "call", name: "tl.atomic_load" },
  infer: (args) => {
    const { address, mask } = args;
    const why =
      whyAtomicRead("atomicLoad", "any", address.type) || whyOrdering("atomicLoad", args, ["acquire", "relaxed"]);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return (mask && whyAtomicMask("atomicLoad", addressType, mask.type)) || loadOut(addressType);
  },
  evaluate: ({ address, mask, sem }, context) =>
    context.atomic(address, mask, {
      operands: [],
      change: undefined,
      reads: true,
      order: orderOf(sem, "acquire"),
    }),
  needs: { needsTriton39: () => true },
  proof: { memoryOperands: { address: "address" } },
});

/** Atomic store: `tl.atomic_store(ptr, value)`. Needs Triton 3.9. */
export const atomicStore = defineOp<AtomicStore>()({
  name: "atomicStore",
  operands: { address: "address", value: "value" },
  options: { mask: "mask?", ...ordering },
  effect: "atomic",
  spelling: { form: "call", name: "tl.atomic_store" },
  infer: (args): Type | RuleError => {
    const { address, value, mask } = args;
    const why =
      whyAtomic("atomicStore", "any", address.type) || whyOrdering("atomicStore", args, ["release", "relaxed"]);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return (
      whyAtomicValue("atomicStore", addressType, value.type) ||
      (mask && whyAtomicMask("atomicStore", addressType, mask.type)) ||
      none
    );
  },
  evaluate: ({ address, value, mask, sem }, context) => {
    context.atomic(address, mask, {
      operands: [value],
      change: (_, next) => next,
      reads: false,
      order: orderOf(sem, "release"),
    });
    return [];
  },
  proof: { memoryOperands: { address: "address", value: "value" } },
  needs: { needsTriton39: () => true },
});

/**
 * Waits until memory contains the expected value: `tl.atomic_poll(ptr, expected)`. Returns true in this case, and false
 * after a timeout. Needs Triton 3.9. The program that writes the value must be running already, because a GPU may run
 * the programs of a launch sequentially.
 */
export const atomicPoll = defineOp<AtomicPoll>()({
  name: "atomicPoll",
  operands: { address: "address", expected: "value" },
  options: { ...ordering, timeoutNs: "constant?" },
  effect: "atomic",
  spelling: { form: "call", name: "tl.atomic_poll" },
  infer: (args) => {
    const { address, expected } = args;
    const why =
      whyAtomicRead("atomicPoll", "poll", address.type) || whyOrdering("atomicPoll", args, ["acquire", "relaxed"]);
    if (why) return why;
    const addressType = address.type as PointerType | ViewType;
    return whyAtomicValue("atomicPoll", addressType, expected.type) || tileType("int1", addressType.shape);
  },
  evaluate: ({ address, expected, sem, timeoutNs }, context) =>
    context.poll(address, expected, {
      order: orderOf(sem, "acquire"),
      forever: timeoutNs === undefined,
    }),
  needs: { needsTriton39: () => true },
  proof: { memoryOperands: { address: "address" } },
});

// Loads and stores.

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
