/** The emitted Python file, which needs torch and triton but not TileScript. */
import { strictTensors } from "../../analysis/preconditions.js";
import type { EmitOptions } from "../../compiled/compiled-kernel.js";
import { isPerGpu } from "../../compiled/configs-by-gpu.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { externFile } from "../../diagnostics/catalog/extern-codes.js";
import { isLiteral, isValue, type KernelIR, tensorsOf, type Value } from "../../ir/nodes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import type { SourceIndex } from "../../ir/source-index.js";
import type { Specialized } from "../warp-specialize/pattern/specialize.js";
import { dtypeTable } from "../../types/dtype.js";
import { optionalSizes } from "../../analysis/optional-sizes.js";
import type { EmittedKernel } from "../operator/composition.js";
import { drawInputsFunction, getInputsFunction, shapesConstant, withDtypes } from "../reference/drawn-inputs.js";
import { jitFunctions, usedParameters } from "./jit.js";
import { copyAliases, deviceHelpers, hostHelpers, CAN_SPECIALIZE } from "../warp-specialize/gluon/helpers.js";
import { blockHook, threeConsumerPruner, autotuneDecorator } from "../warp-specialize/gluon/configs.js";
import { type GluonKernel, gluonKernel } from "../warp-specialize/gluon/kernel.js";
import { type Names } from "../names/names.js";
import { eachNode } from "../syntax/nodes-in.js";
import { type PrintedModule, printModule } from "../syntax/layout.js";
import { fakeFunction, opDefinitions } from "../operator/wrapper-operator.js";
import type { OpOptions } from "../operator/registration.js";
import { OperatorContext } from "../operator/context.js";
import { checkOperator, operatorDefinitions } from "../operator/forward.js";
import { configsForGpu, pruner } from "./pruner.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "../syntax/py.js";
import { type Binding, numberBindings } from "../reference/number-bindings.js";
import { referenceFunction } from "../reference/reference-function.js";
import { REFUSE_RECORDING, refuseRecording } from "../wrapper/gradient-helpers.js";
import { configLists, firstConfig, MAXNREG, maxnregHelper } from "../wrapper/autotune.js";
import { isLaunchCacheable, cachedCallFunction } from "../wrapper/launch-cache.js";
import { LAUNCH_CACHE_IMPORTS, launchCacheBlock } from "../wrapper/launch-cache-helpers.js";
import { emitWrapper } from "../wrapper/wrapper.js";
import type { KernelNames } from "../names/kernel-names.js";
import { kernelNames, moduleNames } from "./names.js";
import { constants, imports, versionCheck, standardImports } from "./preamble.js";
import { FASTER_IMPORTS, fasterHelper, IS_FASTER, SPECIALIZED_IMPORTS } from "../wrapper/choose-kernel.js";
import { blockSetter } from "../wrapper/descriptors.js";
import { lintExceptions } from "../syntax/lint-exceptions.js";
import { helperFunctions } from "../wrapper/helpers.js";

/** Emits the module of a lowered kernel. The output is deterministic. */
export function emitModule(
  ir: KernelIR,
  source: SourceIndex | undefined,
  { op, providers = false, launch = "fast", dtypes = {}, warpSpecialize = ir.warpSpecialize }: EmitOptions = {},
  specialized?: Specialized,
): PrintedModule {
  const extern = ir.functions.find((helper) => helper.extern);
  if (extern && !source) fail(externFile.unreadable(String(extern.name)), extern.at);
  const module = moduleNames();
  const names = kernelNames(ir, source, module);
  // PyTorch traces the launch of a triton_op, and supports only kernels of Triton, not of Gluon.
  const isTraceable = op?.form === "triton_op";
  const emission = { ir, names, module, source };
  const gluon = specialized && !isTraceable ? gluonKernel(specialized, emission, warpSpecialize) : undefined;
  const { jits, launcher } = emitKernelParts(ir, names, source, isTraceable, gluon);
  const definitions: Statement[] = [
    ...jits,
    ...(gluon ? specializedDefinitions(ir, gluon, names, module) : []),
    launcher,
    ...(op ? opDefinitions(ir, names, launcher, sizeBindings(ir, names), op) : []),
    ...fixedExports(ir, names, positionalParameters(launcher), source, { providers, dtypes }),
  ];
  const doc = ir.doc ?? `The Triton kernel ${names.wrapper}.`;
  const mayBePlain = !gluon || gluon.isTimed;
  const isFast = launch === "fast" && !isTraceable && mayBePlain && isLaunchCacheable(ir);
  const launchCache = isFast ? launchCacheBlock(names.wrapper, cachedCallFunction(ir, names, launcher)) : [];
  return assembleModule(
    [ir],
    names.wrapper,
    doc,
    definitions,
    decoratorDependencies(ir, names),
    [names.externs],
    launchCache,
  );
}

