/** The emitted Python file: it needs torch and triton, and nothing of TileScript. */
import type { Elem } from "../ir/dtype.js";
import { isLiteral, isValue, type KernelIR, type TensorParam, type Value } from "../ir/nodes.js";
import { nonNegativeValues } from "../ir/signs.js";
import type { SourceIndex } from "../ir/source.js";
import { argumentsOf, walkAll } from "../ir/walk.js";
import { isList } from "../ir/nodes.js";
import type { Argument } from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
import { decorators } from "./autotune.js";
import { emitBody } from "./body.js";
import { emitHelpers } from "./functions.js";
import { hostExpressions, hostInputs } from "./host.js";
import { inputsFunction } from "./inputs.js";
import { helperFunctions } from "./helpers.js";
import { type KernelNames, kernelNames } from "./kernel-names.js";
import { type PrintedModule, printModule } from "./layout.js";
import * as py from "./py-build.js";
import type { Block, Expression, FunctionDef, Parameter, Statement } from "./py.js";
import { type Binding, referenceFunction } from "./reference.js";
import { typedArguments } from "./spelling.js";
import { INTERPRETED, REACH_LIMIT, ROW_LIMIT } from "./wrapper-checks.js";
import { requirementsOnConfigs, wrapper } from "./wrapper.js";

/** `ir` is the lowered kernel. The same input gives the same bytes. */
export function emitModule(ir: KernelIR, source: SourceIndex | undefined): PrintedModule {
  const names = kernelNames(ir, source);
  const used = usedParameters(ir);
  const launcher = wrapper(ir, names, used);
  const parts: Statement[] = [
    ...jitFunctions(ir, names, used, source),
    launcher,
    ...reference(ir, names, launcher),
    inputsFunction(ir, names),
  ];
  const isMentioned = (name: string) => mentions(parts, name);
  const module: Statement[] = [
    py.expression(
      py.string(
        `${ir.doc ?? `The Triton kernel ${names.wrapper}.`}\n\nWritten by TileScript; edit the TypeScript source instead of this file.`,
      ),
    ),
    { kind: "import", module: "torch" },
    { kind: "import", module: "triton" },
    { kind: "import", module: "triton.language", as: "tl" },
    ...imports(ir, isMentioned),
    ...newestNames(ir),
    ...constants(isMentioned),
    ...pruner(ir, names),
    ...parts,
    ...helperFunctions(isMentioned),
    py.assign(py.name("kernel_fn"), py.name(names.wrapper)),
  ];
  return printModule(module);
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

/** The kernel, after the helper functions that it calls. */
function jitFunctions(
  ir: KernelIR,
  names: KernelNames,
  used: ReadonlySet<Value>,
  source: SourceIndex | undefined,
): readonly FunctionDef[] {
  const params: Parameter[] = [];
  const add = (value: Value, annotation?: Expression) =>
    params.push({ name: names.parameters.get(value)!, ...(annotation && { annotation }) });
  for (const param of ir.params) {
    if (param.kind === "tensor") add(param.pointer);
    if (param.kind === "pointer") add(param.value);
  }
  for (const param of ir.params) {
    if (param.kind !== "scalar" && param.kind !== "size") continue;
    // Triton reads the dtype of a number off its value: a declared one is written down. Sizes and strides are not, so
    // that their being 1 or a multiple of 16 still specialises the kernel.
    if (used.has(param.value))
      add(param.value, param.kind === "scalar" ? dtypeExpression(ir, names, param.dtype) : undefined);
  }
  for (const param of ir.params) {
    if (param.kind !== "tensor") continue;
    const own = names.strides.get(param.name)!;
    param.strides.forEach((stride, axis) => {
      if (own[axis] !== undefined && isValue(stride) && used.has(stride)) add(stride);
    });
  }
  for (const param of ir.params) if (param.kind === "constexpr") add(param.value, py.dotted("tl.constexpr"));
  const parameters = new Map<Value, Expression>([...names.parameters].map(([value, name]) => [value, py.name(name)]));
  for (const param of ir.params) {
    if ((param.kind !== "tensor" && param.kind !== "pointer") || !param.given) continue;
    const pointer = py.name(names.parameters.get(param.kind === "tensor" ? param.pointer : param.value)!);
    parameters.set(param.given, py.compare(pointer, ["is not", py.none]));
  }
  const dtype = (elem: Elem) => dtypeExpression(ir, names, elem);
  const strides = ir.params.flatMap((param) => (param.kind === "tensor" ? param.strides.filter(isValue) : []));
  const shared = {
    sizes: new Set([...strides, ...ir.params.filter((param) => param.kind === "size").map((param) => param.value)]),
    isNonNegative: nonNegativeValues(ir),
    source,
  };
  const { definitions, helpers } = emitHelpers(ir, { ...shared, names: names.functions, parameters: names.parameters });
  const body = emitBody(ir.body, { ...shared, names: names.locals, parameters, dtype, helpers });
  const kernel: FunctionDef = {
    kind: "function",
    name: names.jit,
    decorators: decorators(ir, names, requirementsOnConfigs(ir).includes(true) && ir.tuning.key ? PRUNER : undefined),
    params,
    body: body.length > 0 ? body : [py.pass],
    origin: ir.at,
  };
  return [...definitions, kernel];
}

/** `tl.float16`, or for a dtype variable what the first tensor of it holds. */
function dtypeExpression(ir: KernelIR, names: KernelNames, elem: Elem): Expression {
  if (typeof elem === "string") return py.dotted(`tl.${elem}`);
  const holds = (param: TensorParam) => typeof param.dtype !== "string" && param.dtype.name === elem.name;
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && holds(param));
  const present = tensors.filter((param) => !param.optional);
  const holder = present.find((param) => param.role !== "in") ?? present[0] ?? tensors[0]!;
  return py.dotted(`${names.parameters.get(holder.pointer)!}.dtype.element_ty`);
}

