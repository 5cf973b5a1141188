/** Atomic read-modify-write ops. Each returns the old value. */
import { optionValue } from "../diagnostics/catalog/rule-codes.js";
import { bitwise, exchange, greatest, least, sum, type Change } from "../numerics/array-atomic.js";
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
import { loadOut } from "../rules/memory-rules.js";
import { none, type PointerType, tileType, type Type, type ViewType } from "../types/types.js";
import { defineOp } from "./define.js";
import type { TypedArguments } from "../ir/op.js";
import type { Constant } from "../values/runtime-values.js";
import type { RuleError } from "../types/rule-error.js";

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
