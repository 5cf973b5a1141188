/** The methods of a compiled kernel that emit Python. */
import type { EmittedModule, Part } from "../codegen/module/module.js";
import { runtimeModule } from "../codegen/module/preamble.js";
import { sourceMap } from "../codegen/syntax/layout.js";
import type {
  CompiledKernel,
  EmitOptions,
  Emitted,
  TestCase,
  NamedTile,
  Specialize,
} from "../compiled/compiled-kernel.js";
import { noLaunchCache, notSpecialized } from "../diagnostics/catalog/definition-codes.js";
import { type Diagnostic, type Location, warning, fail } from "../diagnostics/diagnostic.js";
import { cacheKey } from "../compiled/canonical-json.js";
import type { KernelIR } from "../ir/nodes.js";
import type { SourceIndex } from "../ir/source-index.js";
import { walk } from "../ir/walk.js";
import { showType, type Type } from "../types/types.js";
import { dtypeSourceText } from "../types/dtype.js";
import { type Dim, isUnrolled } from "../types/shape.js";
import { unprovedBarriers } from "../diagnostics/catalog/proof-codes.js";
import { specialize, type Specialized } from "../codegen/warp-specialize/pattern/specialize.js";
import { NotSpecializable } from "../codegen/warp-specialize/pattern/not-specializable.js";
import type { ProtocolVerdict } from "../codegen/warp-specialize/protocol/explore.js";
import { proveBarriers } from "../codegen/warp-specialize/protocol/proof.js";

/** `emitPart` emits a module of `file`, and `warningsOf` are those about options. */
export function emitters(
  kernel: { readonly name: string; readonly at: Location | undefined },
  file: string,
  emitPart: (options?: EmitOptions, part?: Part) => EmittedModule,
  warningsOf: (options?: EmitOptions) => readonly Diagnostic[],
): Pick<CompiledKernel, "emit" | "emitForPackage" | "runtimeModule"> {
  const emitted = ({ text, lines, cacheObstacle }: EmittedModule, options?: EmitOptions): Emitted => {
    const warnings = [...warningsOf(options)];
    if (cacheObstacle !== undefined) warnings.push(warning(noLaunchCache(kernel.name, cacheObstacle), kernel.at));
    return { python: text, map: sourceMap(file, lines), ...(warnings.length > 0 && { warnings }) };
  };
  return {
    emit: (options) => emitted(emitPart(options), options),
    emitForPackage(module, options) {
      const printed = emitPart({ ...options, bare: true }, { runtime: "._runtime" });
      const tests = emitPart(options, { testsOf: module });
      return { ...emitted(printed, options), runtimeNames: printed.runtimeNames, tests: tests.text };
    },
    runtimeModule,
  };
}

// Plans of cases ask for the cost and the validity of the same launches many times.

/** Property tests draw any number of launches. */
const MAX_ENTRIES = 2_000;

/** Caches a function of everything in a test case but the values of its tensors. */
export function byLaunch<Result>(compute: (testCase: TestCase) => Result): (testCase: TestCase) => Result {
  const results = new Map<string, { readonly result: Result }>();
  return (testCase) => {
    const { seed: _seed, special: _special, ...launch } = testCase;
    const key = cacheKey(launch);
    const known = results.get(key);
    if (known) return known.result;
    const result = compute(testCase);
    if (results.size >= MAX_ENTRIES) results.clear();
    results.set(key, { result });
    return result;
  };
}

// The author's variables that hold tiles, for the hints of an editor.

export function namedTiles({ body, functions }: KernelIR, source: SourceIndex | undefined): readonly NamedTile[] {
  const tiles: NamedTile[] = [];
  const add = (name: string | undefined, statement: NamedTile["statement"], type: Type): void => {
    if (name !== undefined && type.kind === "tile" && type.shape.length > 0)
      tiles.push({ name, statement, type: showType(type) });
  };
  for (const block of [body, ...functions.map((helper) => helper.body)])
    walk(block, (statement) => {
      const site = statement.location && source?.site(statement.location);
      if (!site) return;
      if (statement.kind === "let") add(site.name, site.statement, statement.variable.type);
      if (statement.kind === "op")
        statement.results.forEach(({ type, isAnonymous }, i) => {
          if (!isAnonymous) add(site.names ? site.names[i] : site.name, site.statement, type);
        });
    });
  return tiles;
}

// The type annotation that an author writes for a parameter with the type of a traced value.

