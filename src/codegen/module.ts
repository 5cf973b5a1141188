/** The emitted Python file: it needs torch and triton, and nothing of TileScript. */
import type { EmitOptions } from "../compiled.js";
import { fail } from "../diagnostics.js";
import type { Elem } from "../ir/dtype.js";
import { type Block as IRBlock, isLiteral, isValue, type KernelIR, type TensorParam, type Value } from "../ir/nodes.js";
import { nonNegativeValues } from "../ir/signs.js";
import type { SourceIndex } from "../ir/source.js";
import { usesOf39 } from "../ir/versions.js";
import { argumentsOf, blocksOf, bodiesOf, walkAll } from "../ir/walk.js";
import { isList } from "../ir/nodes.js";
import type { Argument } from "../ir/nodes.js";
import { decorators } from "./autotune.js";
import { emitBody } from "./body.js";
import { emitHelpers } from "./functions.js";
import { hostExpressions, hostInputs } from "./host.js";
import { drawFunction, inputsFunction } from "./inputs.js";
import { helperFunctions, LAUNCH, TUNED } from "./helpers.js";
import { type KernelNames, kernelNames } from "./kernel-names.js";
import { type PrintedModule, printModule } from "./layout.js";
import { flatText } from "./layout-expression.js";
import * as py from "./py-build.js";
import type { Block, Expression, FromImport, FunctionDef, Parameter, Statement } from "./py.js";
import { blockSetter, DESCRIPTOR_CLASS } from "./descriptors.js";
import { opDefinitions } from "./op-module.js";
import { type Binding, referenceFunction } from "./reference.js";
import { INTERPRETED, REACH_LIMIT, ROW_LIMIT, torchDType } from "./wrapper-checks.js";
import { TRITON_DTYPES } from "./wrapper-numbers.js";
import { prunedRequirements, wrapper } from "./wrapper.js";

/** `ir` is the lowered kernel. The same input gives the same bytes. */
export function emitModule(
  ir: KernelIR,
  source: SourceIndex | undefined,
  { op, providers = false }: EmitOptions = {},
): PrintedModule {
  const extern = ir.functions.find((helper) => helper.extern);
  if (extern && !source)
    fail("extern", `extern: ${extern.name} is copied from a file, and none can be read here`, extern.at);
  const names = kernelNames(ir, source);
  const used = usedParameters(ir);
  const launcher = wrapper(ir, names, used);
  const parts: Statement[] = [
    ...jitFunctions(ir, names, used, source),
    launcher,
    ...(op ? opDefinitions(ir, names, launcher, sizeBindings(ir, names), op) : []),
    ...references(ir, names, launcher, source, providers),
    ...drawFunction(ir, names, source),
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
    ...imports(ir, isMentioned, names.externs.imports),
    ...newestNames(ir),
    ...constants(ir, isMentioned),
    ...pruner(ir, names),
    ...names.externs.definitions,
    ...blockSetter(ir, names),
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
    decorators: decorators(ir, names, prunedRequirements(ir).includes(true) ? PRUNER : undefined),
    params,
    body: body.length > 0 ? body : [py.pass],
    origin: ir.at,
  };
  return [...definitions, kernel];
}

/** `tl.float16`, or for a dtype variable the constexpr that binds it, or what the first tensor of it holds. */
function dtypeExpression(ir: KernelIR, names: KernelNames, elem: Elem): Expression {
  if (typeof elem === "string") return py.dotted(`tl.${elem}`);
  const binder = ir.params.find((param) => param.kind === "constexpr" && param.variable?.name === elem.name);
  if (binder?.kind === "constexpr") return py.name(names.parameters.get(binder.value)!);
  const holds = (param: TensorParam) => typeof param.dtype !== "string" && param.dtype.name === elem.name;
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && holds(param));
  const present = tensors.filter((param) => !param.optional);
  const holder = present.find((param) => param.role !== "in") ?? present[0] ?? tensors[0]!;
  return py.dotted(`${names.parameters.get(holder.pointer)!}.dtype${holder.block ? "" : ".element_ty"}`);
}

/** Sizes, scalars and strides that the kernel looks at, that tune it or that prune its configs. */
function usedParameters(ir: KernelIR): ReadonlySet<Value> {
  const used = new Set<Value>();
  const use = (argument: Argument): void => {
    if (isList(argument)) argument.forEach(use);
    else if (isValue(argument)) used.add(argument);
  };
  const visit = ({ statements, yields }: IRBlock): void => {
    yields.forEach(use);
    for (const statement of statements) {
      argumentsOf(statement).forEach(use);
      blocksOf(statement).forEach(visit);
    }
  };
  bodiesOf(ir).forEach(visit);
  const { doNotSpecialize, doNotSpecializeOnAlignment } = ir.launch;
  const named = new Set([...(ir.tuning.key ?? []), ...doNotSpecialize, ...doNotSpecializeOnAlignment]);
  for (const param of ir.params) {
    if (named.has(param.name)) used.add(param.value);
    if (param.kind === "constexpr" && param.from === "heuristic" && param.compute)
      for (const value of hostInputs(param.compute)) used.add(value);
  }
  prunedRequirements(ir).forEach((prunes, i) => {
    if (!prunes) return;
    const { block, at } = ir.requires;
    for (const value of hostInputs({ block: { statements: block.statements, yields: [block.yields[i]!] }, at }))
      used.add(value);
  });
  return used;
}

// ---- around it ------------------------------------------------------------------------------------------------------

