/** Derived ops: compositions of other ops that have a name in TypeScript and in the emitted Python. */
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";
import { builder } from "../ir/builder.js";
import type { Operands } from "../ir/op.js";
import { checkedArguments, defineFunctionOp, type OpRecord } from "./define.js";
import { appendCall, resultOf } from "./fn.js";
import { actuals, traceHelper } from "./helper.js";

/** What the file of a derived op writes down; its Python, its evaluation and what is known of it come from its parts. */
interface DerivedRecord<Given extends Operands> extends Pick<
  OpRecord<Given, {}>,
  "name" | "method" | "operands" | "infer"
> {
  readonly parts: (...operands: any[]) => unknown;
}

/**
 * Defines a derived op: `derived<Signature>()({ … })`. The record says how it is called and typed, so that messages speak
 * of this op; `parts` computes it with other ops, on tiles. A kernel that calls it has one `@triton.jit` function of its
 * name for each combination of operand types, as with `tl.fn`.
 */
export function derived<Signature>() {
  return <const Given extends Operands>({ parts, ...record }: DerivedRecord<Given>) =>
    defineFunctionOp<Signature>()<Given>({ ...record, parts, effect: "pure", spelling: { form: "apply" } }, (op) => {
      const definition = { body: parts, name: op.name, noinline: false, at: undefined, what: op.name, isLibrary: true };
      return (...args) => {
        const recorder = builder(`tl.${op.name}`);
        const at = recorder.location();
        if (recorder.place === "host") fail(hostOnly.notOnHost(op.name), at);
        checkedArguments(recorder, op, args, at);
        const values = actuals(recorder, args, op.name, at);
        const { helper, body } = traceHelper(recorder, definition, args, at);
        return resultOf(appendCall(recorder, helper, values, at), body.form);
      };
    });
}