/** Undefined if there is no annotation: for a string, a dtype, or a size that depends on an unrolled loop. */
export function authorType(type: Type): string | undefined {
  switch (type.kind) {
    case "tile":
      return type.shape.length === 0
        ? `ScalarOf<typeof ${dtypeSourceText(type.dtype)}>`
        : shapedAnnotation("TileOf", dtypeSourceText(type.dtype), type.shape);
    case "pointer":
    case "view":
    case "descriptor":
      return shapedAnnotation(NAMES[type.kind], dtypeSourceText(type.to), type.shape, type.access);
    case "tensor":
      return shapedAnnotation("TensorOf", dtypeSourceText(type.to), type.dims, type.access);
    case "constexpr": {
      const name = CONSTANTS[type.of];
      return name === undefined || isUnrolled(type.text) ? undefined : `${name}<${JSON.stringify(type.text)}>`;
    }
    case "none":
      return undefined;
    default:
      return type satisfies never;
  }
}

const NAMES = { pointer: "PointerOf", view: "ViewOf", descriptor: "DescriptorOf" } as const;
const CONSTANTS: Readonly<Record<string, string | undefined>> = {
  int: "Constexpr",
  float: "ConstFloat",
  bool: "ConstBool",
};

function shapedAnnotation(name: string, dtype: string, shape: readonly Dim[], access?: string): string | undefined {
  if (shape.some(isUnrolled)) return undefined;
  const dims = `[${shape.map((dim) => JSON.stringify(dim)).join(", ")}]`;
  if (name === "PointerOf" && shape.length === 0 && access === "inout") return `PointerOf<typeof ${dtype}>`;
  const defaultAccess = name === "PointerOf" ? "inout" : "in";
  return `${name}<typeof ${dtype}, ${dims}${access === undefined || access === defaultAccess ? "" : `, ${JSON.stringify(access)}`}>`;
}

// The warp-specialized form of a kernel, if its spec or a caller requests one.

interface WarpSpecializedKernel {
  /**
   * The form that a caller requests; by default the spec decides.
   *
   * @throws TileScriptError at the statement that prevents specialization, if the form is required, and at a kernel whose
   * barriers are not proved.
   */
  form(mode?: Specialize): Specialized | undefined;
  /** The reason why the form is missing, if it is requested but not required. */
  warnings(mode?: Specialize): readonly Diagnostic[];
}

interface WarpSpecializedKernels {
  form(mode?: Specialize): (kernel: KernelIR) => Specialized | undefined;
  warnings(mode?: Specialize): readonly Diagnostic[];
}

export function warpSpecializedKernel(ir: KernelIR, lowered: KernelIR): WarpSpecializedKernel {
  let cached: Specialized | NotSpecializable | undefined;
  const specializeOnce = () => (cached ??= withProvedBarriers(ir, specialize(ir, lowered)));
  return {
    form(mode = ir.warpSpecialize) {
      if (mode === "never") return undefined;
      const form = specializeOnce();
      if (!(form instanceof NotSpecializable)) return form;
      return mode === "always" ? fail(notSpecialized.required(ir.name, form.reason), form.at ?? ir.at) : undefined;
    },
    warnings(mode = ir.warpSpecialize) {
      const form = mode === "auto" ? specializeOnce() : undefined;
      return form instanceof NotSpecializable
        ? [warning(notSpecialized.plain(ir.name, form.reason), form.at ?? ir.at)]
        : [];
    },
  };
}

function withProvedBarriers(ir: KernelIR, form: Specialized | NotSpecializable): Specialized | NotSpecializable {
  if (!(form instanceof NotSpecializable)) requireBarriers(ir, proveBarriers(form));
  return form;
}

/** @throws TileScriptError if the proof of a kernel's barriers failed, so that no module contains such a kernel. */
export function requireBarriers({ name, at }: Pick<KernelIR, "name" | "at">, proof: ProtocolVerdict): void {
  if (proof.kind === "proved") return;
  const missing = proof.kind === "refuted" ? proof.fault : `${proof.states} states are not all`;
  fail(unprovedBarriers(name, missing), at);
}

/**
 * The same for the kernels of an operator. Each has a mode of its own; a caller's mode is that of the kernels that match a
 * pattern, and there must be one.
 */
export function specializedKernels(lowered: ReadonlyMap<KernelIR, KernelIR>): WarpSpecializedKernels {
  const kernels = new Map([...lowered].map(([ir, each]) => [ir, warpSpecializedKernel(ir, each)]));
  const matches = () => [...kernels.values()].some((each) => each.form("auto"));
  return {
    form(mode) {
      const modeOfEach = mode === "always" && matches() ? "auto" : mode;
      return (kernel) => kernels.get(kernel)?.form(modeOfEach);
    },
    warnings: (mode) => (mode && matches() ? [] : [...kernels.values()].flatMap((each) => each.warnings(mode))),
  };
}

/** For each config of the warp-specialized form that has most, the author's config it comes from. */
export function specializedConfigs(
  ...forms: readonly (Specialized | undefined)[]
): Pick<CompiledKernel, "specialized"> {
  const lists = forms.flatMap((form) => (form ? [form.configs.map(({ config }) => config)] : []));
  const longest = lists.toSorted((a, b) => b.length - a.length)[0];
  return longest ? { specialized: longest } : {};
}
