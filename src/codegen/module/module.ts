/** The emitted Python file, which needs torch and triton but not TileScript. */
import { strictTensors } from "../../analysis/preconditions.js";
import type { EmitOptions } from "../../compiled/compiled-kernel.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { externFile } from "../../diagnostics/catalog/extern-codes.js";
import type { KernelIR, OperatorIR } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import type { Specialized } from "../warp-specialize/pattern/specialize.js";
import type { EmittedKernel } from "../operator/composition.js";
import {
  drawInputsFunction,
  getInputsFunction,
  inPlaceConstant,
  shapesConstant,
  withDtypes,
} from "../reference/drawn-inputs.js";
import { jitFunctions, usedParameters, pruner } from "./jit.js";
import { CAN_SPECIALIZE, gluonImports } from "../warp-specialize/gluon/helpers.js";
import { blockHook, headPruner, autotuneDecorator } from "../warp-specialize/gluon/configs.js";
import { type GluonKernel, gluonKernel } from "../warp-specialize/gluon/kernel.js";
import { type Names } from "../names/names.js";
import { type PrintedModule, printModule } from "../syntax/layout.js";
import { OperatorContext, type OpOptions } from "../operator/context.js";
import { checkOperator, operatorDefinitions, checkWrapperOperator, opDefinitions } from "../operator/forward.js";
import * as py from "../syntax/py-build.js";
import {
  type Block,
  type Expression,
  type FunctionDef,
  type Parameter,
  type Statement,
  eachNode,
  namesIn,
} from "../syntax/py.js";
import { numberBindings, sizeBindings } from "../wrapper/numbers.js";
import { referenceFunction } from "../reference/expressions.js";
import { configLists } from "../wrapper/autotune.js";
import { cacheObstacle, launchCacheBlock } from "../wrapper/launch-cache.js";
import { emitOperatorFunctions, emitWrapper, type OperatorFunctionNames } from "../wrapper/wrapper.js";
import type { KernelNames } from "../names/kernel-names.js";
import { definedNames, selectLibrary } from "../library/library.js";
import { kernelNames, moduleNames } from "./signature.js";
import { dtypeConstants, fromImports, madeFor, standardImports, versionCheck } from "./preamble.js";
import { blockSetter } from "../wrapper/launch.js";
import { lintExceptions } from "../syntax/lint.js";

/** A module that holds a part of what a file by itself has. */
export interface Part {
  /** The module from which it imports the library's functions, which it then does not contain. */
  readonly runtime?: string;
  /** The module that has the kernel. This one imports the kernel, and has what tests of it need. */
  readonly testsOf?: string;
}

export interface EmittedModule extends PrintedModule {
  /** The names that it imports from `Part.runtime`. */
  readonly runtimeNames: readonly string[];
  /** The reason why it has no launch cache, if the author asks for one. */
  readonly cacheObstacle?: string | undefined;
}

/** Emits the module of a lowered kernel. The output is deterministic. */
export function emitModule(
  ir: KernelIR,
  source: SourceIndex | undefined,
  options: EmitOptions = {},
  specialized?: Specialized,
  part: Part = {},
): EmittedModule {
  const { op, launch = ir.launch.isFast ? "fast" : "plain", warpSpecialize = ir.warpSpecialize } = options;
  checkExterns(ir, source);
  if (op) checkWrapperOperator(ir, op);
  const module = moduleNames();
  const names = kernelNames(ir, source, module);
  // PyTorch traces the launch of a triton_op, and supports only kernels of Triton, not of Gluon.
  const isTraceable = op?.form === "triton_op";
  const emission = { ir, names, module, source };
  const gluon = specialized && !isTraceable ? gluonKernel(specialized, emission, warpSpecialize) : undefined;
  const obstacle = launch === "fast" ? fastObstacle(ir, options, gluon) : undefined;
  const isFast = launch === "fast" && obstacle === undefined;
  const usedValues = usedParameters(ir);
  const launcher = emitWrapper(ir, names, usedValues, {
    isTraceable,
    isFast,
    checksPromises: options.checked,
    gluon,
  });
  const definitions: Statement[] = [
    ...jitFunctions(ir, names, usedValues, source),
    ...(gluon ? specializedDefinitions(ir, gluon, names, module) : []),
    launcher,
    ...(op ? opDefinitions(ir, names, launcher, op) : []),
  ];
  const exports = fixedExports(ir, names, positionalParameters(launcher), source, options);
  if (part.testsOf !== undefined) return assembleTests(names.wrapper, part.testsOf, exports);
  const assembled = assembleModule({
    kernels: [ir],
    doc: ir.doc ?? `The Triton kernel ${names.wrapper}.`,
    definitions: [...definitions, ...(options.bare ? [] : exports.functions)],
    dependencies: decoratorDependencies(ir, names),
    externs: [names.externs],
    launchCache: isFast ? launchCacheBlock(ir, names, launcher, part.runtime !== undefined) : [],
    alias: options.bare ? [] : exports.alias,
    runtime: part.runtime,
  });
  return { ...assembled, cacheObstacle: obstacle };
}

