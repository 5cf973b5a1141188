/** The wrapper's check for Triton's interpreter, which computes with the bits of bfloat16 values. */
import type { KernelIR } from "../../ir/nodes.js";
import { resultsOf, walkAll } from "../../ir/walk.js";
import { members } from "../../types/dtype.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { CHECK_BFLOAT16 } from "./argument-helpers.js";
import { binderDType, dtypeBinder, INTERPRETED, torchDType } from "./checks.js";
import type { WrapperContext } from "./scope.js";

const BFLOAT16 = "bfloat16";

/** Where a kernel may compute in bfloat16, the wrapper refuses to on an interpreter that has not been corrected. */
export function bfloat16Check(context: WrapperContext): Block {
  const dtypes = usesBFloat16(context.ir) ? [torchDType(BFLOAT16)] : possible(context);
  if (dtypes.length === 0) return [];
  const check = py.call(CHECK_BFLOAT16, py.string(context.names.wrapper), ...dtypes);
  return [{ kind: "if", branches: [{ test: py.name(INTERPRETED), body: [py.expression(check)] }] }];
}

/** Whether every call does. */
function usesBFloat16(ir: KernelIR): boolean {
  let found = ir.params.some((param) => "dtype" in param && param.dtype === BFLOAT16);
  walkAll(ir, (statement) => {
    if (resultsOf(statement).some(({ type }) => type.kind === "tile" && type.dtype === BFLOAT16)) found = true;
  });
  return found;
}

/** The dtypes of a call that may be it, one for each dtype variable. */
function possible(context: WrapperContext): readonly Expression[] {
  const elems = context.ir.params.map((param) => {
    if (param.kind === "constexpr") return param.variable;
    return "dtype" in param ? param.dtype : undefined;
  });
  const variables = elems.flatMap((elem) =>
    elem === undefined || typeof elem === "string" || !members(elem).includes(BFLOAT16) ? [] : [elem.name],
  );
  return [...new Set(variables)].map((variable) => {
    const binder = dtypeBinder(context, variable);
    const dtype = binderDType(context, variable);
    if (binder.kind === "constexpr" || !binder.given) return dtype;
    return py.conditional(py.none, py.compare(context.tensor(binder), ["is", py.none]), dtype);
  });
}
