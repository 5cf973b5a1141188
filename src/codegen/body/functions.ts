/** Helper functions of the kernel as `@triton.jit` functions, callees first. */
import { type Elem, sameElem } from "../../types/dtype.js";
import type { Argument, FunctionIR, KernelIR, Value } from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source.js";
import { showType } from "../../types/types.js";
import { capturesOf, handedOver, walkAll } from "../../ir/walk.js";
import { emitBody } from "./body.js";
import { Names } from "../names/names.js";
import * as py from "../syntax/py-build.js";
import type { Expression, FunctionDef, Parameter } from "../syntax/py.js";
import type { Helpers } from "./print-op.js";

export interface HelperOptions {
  /** What the module calls each helper function. */
  readonly names: ReadonlyMap<FunctionIR, string>;
  /** The kernel's names of its arguments, which are passed to helper functions that use them. */
  readonly parameters: ReadonlyMap<Value, string>;
  /** Sizes and strides, which Triton turns into weak constants if they are 1. */
  readonly sizes: ReadonlySet<Value>;
  readonly isNonNegative: (argument: Argument) => boolean;
  readonly source: SourceIndex | undefined;
}

export interface EmittedHelpers {
  readonly definitions: readonly FunctionDef[];
  /** For the kernel, which calls the helper functions. */
  readonly helpers: Helpers;
}

export function emitHelpers(ir: KernelIR, options: HelperOptions): EmittedHelpers {
  const extras = new Map<FunctionIR, readonly (Value | Elem)[]>();
  const names = new Map(options.names);
  const helpers: Helpers = {
    name: (helper) => py.name(names.get(helper)!),
    extras: (helper) => extras.get(helper) ?? [],
  };
  // An argument that is 1 in some launch is a constant in the function too.
  const sizes = new Set(options.sizes);
  walkAll(ir, (statement) => {
    for (const [param] of handedOver(statement)) if (isInteger(param)) sizes.add(param);
  });
  const own = ir.functions.filter(({ extern }) => !extern);
  // Triton's functions are generic: traces for other types or constexprs often have the same text.
  const written = new Map<string, FunctionDef>();
  for (const helper of own) {
    const { definition, dtypes } = emitHelper(helper, helpers, { ...options, sizes });
    extras.set(helper, [...inOrder(capturesOf(helper), options.parameters), ...dtypes]);
    const text = JSON.stringify({ ...definition, name: "" });
    const same = written.get(text);
    if (same) names.set(helper, same.name);
    else written.set(text, definition);
  }
  return { definitions: [...written.values()], helpers };
}

function emitHelper(
  helper: FunctionIR,
  helpers: Helpers,
  options: HelperOptions,
): { definition: FunctionDef; dtypes: readonly Elem[] } {
  const locals = new Names("body");
  for (const name of options.names.values()) locals.keep(name);
  const parameters = new Map<Value, Expression>();
  const params: Parameter[] = [];
  const add = (name: string, isConstexpr: boolean): Expression => {
    params.push({ name, ...(isConstexpr && { annotation: py.dotted("tl.constexpr") }) });
    return py.name(name);
  };
  const captures = inOrder(capturesOf(helper), options.parameters);
  const written = (helper.at && options.source?.site(helper.at)?.parameters) ?? [];
  for (const value of [...helper.params, ...captures]) {
    const named =
      options.parameters.get(value) ?? asWritten(value.parameter, written) ?? nameOf(value, options.source) ?? "value";
    parameters.set(value, add(locals.take(named), value.type.kind === "constexpr"));
  }
  const dtypes = new Map<string, { readonly elem: Elem; readonly name: Expression }>();
  const dtype = (elem: Elem): Expression => {
    if (typeof elem === "string") return py.dotted(`tl.${elem}`);
    const known = ofParameter(elem, parameters) ?? dtypes.get(elem.name)?.name;
    if (known) return known;
    const name = add(locals.take(elem.name), true);
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
      name: options.names.get(helper)!,
      decorators: [helper.noinline ? py.call(decorator, py.keyword("noinline", py.boolean(true))) : decorator],
      params,
      body: body.length > 0 ? body : [py.pass],
      ...(docstring !== undefined && { docstring }),
      origin: helper.at,
    },
    dtypes: [...dtypes.values()].map(({ elem }) => elem),
  };
}

/** What a helper function gets besides its own parameters, in the kernel's order: pointers, numbers, constexprs. */
function inOrder(captures: readonly Value[], parameters: ReadonlyMap<Value, string>): readonly Value[] {
  const order = [...parameters.keys()];
  const isConstexpr = ({ type }: Value) => Number(type.kind === "constexpr");
  return captures.toSorted((a, b) => isConstexpr(a) - isConstexpr(b) || order.indexOf(a) - order.indexOf(b));
}

/** The author's name of a parameter. What runs a TypeScript file may have put a number behind it. */
function asWritten(name: string | undefined, written: readonly string[]): string | undefined {
  if (name === undefined || written.includes(name)) return name;
  const bare = name.replace(/\d+$/, "");
  return written.includes(bare) ? bare : name;
}

/** `x.dtype`, where a parameter has the dtype. */
function ofParameter(elem: Elem, parameters: ReadonlyMap<Value, Expression>): Expression | undefined {
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
  return value.at && source?.site(value.at)?.name;
}

/** The author's comment above the function, or above the variable that holds it. */
function commentOf({ at }: FunctionIR, source: SourceIndex | undefined): string | undefined {
  const comments = (at && source?.site(at)?.comments) ?? [];
  return comments.length > 0 ? comments.join("\n") : undefined;
}