function fastObstacle(ir: KernelIR, { op, checked }: EmitOptions, gluon: GluonKernel | undefined): string | undefined {
  if (checked) return "a cached call would go past the checks of elements";
  if (op?.form === "triton_op") return "PyTorch traces the launch of a triton_op";
  return gluon && !gluon.isTimed ? "its warp-specialized kernel has descriptors" : cacheObstacle(ir);
}

/**
 * Emits the module of an operator. `kernels` are lowered, in the order of `operator.kernels`; `specializedOf` gets one of
 * `operator.kernels`.
 */
export function emitOperator(
  operator: OperatorIR,
  kernels: readonly KernelIR[],
  source: SourceIndex | undefined,
  op: OpOptions,
  options: EmitOptions,
  specializedOf: (ir: KernelIR) => Specialized | undefined,
  part: Part = {},
): EmittedModule {
  checkOperator(operator, op);
  const module = moduleNames();
  const { signature: face } = operator;
  const names = kernelNames(face, source, module);
  const definitions: Statement[] = [];
  const dependencies: Statement[] = [];
  const externs: KernelNames["externs"][] = [];
  const emittedKernels = new Map<KernelIR, EmittedKernel>();
  kernels.forEach((ir, i) => {
    checkExterns(ir, source);
    const kernel = kernelNames(ir, source, module);
    const functions: OperatorFunctionNames = {
      meta: module.take(`_${kernel.wrapper}_meta`),
      launch: module.take(`_${kernel.wrapper}`),
    };
    const usedValues = usedParameters(ir);
    const isTraceable = op.form === "triton_op";
    const specialized = isTraceable ? undefined : specializedOf(operator.kernels[i]!);
    const mode = options.warpSpecialize ?? ir.warpSpecialize;
    const gluon = specialized && gluonKernel(specialized, { ir, names: kernel, module, source }, mode);
    dependencies.push(...decoratorDependencies(ir, kernel));
    externs.push(kernel.externs);
    const wrapperOptions = { isTraceable, checksPromises: options.checked, gluon };
    definitions.push(
      ...jitFunctions(ir, kernel, usedValues, source),
      ...(gluon ? specializedDefinitions(ir, gluon, kernel, module) : []),
      ...emitOperatorFunctions(ir, kernel, usedValues, wrapperOptions, functions),
    );
    emittedKernels.set(operator.kernels[i]!, { names: kernel, functions, contiguous: strictTensors(ir) });
  });
  const sizes = sizeBindings(face, names);
  const context = new OperatorContext(operator, names, module, emittedKernels, sizes, source, op);
  const exports = fixedExports(face, names, context.params, source, { ...options, providers: false });
  if (part.testsOf !== undefined) return assembleTests(names.wrapper, part.testsOf, exports);
  const isAskedFor = options.launch === "fast" || kernels.some(({ launch }) => launch.isFast);
  const assembled = assembleModule({
    kernels,
    doc: face.doc ?? `The operator ${names.wrapper}.`,
    definitions: [...definitions, ...operatorDefinitions(context), ...(options.bare ? [] : exports.functions)],
    dependencies,
    externs,
    launchCache: [],
    alias: options.bare ? [] : exports.alias,
    runtime: part.runtime,
  });
  return { ...assembled, cacheObstacle: isAskedFor ? "PyTorch dispatches the calls of an operator" : undefined };
}

/** @throws TileScriptError if the file of an extern function cannot be read. */
function checkExterns(ir: KernelIR, source: SourceIndex | undefined): void {
  const extern = ir.functions.find((helper) => helper.extern);
  if (extern && !source) fail(externFile.unreadable(String(extern.name)), extern.at);
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
  return [...partitions, hook, ...headPruner(ir, kernel, names, pruner), { ...main, decorators }];
}

/** Parameters that may be passed by position: all except outputs. */
function positionalParameters({ params }: FunctionDef): readonly Parameter[] {
  const star = params.findIndex((param) => param.name === "*");
  return star < 0 ? params : params.slice(0, star);
}

/** The exports that have the same names in every module. */
interface FixedExports {
  /** `reference_fn`, the author's providers, `draw_inputs`, `SHAPES`, `IN_PLACE` and `get_inputs`. */
  readonly functions: Block;
  /** `kernel_fn`. */
  readonly alias: Block;
}

function fixedExports(
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  source: SourceIndex | undefined,
  { providers = false, dtypes = {} }: EmitOptions,
): FixedExports {
  const numbers = numberBindings(ir, names, sizeBindings(ir, names));
  const references = [
    ...(ir.reference ? [{ name: "reference_fn", reference: ir.reference }] : []),
    ...Object.entries(providers ? ir.providers : {}).map(([name, provider]) => ({
      name: `provider_${name}`,
      reference: provider,
    })),
  ];
  const typedIR = withDtypes(ir, dtypes);
  return {
    functions: [
      ...references.map((each) => referenceFunction(each, ir, names, params, numbers, source)),
      ...drawInputsFunction(typedIR, names, source),
      ...shapesConstant(typedIR, names),
      ...inPlaceConstant(typedIR, names),
      getInputsFunction(typedIR, names),
    ],
    alias: [py.assign(py.name("kernel_fn"), py.name(names.wrapper))],
  };
}

