/** The names of a module: its reserved names, which no author's name may shadow, and the names of its kernels. */
import type { KernelIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { type KernelNames, namesOfKernel } from "../names/kernel-names.js";
import { Names } from "../names/names.js";
import { DESCRIPTOR_CLASS } from "../wrapper/descriptors.js";
import { libraryNames } from "../library/library.js";
import { LAUNCH_CACHE_NAMES } from "../wrapper/launch-cache.js";
import { TENSORS, WRAP_TRITON } from "../wrapper/launch.js";
import { TRITON_DTYPES } from "../wrapper/numbers.js";
import { SPECIALIZED_LOCALS } from "../wrapper/specialized-launch.js";

/** The names that modules export, import in addition to `tl`, and use as locals of wrappers. */
const EXPORTS = ["kernel_fn", "reference_fn", "get_inputs", "draw_inputs", "SHAPES", "IN_PLACE"];
const IMPORTS = [WRAP_TRITON, DESCRIPTOR_CLASS, TRITON_DTYPES];
const LOCALS = ["grid", "meta", "device", TENSORS, ...SPECIALIZED_LOCALS];

/** All names that a module may contain in addition to those of its kernels. */
const MODULE_NAMES: ReadonlySet<string> = new Set([
  ...EXPORTS,
  ...IMPORTS,
  ...LOCALS,
  ...LAUNCH_CACHE_NAMES,
  ...libraryNames,
]);

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
