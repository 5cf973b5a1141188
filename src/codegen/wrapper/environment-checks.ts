/** The wrapper's check of the GPU, for kernels that support only some GPUs. */
import { hasFloatAtomics } from "../../analysis/memory-effects.js";
import { formatTargets } from "../../compiled/kernel-targets.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { deviceOf, binderDType, dtypeBinder, torchDType } from "./checks.js";
import type { WrapperContext } from "./scope.js";
import type { KernelIR } from "../../ir/nodes.js";
import { resultsOf, walkAll } from "../../ir/walk.js";
import { members } from "../../types/dtype.js";

const BFLOAT16 = "bfloat16";
const CHECK_BFLOAT16 = "_check_bfloat16";
const CHECK_GPU = "_check_gpu";
const CHECK_DETERMINISTIC = "_check_deterministic";

/** A kernel that may compute in bfloat16 raises an error in an interpreter without the correction. */
function bfloat16Check(context: WrapperContext): Block {
  const dtypes = hasBFloat16(context.ir) ? [torchDType(BFLOAT16)] : bfloat16Dtypes(context);
  if (dtypes.length === 0) return [];
  const check = py.call(CHECK_BFLOAT16, py.string(context.names.wrapper), ...dtypes);
  return [py.expression(check)];
}

/** True if every call uses bfloat16. */
function hasBFloat16(ir: KernelIR): boolean {
  let usesIt = ir.params.some((param) => "dtype" in param && param.dtype === BFLOAT16);
  walkAll(ir, (statement) => {
    if (resultsOf(statement).some(({ type }) => type.kind === "tile" && type.dtype === BFLOAT16)) usesIt = true;
  });
  return usesIt;
}

/** The dtype expressions that may be bfloat16, one for each dtype variable. */
function bfloat16Dtypes(context: WrapperContext): readonly Expression[] {
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

/** Checks of the GPU, of bfloat16 support in Triton's interpreter, and of PyTorch's request for determinism. */
export function environmentChecks(context: WrapperContext): Block {
  return [...gpuCheck(context), ...bfloat16Check(context), ...determinismCheck(context)];
}

function determinismCheck({ ir, names }: WrapperContext): Block {
  return hasFloatAtomics(ir) ? [py.expression(py.call(CHECK_DETERMINISTIC, py.string(names.wrapper)))] : [];
}

/** Empty for a kernel without declared targets. */
function gpuCheck(context: WrapperContext): Block {
  const {
    ir: { targets },
    names,
  } = context;
  if (!targets) return [];
  const { cuda, hip = [] } = targets;
  const oldest = cuda === undefined ? py.none : py.number(String(cuda));
  const description = py.string(`${names.wrapper} is for ${formatTargets(targets)}`);
  return [
    py.expression(
      py.call(CHECK_GPU, deviceOf(context), oldest, py.list(...hip.map((arch) => py.string(arch))), description),
    ),
  ];
}