/** What spellings need besides `tl`. */
function imports(ir: KernelIR, isMentioned: (name: string) => boolean, others: readonly FromImport[]): Block {
  const needed = new Map<string, Set<string>>();
  const need = (from: string, name: string) => needed.set(from, (needed.get(from) ?? new Set()).add(name));
  for (const { module, names } of others) for (const { name } of names) need(module, name);
  if (isMentioned(DESCRIPTOR_CLASS)) needed.set("triton.tools.tensor_descriptor", new Set([DESCRIPTOR_CLASS]));
  walkAll(ir, (statement) => {
    const spelling = statement.kind === "op" ? statement.op.spelling : undefined;
    if (spelling?.form !== "call" || !spelling.from) return;
    const [name = ""] = spelling.name.split(".");
    if (isMentioned(name)) need(spelling.from, name);
  });
  return [...needed].sort().map(([module, names]) => ({
    kind: "fromImport",
    module,
    names: [...names].sort().map((name) => ({ name })),
  }));
}

function constants(ir: KernelIR, isMentioned: (name: string) => boolean): Block {
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
  if (isMentioned(LAUNCH))
    limits.push(
      py.comment("The config that tuning chose, as arguments of a launch, for each key."),
      py.assign(py.name(TUNED), py.dict()),
    );
  if (isMentioned(TRITON_DTYPES)) {
    const members = ir.params.flatMap((param) => (param.kind === "constexpr" ? (param.variable?.members ?? []) : []));
    const entries = [...new Set(members)].map((name) => ({ key: torchDType(name), value: py.dotted(`tl.${name}`) }));
    limits.push(
      py.comment("What Triton calls the dtypes of PyTorch."),
      py.assign(py.name(TRITON_DTYPES), py.dict(...entries)),
    );
  }
  return [py.blank, ...limits];
}

/** Refuses to be imported under a Triton that lacks what the kernel uses. */
function newestNames(ir: KernelIR): Block {
  const [first, ...others] = new Set(usesOf39(ir).map(({ name }) => name));
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

const PRUNER = "_prune_configs";

/** Drops the configs that a requirement excludes; tuning would measure a wrong result otherwise. */
function pruner(ir: KernelIR, names: KernelNames): Block {
  const prunes = prunedRequirements(ir);
  if (!prunes.includes(true)) return [];
  const isConfig = (value: Value) =>
    ir.params.some((p) => p.kind === "constexpr" && p.from === "config" && p.value === value);
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const inConfig = (value: Value): Expression =>
    isConfig(value) ? py.subscript(py.dotted("config.kwargs"), py.string(names.parameters.get(value)!)) : local(value);
  const only = (expressions: readonly Expression[]) => expressions.filter((_, i) => prunes[i]);
  const tests = only(hostExpressions(ir.requires, inConfig));
  const texts = only(hostExpressions(ir.requires, local));
  const { block, at } = ir.requires;
  const inputs = [
    ...hostInputs({ block: { statements: block.statements, yields: block.yields.filter((_, i) => prunes[i]) }, at }),
  ];
  const fixed = inputs.filter((value) => !isConfig(value));
  const kept = py.name("kept");
  const got = fixed.flatMap((value, i) => [
    `${i === 0 ? " with " : ", "}${names.parameters.get(value)}=`,
    { value: local(value) },
  ]);
  const message = py.fString(
    `${names.wrapper}: no config has ${texts.map(flatText).join(" and ")}`,
    ...got,
    "; add one that does",
  );
  return [
    {
      kind: "function",
      name: PRUNER,
      decorators: [],
      params: [{ name: "configs" }, { name: "named_args" }, { name: "**kwargs" }],
      docstring: "The configs that meet the kernel's requirements.",
      body: [
        py.assign(py.name("args"), py.dict({ value: py.name("named_args") }, { value: py.name("kwargs") })),
        ...fixed.map((value) =>
          py.assign(local(value), py.subscript(py.name("args"), py.string(names.parameters.get(value)!))),
        ),
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
        { kind: "if", branches: [{ test: py.unary("not", kept), body: [py.raise(py.call("ValueError", message))] }] },
        py.returns(kept),
      ],
    },
  ];
}

function references(
  ir: KernelIR,
  names: KernelNames,
  launcher: FunctionDef,
  source: SourceIndex | undefined,
  providers: boolean,
): Block {
  const star = launcher.params.findIndex((param) => param.name === "*");
  const params = star < 0 ? launcher.params : launcher.params.slice(0, star);
  const sizes = sizeBindings(ir, names);
  const doc = `What ${names.wrapper} computes, in PyTorch.`;
  const written = [
    ...(ir.reference ? [{ name: "reference_fn", reference: ir.reference, doc }] : []),
    ...Object.entries(providers ? ir.providers : {}).map(([name, provider]) => ({
      name: `provider_${name}`,
      reference: provider,
      doc: `What ${names.wrapper} computes, another way.`,
    })),
  ];
  return written.map((each) => referenceFunction(each, ir, names, params, sizes, source));
}

/** Where each size can be read off the inputs. */
function sizeBindings(ir: KernelIR, names: KernelNames): readonly Binding[] {
  const inputs = ir.params.filter(
    (param): param is TensorParam => param.kind === "tensor" && param.role !== "out" && !param.optional,
  );
  const seen = new Set<Value>();
  return inputs.flatMap((param) =>
    param.dims.flatMap((dim, axis): Binding[] => {
      if (!isValue(dim) || isLiteral(dim) || seen.has(dim)) return [];
      seen.add(dim);
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
