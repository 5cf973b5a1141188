/** The wrapper's check of the GPU, for kernels that support only some GPUs. */
import { hasFloatAtomics } from "../../analysis/memory-effects.js";
import { formatTargets } from "../../compiled/kernel-targets.js";
import * as py from "../syntax/py-build.js";
import type { Block } from "../syntax/py.js";
import { check, deviceOf, INTERPRETED, messageOf } from "./checks.js";
import type { WrapperContext } from "./scope.js";
import type { KernelIR } from "../../ir/nodes.js";
import { resultsOf, walkAll } from "../../ir/walk.js";
import { members } from "../../types/dtype.js";

const BFLOAT16 = "bfloat16";
const CHECK_GPU = "_check_gpu";
const CHECK_DETERMINISTIC = "_check_deterministic";

/**
 * The check of dtypes refuses bfloat16 arguments on Triton's interpreter. A kernel without them that rounds to bfloat16
 * is refused by itself.
 */
function bfloat16Check(context: WrapperContext): Block {
  const isSeen = context.ir.params.some((param) => "dtype" in param && members(param.dtype).includes(BFLOAT16));
  if (isSeen || !computesInBFloat16(context.ir)) return [];
  const isCorrected = py.call("hasattr", py.name("triton"), py.string("has_bfloat16"));
  const isWrong = py.boolOp("and", py.name(INTERPRETED), py.unary("not", isCorrected));
  return [check(isWrong, messageOf(context, "TypeError", "Triton's interpreter computes bfloat16 wrongly"))];
}

function computesInBFloat16(ir: KernelIR): boolean {
  let isFound = false;
  walkAll(ir, (statement) => {
    if (resultsOf(statement).some(({ type }) => type.kind === "tile" && type.dtype === BFLOAT16)) isFound = true;
  });
  return isFound;
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