/** Emits the module of an operator. `kernels` are lowered, in the order of `operator.kernels`. */
export function emitOperator(
  operator: OperatorIR,
  kernels: readonly KernelIR[],
  source: SourceIndex | undefined,
  op: OpOptions,
  dtypes: EmitOptions["dtypes"] = {},
): PrintedModule {
  checkOperator(operator, op);
  const module = moduleNames();
  const { signature: face } = operator;
  const names = kernelNames(face, source, module);
  const definitions: Statement[] = [];
  const dependencies: Statement[] = [];
  const externs: KernelNames["externs"][] = [];
  const emittedKernels = new Map<KernelIR, EmittedKernel>();
  kernels.forEach((ir, i) => {
    const kernel = kernelNames(ir, source, module);
    const { jits, launcher } = emitKernelParts(ir, kernel, source, op.form === "triton_op");
    const fake = module.take(`_${kernel.wrapper}_fake`);
    dependencies.push(...decoratorDependencies(ir, kernel));
    externs.push(kernel.externs);
    const sizes = sizeBindings(ir, kernel);
    definitions.push(...jits, launcher, fakeFunction(ir, kernel, fake, positionalParameters(launcher), sizes));
    emittedKernels.set(operator.kernels[i]!, { names: kernel, fake, contiguous: strictTensors(ir) });
  });
  const sizes = sizeBindings(face, names);
  const context = new OperatorContext(operator, names, module, emittedKernels, sizes, source, op);
  definitions.push(
    ...operatorDefinitions(context),
    ...fixedExports(face, names, context.params, source, { providers: false, dtypes }),
  );
  return assembleModule(
    kernels,
    names.wrapper,
    face.doc ?? `The operator ${names.wrapper}.`,
    definitions,
    dependencies,
    externs,
  );
}

/** The functions that the kernel's decorators reference, and its extern definitions. */
function decoratorDependencies(ir: KernelIR, names: KernelNames): Block {
  return [...configLists(ir, names), ...pruner(ir, names), ...names.externs.definitions, ...blockSetter(ir, names)];
}

/** The functions of the warp-specialized kernel, with the hook and the pruner of its configs. */
function specializedDefinitions(ir: KernelIR, kernel: GluonKernel, names: KernelNames, module: Names): Block {
  const hook = blockHook(ir, kernel, names, module.take("_set_specialized_blocks"));
  const [partitions, main] = [kernel.functions.slice(0, -1), kernel.functions.at(-1)!];
  const pruner = module.take("_fitting_configs");
  const decorators = [autotuneDecorator(ir, names, kernel, hook.name, pruner), ...main.decorators];
  return [
    ...deviceHelpers[kernel.helpers],
    ...partitions,
    hook,
    ...threeConsumerPruner(ir, kernel, names, pruner),
    { ...main, decorators },
  ];
}

function emitKernelParts(
  ir: KernelIR,
  names: KernelNames,
  source: SourceIndex | undefined,
  isTraceable = false,
  gluon?: GluonKernel,
) {
  const extern = ir.functions.find((helper) => helper.extern);
  if (extern && !source) fail(externFile.unreadable(String(extern.name)), extern.at);
  const usedValues = usedParameters(ir);
  return {
    jits: jitFunctions(ir, names, usedValues, source),
    launcher: emitWrapper(ir, names, usedValues, isTraceable, gluon),
  };
}

/** Parameters that may be passed by position: all except outputs. */
function positionalParameters({ params }: FunctionDef): readonly Parameter[] {
  const star = params.findIndex((param) => param.name === "*");
  return star < 0 ? params : params.slice(0, star);
}

/** `reference_fn`, the author's providers, `draw_inputs` and `get_inputs`. */
function fixedExports(
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  source: SourceIndex | undefined,
  { providers, dtypes }: Required<Pick<EmitOptions, "providers" | "dtypes">>,
): Block {
  const numbers = numberBindings(ir, names, sizeBindings(ir, names));
  const doc = `What ${names.wrapper} computes, in PyTorch.`;
  const references = [
    ...(ir.reference ? [{ name: "reference_fn", reference: ir.reference, doc }] : []),
    ...Object.entries(providers ? ir.providers : {}).map(([name, provider]) => ({
      name: `provider_${name}`,
      reference: provider,
      doc: `What ${names.wrapper} computes, another way.`,
    })),
  ];
  const typedIR = withDtypes(ir, dtypes);
  return [
    ...references.map((each) => referenceFunction(each, ir, names, params, numbers, source)),
    ...drawInputsFunction(typedIR, names, source),
    ...shapesConstant(typedIR, names),
    getInputsFunction(typedIR, names),
  ];
}

