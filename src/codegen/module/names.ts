/** The names of a module: its reserved names, which no author's name may shadow, and the names of its kernels. */
import type { KernelIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { copyAliases, deviceHelpers, GLUON_DESCRIPTOR, hostHelpers } from "../warp-specialize/gluon/helpers.js";
import { type KernelNames, namesOfKernel } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import { eachNode } from "../syntax/nodes-in.js";
import type { Block, Statement } from "../syntax/py.js";
import { firstConfigHelper, maxnregHelper } from "../wrapper/autotune.js";
import { refuseRecording } from "../wrapper/gradient-helpers.js";
import { helperFunction } from "../syntax/py-build.js";
import { fasterHelper } from "../wrapper/choose-kernel.js";
import { CACHED_WRAPPER, LAUNCH_CACHE_IMPORTS, launchCacheBlock } from "../wrapper/launch-cache-helpers.js";
import { DESCRIPTOR_CLASS } from "../wrapper/descriptors.js";
import { helperFunctions, WRAP_TRITON } from "../wrapper/helpers.js";
import { SPECIALIZED_LOCALS } from "../wrapper/specialized-launch.js";
import { constants } from "./preamble.js";
import { configsForGpu } from "./pruner.js";

const always = (): boolean => true;

/** All definitions that a module may contain in addition to its kernels. */
const moduleDefinitions: Block = [
  ...constants([], always),
  ...copyAliases,
  firstConfigHelper,
  maxnregHelper,
  refuseRecording,
  ...Object.values(deviceHelpers).flat(),
  ...helperFunctions(always, true, true),
  configsForGpu,
  ...hostHelpers,
  fasterHelper(true),
  ...launchCacheBlock("kernel_fn", helperFunction(CACHED_WRAPPER, "", "", "")),
];

/** The names that modules export, import in addition to `tl`, and use as locals of wrappers. */
const EXPORTS = ["kernel_fn", "reference_fn", "get_inputs", "draw_inputs", "SHAPES"];
const IMPORTS = [WRAP_TRITON, DESCRIPTOR_CLASS, GLUON_DESCRIPTOR, ...LAUNCH_CACHE_IMPORTS];
const LOCALS = ["grid", "meta", "device", ...SPECIALIZED_LOCALS];

const MODULE_NAMES: ReadonlySet<string> = new Set([
  ...EXPORTS,
  ...IMPORTS,
  ...LOCALS,
  ...moduleDefinitions.flatMap(definedNames),
]);

/** The names that a statement defines, without those in its nested blocks. */
function definedNames(statement: Statement): readonly string[] {
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
  for (const name of MODULE_NAMES) names.reserve(name);
  return names;
}

/** Adds the kernel's names to `module`, the names in use. */
export function kernelNames(ir: KernelIR, source?: SourceIndex, module: Names = moduleNames()): KernelNames {
  // Sizes, numbers and strides have the same names in the kernel and in the wrapper.
  return namesOfKernel(ir, source, module, moduleNames());
}
