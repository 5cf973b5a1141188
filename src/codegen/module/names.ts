/** The names of a module: those that it uses itself, which no name of an author's takes, and those of a kernel in it. */
import type { KernelIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import { copyNames, deviceHelpers, GLUON_DESCRIPTOR, hostHelpers } from "../warp-specialize/gluon/helpers.js";
import { type KernelNames, namesOfKernel } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import { eachNode } from "../syntax/nodes-in.js";
import type { Block, Statement } from "../syntax/py.js";
import { firstConfigHelper, maxnregHelper } from "../wrapper/autotune.js";
import { refuseRecording } from "../wrapper/gradient-helpers.js";
import { helper } from "../syntax/helper-function.js";
import { fasterHelper } from "../wrapper/choose-kernel.js";
import { REPEATED, REPEATED_IMPORTS, repeatedBlock } from "../wrapper/launch-cache-helpers.js";
import { DESCRIPTOR_CLASS } from "../wrapper/descriptors.js";
import { helperFunctions, WRAP_TRITON } from "../wrapper/helpers.js";
import { SPECIALISED_LOCALS } from "../wrapper/specialized-launch.js";
import { constants } from "./preamble.js";
import { configsForGpu } from "./pruner.js";

const anything = (): boolean => true;

/** Whatever a module may have besides its kernels. */
const parts: Block = [
  ...constants([], anything),
  ...copyNames,
  firstConfigHelper,
  maxnregHelper,
  refuseRecording,
  ...Object.values(deviceHelpers).flat(),
  ...helperFunctions(anything, true, true),
  configsForGpu,
  ...hostHelpers,
  fasterHelper(true),
  ...repeatedBlock("kernel_fn", helper(REPEATED, "", "", "")),
];

/** What modules export, import beside `tl`, and call in wrappers. */
const EXPORTS = ["kernel_fn", "reference_fn", "get_inputs", "draw_inputs", "SHAPES"];
const IMPORTS = [WRAP_TRITON, DESCRIPTOR_CLASS, GLUON_DESCRIPTOR, ...REPEATED_IMPORTS];
const LOCALS = ["grid", "meta", "device", ...SPECIALISED_LOCALS];

const MODULE_NAMES: ReadonlySet<string> = new Set([...EXPORTS, ...IMPORTS, ...LOCALS, ...parts.flatMap(definedBy)]);

/** The names that a statement defines, but for those of its own blocks. */
function definedBy(statement: Statement): readonly string[] {
  if (statement.kind === "function" || statement.kind === "class") return [statement.name];
  const names: string[] = [];
  if (statement.kind === "assign")
    eachNode(statement.targets, (node) => {
      if (node.kind === "name") names.push(node.id);
    });
  return names;
}

/** The names of a module before any kernel is added. */
export function moduleNames(): Names {
  const names = new Names();
  for (const name of MODULE_NAMES) names.keep(name);
  return names;
}

/** `module` holds the names in use; the kernel's are added. */
export function kernelNames(ir: KernelIR, source?: SourceIndex, module: Names = moduleNames()): KernelNames {
  // Sizes, numbers and strides have the same names in the wrapper, where tensors have names, too.
  return namesOfKernel(ir, source, module, moduleNames());
}