const hasFloatScalars = ({ params }: KernelIR): boolean =>
  params.some(
    (param) => param.kind === "scalar" && (typeof param.dtype !== "string" || dtypeTable[param.dtype].kind === "float"),
  );

/** Joins the definitions with the imports and helpers that they need. */
function assembleModule(
  kernels: readonly KernelIR[],
  exportedName: string,
  doc: string,
  definitions: Block,
  dependencies: Block,
  externs: readonly KernelNames["externs"][],
  launchCacheBlock: Block = [],
): PrintedModule {
  const mentionedNames = namesIn(definitions);
  const isMentioned = (name: string) => mentionedNames.has(name);
  const module: Statement[] = [
    py.expression(py.string(`${doc}\n\nWritten by TileScript; edit the TypeScript source instead of this file.`)),
    ...lintExceptions([...dependencies, ...definitions]),
    ...standardImports([
      ...(launchCacheBlock.length > 0 ? LAUNCH_CACHE_IMPORTS : []),
      ...(isMentioned(CAN_SPECIALIZE) ? SPECIALIZED_IMPORTS : []),
      ...(isMentioned(IS_FASTER) ? FASTER_IMPORTS : []),
    ]),
    { kind: "import", module: "torch" },
    { kind: "import", module: "triton" },
    { kind: "import", module: "triton.language", as: "tl" },
    ...imports(
      kernels,
      isMentioned,
      externs.flatMap((each) => each.imports),
    ),
    ...versionCheck(kernels),
    ...constants(kernels, isMentioned),
    ...(isMentioned(CAN_SPECIALIZE) ? copyAliases : []),
    ...kernels.flatMap(firstConfig).slice(0, 1),
    ...(isMentioned(MAXNREG) ? [maxnregHelper] : []),
    ...dependencies,
    ...(isMentioned(REFUSE_RECORDING) ? [refuseRecording] : []),
    ...definitions,
    ...helperFunctions(isMentioned, kernels.some(hasFloatScalars), launchCacheBlock.length > 0),
    ...(kernels.some(({ tuning }) => isPerGpu(tuning.configs)) ? [configsForGpu] : []),
    ...(isMentioned(CAN_SPECIALIZE) ? hostHelpers : []),
    ...(isMentioned(IS_FASTER) ? [fasterHelper(launchCacheBlock.length > 0)] : []),
    ...launchCacheBlock,
    py.assign(py.name("kernel_fn"), py.name(exportedName)),
  ];
  return printModule(module);
}

/** The expression of each size in terms of the input shapes. A size of absent optional tensors is 0. */
function sizeBindings(ir: KernelIR, names: KernelNames): readonly Binding[] {
  const inputs = tensorsOf(ir, "in", "inout").filter(({ optional }) => !optional);
  const bound = new Set<Value>();
  const required = inputs.flatMap((param) =>
    param.dims.flatMap((dim, axis): Binding[] => {
      if (!isValue(dim) || isLiteral(dim) || bound.has(dim)) return [];
      bound.add(dim);
      const shape = py.attribute(py.name(names.tensors.get(param.name)!), "shape");
      return [{ name: names.parameters.get(dim)!, value: py.subscript(shape, py.number(String(axis))) }];
    }),
  );
  const optional = optionalSizes(ir).map(({ param, holders }): Binding => {
    const value = holders.reduceRight<Expression>((otherwise, { tensor, axis }) => {
      const name = py.name(names.tensors.get(tensor.name)!);
      const size = py.subscript(py.attribute(name, "shape"), py.number(String(axis)));
      return py.conditional(otherwise, py.compare(name, ["is", py.none]), size);
    }, py.number("0"));
    return { name: names.parameters.get(param.value)!, value };
  });
  return [...required, ...optional];
}

/** The names that occur in these statements. */
function namesIn(statements: Block): ReadonlySet<string> {
  const names = new Set<string>();
  eachNode(statements, (node) => {
    if (node.kind === "name") names.add(node.id);
  });
  return names;
}
