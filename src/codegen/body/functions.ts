/** Helper functions of the kernel as `@triton.jit` functions, callees first. */
import { type Elem, sameElem } from "../../types/dtype.js";
import type { Argument, FunctionIR, KernelIR, Value } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { showType } from "../../types/types.js";
import { capturesOf, callBindings, walkAll } from "../../ir/walk.js";
import { emitBody } from "./body.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, FunctionDef, Parameter } from "../syntax/py.js";
import type { Helpers } from "./print-op.js";

export interface HelperOptions {
  /** The module's name of each helper function. */
  readonly names: ReadonlyMap<FunctionIR, string>;
  /** The names of the kernel's parameters. Helper functions that use them receive them as arguments. */
  readonly parameters: ReadonlyMap<Value, string>;
  /** Sizes and strides. An argument of 1 becomes a weak constant in Triton. */
  readonly sizes: ReadonlySet<Value>;
  readonly isNonNegative: (argument: Argument) => boolean;
  readonly source: SourceIndex | undefined;
  /** Further names of the module that no local name may shadow. */
  readonly reserved?: readonly string[];
}

export interface EmittedHelpers {
  readonly definitions: readonly FunctionDef[];
  /** The names and hidden arguments that the kernel needs for its calls. */
  readonly helpers: Helpers;
}

export function emitHelpers(ir: KernelIR, options: HelperOptions): EmittedHelpers {
  const extras = new Map<FunctionIR, readonly (Value | Elem)[]>();
  const names = new Map(options.names);
  const helpers: Helpers = {
    name: (helper) => py.name(nameOfHelper(helper, names)),
    extras: (helper) => extras.get(helper) ?? [],
  };
  // An argument that is 1 in some launch is also a constant in the helper function.
  const sizes = new Set(options.sizes);
  walkAll(ir, (statement) => {
    for (const [param] of callBindings(statement)) if (isInteger(param)) sizes.add(param);
  });
  const jitFunctions = ir.functions.filter(({ extern }) => !extern);
  // Triton's functions are generic, so traces for different types or constexprs often have the same text.
  const definitions = new Map<string, FunctionDef>();
  for (const helper of jitFunctions) {
    const { definition, dtypes } = emitHelper(helper, helpers, { ...options, sizes });
    extras.set(helper, [...sortCaptures(capturesOf(helper), options.parameters), ...dtypes]);
    const text = JSON.stringify({ ...definition, name: "" });
    const existing = definitions.get(text);
    if (existing) names.set(helper, existing.name);
    else definitions.set(text, definition);
  }
  return { definitions: [...definitions.values()], helpers };
}

function emitHelper(
  helper: FunctionIR,
  helpers: Helpers,
  options: HelperOptions,
): { definition: FunctionDef; dtypes: readonly Elem[] } {
  const locals = new Names("body");
  for (const name of [...options.names.values(), ...(options.reserved ?? [])]) locals.reserve(name);
  const parameters = new Map<Value, Expression>();
  const params: Parameter[] = [];
  const addParameter = (name: string, isConstexpr: boolean): Expression => {
    params.push({ name, ...(isConstexpr && { annotation: py.dotted("tl.constexpr") }) });
    return py.name(name);
  };
  const captures = sortCaptures(capturesOf(helper), options.parameters);
  const authorNames = (helper.at && options.source?.site(helper.at)?.parameters) ?? [];
  for (const value of [...helper.params, ...captures]) {
    const preferredName =
      options.parameters.get(value) ??
      toAuthorName(value.parameter, authorNames) ??
      nameOf(value, options.source) ??
      "value";
    parameters.set(value, addParameter(locals.take(preferredName), value.type.kind === "constexpr"));
  }
  const dtypes = new Map<string, { readonly elem: Elem; readonly name: Expression }>();
  const dtype = (elem: Elem): Expression => {
    if (typeof elem === "string") return py.dotted(`tl.${elem}`);
    const existing = dtypeFromParameter(elem, parameters) ?? dtypes.get(elem.name)?.name;
    if (existing) return existing;
    const name = addParameter(locals.take(elem.name), true);
    dtypes.set(elem.name, { elem, name });
    return name;
  };
  const body = emitBody(helper.body, {
    names: locals,
    parameters,
    dtype,
    sizes: options.sizes,
    isNonNegative: options.isNonNegative,
    helpers,
    source: options.source,
  });
  const decorator = py.dotted("triton.jit");
  const docstring = commentOf(helper, options.source);
  return {
    definition: {
      kind: "function",
      name: nameOfHelper(helper, options.names),
      decorators: [helper.noinline ? py.call(decorator, py.keyword("noinline", py.boolean(true))) : decorator],
      params,
      body: body.length > 0 ? body : [py.pass],
      ...(docstring !== undefined && { docstring }),
      origin: helper.at,
    },
    dtypes: [...dtypes.values()].map(({ elem }) => elem),
  };
}

function nameOfHelper(helper: FunctionIR, names: ReadonlyMap<FunctionIR, string>): string {
  const name = names.get(helper);
  if (name === undefined) throw new Error(`a module has no function ${helper.name ?? "without a name"}`);
  return name;
}

/** Captured values in the order of the kernel's parameters: pointers, numbers, constexprs. */
function sortCaptures(captures: readonly Value[], parameters: ReadonlyMap<Value, string>): readonly Value[] {
  const order = [...parameters.keys()];
  const isConstexpr = ({ type }: Value) => Number(type.kind === "constexpr");
  return captures.toSorted((a, b) => isConstexpr(a) - isConstexpr(b) || order.indexOf(a) - order.indexOf(b));
}

/** The author's name of a parameter. Bundlers and transpilers may append a number to it. */
function toAuthorName(name: string | undefined, authorNames: readonly string[]): string | undefined {
  if (name === undefined || authorNames.includes(name)) return name;
  const bare = name.replace(/\d+$/, "");
  return authorNames.includes(bare) ? bare : name;
}

/** `x.dtype` of a parameter with this dtype. */
function dtypeFromParameter(elem: Elem, parameters: ReadonlyMap<Value, Expression>): Expression | undefined {
  for (const [{ type }, name] of parameters) {
    if (type.kind === "tile" && sameElem(type.dtype, elem)) return py.attribute(name, "dtype");
    if (type.kind === "pointer" && sameElem(type.to, elem))
      return py.attribute(py.attribute(name, "dtype"), "element_ty");
  }
  return undefined;
}

function isInteger({ type }: Value): boolean {
  return type.kind === "tile" && type.shape.length === 0 && /^u?int(?:32|64)$/.test(showType(type));
}

function nameOf(value: Value, source: SourceIndex | undefined): string | undefined {
  return value.location && source?.site(value.location)?.name;
}

/** The author's comment above the function or above the variable that contains it. */
function commentOf({ at }: FunctionIR, source: SourceIndex | undefined): string | undefined {
  const comments = (at && source?.site(at)?.comments) ?? [];
  return comments.length > 0 ? comments.join("\n") : undefined;
}