/** Sizes, scalars and strides that the kernel looks at, that tune it or that prune its configs. */
function usedParameters(ir: KernelIR): ReadonlySet<Value> {
  const used = new Set<Value>();
  const use = (argument: Argument): void => {
    if (isList(argument)) argument.forEach(use);
    else if (isValue(argument)) used.add(argument);
  };
  walkAll(ir, (statement) => argumentsOf(statement).forEach(use));
  for (const param of ir.params) if (ir.tuning.key?.includes(param.name)) used.add(param.value);
  requirementsOnConfigs(ir).forEach((prunes, i) => {
    if (!prunes || !ir.tuning.key) return;
    const { block, at } = ir.requires;
    for (const value of hostInputs({ block: { statements: block.statements, yields: [block.yields[i]!] }, at }))
      used.add(value);
  });
  return used;
}

// ---- around it ------------------------------------------------------------------------------------------------------

/** What spellings need besides `tl`. */
function imports(ir: KernelIR, isMentioned: (name: string) => boolean): Block {
  const needed = new Map<string, Set<string>>();
  walkAll(ir, (statement) => {
    const spelling = statement.kind === "op" ? statement.op.spelling : undefined;
    if (spelling?.form !== "call" || !spelling.from) return;
    const [name = ""] = spelling.name.split(".");
    if (isMentioned(name)) needed.set(spelling.from, (needed.get(spelling.from) ?? new Set()).add(name));
  });
  return [...needed].sort().map(([module, names]) => ({
    kind: "fromImport",
    module,
    names: [...names].sort().map((name) => ({ name })),
  }));
}

function constants(isMentioned: (name: string) => boolean): Block {
  const limits: Statement[] = [
    py.comment("Whether Triton's interpreter runs kernels on the CPU."),
    py.assign(py.name(INTERPRETED), py.dotted("triton.knobs.runtime.interpret")),
  ];
  if (isMentioned(REACH_LIMIT))
    limits.push(
      py.comment("Offsets are int32, and masked lanes may lie up to one tile behind the last element."),
      py.assign(
        py.name(REACH_LIMIT),
        py.binary(
          py.binary(py.number("2"), "**", py.number("31")),
          "-",
          py.binary(py.number("2"), "**", py.number("20")),
        ),
      ),
    );
  if (isMentioned(ROW_LIMIT))
    limits.push(
      py.comment("Elements that a tile of Triton may have."),
      py.assign(py.name(ROW_LIMIT), py.binary(py.number("2"), "**", py.number("20"))),
    );
  return [py.blank, ...limits];
}