/** The parts of a module, in the order in which it has them. */
interface ModuleParts {
  readonly kernels: readonly KernelIR[];
  readonly doc: string;
  readonly externs: readonly KernelNames["externs"][];
  /** Definitions that decorators refer to. */
  readonly dependencies: Block;
  readonly definitions: Block;
  readonly launchCache: Block;
  readonly alias: Block;
  readonly runtime: string | undefined;
}

const WRITTEN_BY = "Written by TileScript; edit the TypeScript source instead of this file.";

/** Joins the definitions with the imports and the library functions that they need. */
function assembleModule(parts: ModuleParts): EmittedModule {
  const { kernels, doc, externs, dependencies, definitions, launchCache, alias, runtime } = parts;
  const mentionedNames = namesIn([...dependencies, ...definitions, ...launchCache]);
  const isMentioned = (name: string) => mentionedNames.has(name);
  const runtimeNames = runtime === undefined ? [] : definedNames.filter(isMentioned);
  const library = selectLibrary((name) => runtime === undefined && isMentioned(name));
  const plainImports = library.imports.filter((each) => each.kind === "import").map(({ module }) => module);
  // Definitions precede the decorators and module-level calls that use them.
  const eagerNames = namesIn(definitions.flatMap(eagerExpressions));
  const functions = [...library.functions];
  const [marker, ...cachedCall] = launchCache;
  const module: Statement[] = [
    py.expression(py.string(`${doc}\n\n${WRITTEN_BY}\n${madeFor(kernels)}`)),
    ...lintExceptions([...dependencies, ...definitions]),
    ...standardImports([
      ...plainImports.filter((name) => name !== "torch" && name !== "triton"),
      ...(launchCache.length > 0 ? ["functools"] : []),
    ]),
    { kind: "import", module: "torch" },
    { kind: "import", module: "triton" },
    { kind: "import", module: "triton.language", as: "tl" },
    ...fromImports(kernels, isMentioned, [
      ...externs.flatMap((each) => each.imports),
      ...library.imports.filter((each) => each.kind === "fromImport"),
      ...(isMentioned(CAN_SPECIALIZE) ? gluonImports(isMentioned) : []),
    ]),
    ...(runtime === undefined ? [] : localImport(runtime, runtimeNames)),
    ...versionCheck(kernels),
    py.blank,
    ...library.constants,
    ...dtypeConstants(kernels, isMentioned),
    ...functions.filter(([name]) => eagerNames.has(name)).map(([, statement]) => statement),
    ...dependencies,
    ...definitions,
    ...functions.filter(([name]) => !eagerNames.has(name)).map(([, statement]) => statement),
    ...(marker ? [py.blank, marker, py.blank, ...library.launchCache, ...cachedCall] : []),
    ...alias,
  ];
  return { ...printModule(module), runtimeNames };
}

/** The module that tests of a kernel in `kernelModule` use. */
function assembleTests(name: string, kernelModule: string, { functions, alias }: FixedExports): EmittedModule {
  const mentionedNames = new Set(namesIn(functions));
  eachNode(functions, (node) => {
    // A reference in the author's Python.
    if (node.kind === "verbatim") for (const [each] of node.text.matchAll(/\b[A-Za-z_]\w*/g)) mentionedNames.add(each);
  });
  const { imports, constants, functions: helpers } = selectLibrary((each) => mentionedNames.has(each));
  const isNeeded = (module: string, as = module) =>
    mentionedNames.has(as) || imports.some((each) => each.kind === "import" && each.module === module);
  const module: Statement[] = [
    py.expression(py.string(`The inputs and the reference of ${name}, for tests.\n\n${WRITTEN_BY}`)),
    ...lintExceptions(functions),
    ...(isNeeded("torch") ? [{ kind: "import", module: "torch" } as const] : []),
    ...(isNeeded("triton") ? [{ kind: "import", module: "triton" } as const] : []),
    ...(isNeeded("triton.language", "tl") ? [{ kind: "import", module: "triton.language", as: "tl" } as const] : []),
    ...localImport(kernelModule, [name]),
    py.blank,
    ...constants,
    ...helpers.values(),
    ...functions,
    ...alias,
  ];
  return { ...printModule(module), runtimeNames: [] };
}

/** An import of the package's own. */
function localImport(module: string, names: readonly string[]): Block {
  const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
  if (sorted.length === 0) return [];
  return [py.blank, { kind: "fromImport", module, names: sorted.map((name) => ({ name })) }];
}

/** The names that a definition evaluates when the module is imported. */
function eagerExpressions(statement: Statement): readonly (Expression | Statement)[] {
  if (statement.kind === "function" || statement.kind === "class") return statement.decorators;
  return [statement];
}
