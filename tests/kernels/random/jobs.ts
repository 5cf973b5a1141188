/** A random kernel on its way through Triton's compiler. */
import { fileURLToPath } from "node:url";
import { kernelNames } from "../../../src/codegen/module/signature.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import type { KernelIR } from "../../../src/ir/nodes.js";
import { type DTypeName, dtypeTargets } from "../../../src/types/dtype.js";
import { resultsOf, walkAll } from "../../../src/ir/walk.js";
import { fail } from "../../../src/diagnostics/diagnostic.js";
import { showType } from "../../../src/types/types.js";
import { usesOfTriton39 } from "../../../src/analysis/preconditions.js";
import { lowerViews } from "../../../src/lower/views.js";
import { argumentsOf, type Arguments, type Shape } from "../../triton/compile/arguments.js";
import { dtypeUnsupported } from "../../../src/diagnostics/catalog/rule-codes.js";
import { build, type Options, type RandomKernel } from "./build.js";
import type { Recipe } from "./recipe.js";

export const compileScript = fileURLToPath(new URL("compile.py", import.meta.url));

/** The last stage of Triton's pipeline that runs. */
export type Stage = "ttir" | "ttgir" | "llir" | "ptx" | "cubin";

export interface Job extends Arguments {
  readonly id: string;
  readonly source: string;
  readonly function: string;
  readonly options: Readonly<Record<string, number>>;
  readonly stage: Stage;
}

/** A recipe that passed every check. */
export interface Accepted extends RandomKernel {
  readonly compiled: CompiledKernel;
  readonly ir: KernelIR;
  /** Whether it asks for what Triton has since 3.9 only. */
  readonly since39: boolean;
}

/** @throws TileScriptError where a check refuses the kernel, or it has a dtype that is AMD's alone. */
export function accept(recipe: Recipe, options?: Options): Accepted {
  return checked(build(recipe, options));
}

export function checked(random: RandomKernel): Accepted {
  const compiled = compile(random.kernel);
  const ir = trace(definitionOf(random.kernel));
  walkAll(ir, (statement) => {
    for (const { type } of resultsOf(statement)) {
      if (type.kind !== "tile") continue;
      const targets = dtypeTargets[type.dtype as DTypeName];
      if (targets && !targets.cuda) fail(dtypeUnsupported(`${showType(type)}: NVIDIA has no such dtype`));
    }
  });
  const since39 = usesOfTriton39(ir).length > 0;
  return { ...random, compiled, ir, since39 };
}

/** The jit functions of a module: its wrapper needs torch, which compiling does not. */
function jitFunctions({ python, signature }: CompiledKernel): string {
  const imports = python.match(/^from triton.*$/gm) ?? [];
  const text = python.slice(python.indexOf("@triton.jit"), python.indexOf(`\ndef ${signature.name}(`));
  return ["import triton", "import triton.language as tl", ...imports, "", "", text].join("\n");
}

export function jobOf(id: string, { compiled, ir }: Accepted, stage: Stage, shape: Shape): Job {
  const lowered = lowerViews(ir);
  const [config] = compiled.configs;
  return {
    id,
    source: jitFunctions(compiled),
    function: kernelNames(lowered).jit,
    options: { num_warps: config!.numWarps ?? 4 },
    stage,
    ...argumentsOf(lowered, config!, "float32", shape),
  };
}