/** Refuses to be imported under a Triton that lacks what the kernel uses. */
function newestNames(ir: KernelIR): Block {
  const found = new Set<string>();
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.op.since39?.(typedArguments(statement))) found.add(nameOf(statement.op));
  });
  const [first, ...others] = found;
  if (first === undefined) return [];
  const version = py.call(
    "tuple",
    py.call(
      "map",
      py.name("int"),
      py.subscript(py.call("triton.__version__.split", py.string(".")), py.slice(undefined, py.number("2"))),
    ),
  );
  const names = [first, ...others].join(", ");
  return [
    py.blank,
    {
      kind: "if",
      branches: [
        {
          test: py.compare(version, ["<", py.tuple(py.number("3"), py.number("9"))]),
          body: [py.raise(py.call("ImportError", py.string(`${names}: needs Triton 3.9 or later`)))],
        },
      ],
    },
  ];
}

/** What an op is called in Triton. */
function nameOf({ spelling, name }: Op): string {
  return spelling.form === "call" ? spelling.name : name;
}

const PRUNER = "_holds_requirements";

/** Drops the configs that a requirement excludes; tuning would measure a wrong result otherwise. */
function pruner(ir: KernelIR, names: KernelNames): Block {
  const prunes = requirementsOnConfigs(ir);
  if (!prunes.includes(true) || !ir.tuning.key) return [];
  const isConfig = (value: Value) =>
    ir.params.some((p) => p.kind === "constexpr" && p.from === "config" && p.value === value);
  const name = (value: Value): Expression => {
    const text = names.parameters.get(value)!;
    const holder = isConfig(value) ? py.dotted("config.kwargs") : py.name("args");
    return py.subscript(holder, py.string(text));
  };
  const tests = hostExpressions(ir.requires, name).filter((_, i) => prunes[i]);
  const kept = py.name("kept");
  return [
    {
      kind: "function",
      name: PRUNER,
      decorators: [],
      params: [{ name: "configs" }, { name: "named_args" }, { name: "**kwargs" }],
      docstring: "The configs for which the kernel's requirements hold.",
      body: [
        py.assign(py.name("args"), py.dict({ value: py.name("named_args") }, { value: py.name("kwargs") })),
        py.assign(kept, py.list()),
        {
          kind: "for",
          target: py.name("config"),
          iterable: py.name("configs"),
          body: [
            {
              kind: "if",
              branches: [
                { test: py.boolOp("and", ...tests), body: [py.expression(py.call("kept.append", py.name("config")))] },
              ],
            },
          ],
        },
        {
          kind: "if",
          branches: [
            {
              test: py.unary("not", kept),
              body: [
                py.raise(
                  py.call(
                    "ValueError",
                    py.string(
                      `${names.wrapper}: no config meets the kernel's requirements for this size; add one with larger blocks`,
                    ),
                  ),
                ),
              ],
            },
          ],
        },
        py.returns(kept),
      ],
    },
  ];
}

function reference(ir: KernelIR, names: KernelNames, launcher: FunctionDef): Block {
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const written = referenceFunction(ir, names, params, sizeBindings(ir, names));
  return written ? [written] : [];
}

/** Where each size can be read off the inputs. */
function sizeBindings(ir: KernelIR, names: KernelNames): readonly Binding[] {
  const inputs = ir.params.filter(
    (param): param is TensorParam => param.kind === "tensor" && param.role !== "out" && !param.optional,
  );
  return inputs.flatMap((param) =>
    param.dims.flatMap((dim, axis): Binding[] => {
      if (!isValue(dim) || isLiteral(dim)) return [];
      const shape = py.attribute(py.name(names.tensors.get(param.name)!), "shape");
      return [{ name: names.parameters.get(dim)!, value: py.subscript(shape, py.number(String(axis))) }];
    }),
  );
}

/** Whether a name stands anywhere in these statements. */
function mentions(tree: unknown, name: string): boolean {
  if (Array.isArray(tree)) return tree.some((item) => mentions(item, name));
  if (typeof tree !== "object" || tree === null) return false;
  if ("kind" in tree && tree.kind === "name" && "id" in tree) return tree.id === name;
  return Object.values(tree).some((item) => mentions(item, name));
}
