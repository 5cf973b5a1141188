/** The wrapper's check of the GPU, for kernels that are not for all of them. */
import { targetsText } from "../../compiled/kernel-targets.js";
import * as py from "../syntax/py-build.js";
import type { Block } from "../syntax/py.js";
import { helper } from "../syntax/helper-function.js";
import { DEVICE, INTERPRETED } from "./checks.js";
import { bfloat16Check } from "./interpreter.js";
import type { WrapperContext } from "./scope.js";

export const CHECK_GPU = "_check_gpu";

/** What the machine must be that a launch is for. */
export function machineChecks(context: WrapperContext): Block {
  return [...gpuCheck(context), ...bfloat16Check(context)];
}

/** Nothing for a kernel that any GPU runs. */
function gpuCheck({ ir: { targets }, names }: WrapperContext): Block {
  if (!targets) return [];
  const { cuda, hip = [] } = targets;
  const oldest = cuda === undefined ? py.none : py.number(String(cuda));
  const wanted = py.string(`${names.wrapper} is for ${targetsText(targets)}`);
  return [py.expression(py.call(CHECK_GPU, DEVICE, oldest, py.list(...hip.map((arch) => py.string(arch))), wanted))];
}

export const checkGpu = helper(
  CHECK_GPU,
  "device cuda hip wanted",
  "Refuses a GPU that the kernel is not for.",
  `# Without a GPU, PyTorch only traces.
if ${INTERPRETED} or not torch.cuda.is_available():
    return
if torch.version.hip is None:
    major, minor = torch.cuda.get_device_capability(device)
    found = f"sm_{major}{minor}"
    is_wanted = cuda is not None and 10 * major + minor >= cuda
else:
    found = torch.cuda.get_device_properties(device).gcnArchName.split(":")[0]
    is_wanted = found in hip
if not is_wanted:
    raise RuntimeError(f"{wanted}; this GPU is {found}")`,
);
