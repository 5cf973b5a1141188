/** Configs of a warp-specialized kernel: their sizes, and the hook that sets the block shapes of their descriptors. */
import type { KernelIR } from "../../../ir/nodes.js";
import { type KernelNames, parameterName, valueName } from "../../names/kernel-names.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Expression, FunctionDef } from "../../syntax/py.js";
import { THREE_CONSUMER_HEAD_SIZES } from "../pattern/attention-configs.js";
import { SET_BLOCK } from "./helpers.js";
import type { GluonKernel, ThreeConsumers } from "./kernel.js";

/** The function that sets the block shapes of a config's descriptors. */
export function blockHook(ir: KernelIR, kernel: GluonKernel, names: KernelNames, name: string): FunctionDef {
  const constant = (key: string) => py.subscript(py.name("args"), py.string(key));
  const dim = (dimension: string | number): Expression =>
    typeof dimension === "number" ? py.number(String(dimension)) : constant(parameterName(ir, names, dimension));
  const descriptors = new Set(kernel.launchArguments.flatMap((each) => ("blocks" in each ? [each.descriptor.id] : [])));
  const body = kernel
    .blocks({ dim, constant: ({ id }) => constant(id) })
    .filter(([{ descriptor }]) => descriptors.has(descriptor.id))
    .map(([{ descriptor }, block]) => py.expression(py.call(SET_BLOCK, constant(descriptor.id), py.list(...block))));
  return {
    kind: "function",
    name,
    decorators: [],
    params: [{ name: "args" }],
    docstring: "Gives each descriptor the block of the config that is to run.",
    body,
  };
}

/** The function that drops configs of three consumers if heads are long, because they do not fit. */
export function threeConsumerPruner(
  ir: KernelIR,
  { threeConsumers }: GluonKernel,
  names: KernelNames,
  name: string,
): Block {
  if (!threeConsumers) return [];
  const count = py.subscript(py.dotted("config.kwargs"), py.string(threeConsumers.consumers.id));
  const isShort = threeConsumers.heads.map((dim) =>
    py.compare(py.subscript(py.name("args"), py.string(parameterName(ir, names, dim))), [
      "==",
      py.number(String(THREE_CONSUMER_HEAD_SIZES)),
    ]),
  );
  const branches = threeConsumers.branches.map(({ condition, isThen }) => {
    const flag = py.subscript(py.name("args"), py.string(valueName(names, condition)));
    return isThen ? flag : py.unary("not", flag);
  });
  const retained = py.name("kept");
  const test = py.boolOp("or", py.compare(count, ["<", py.number("3")]), py.boolOp("and", ...isShort, ...branches));
  const body: Block = [
    py.assign(py.name("args"), py.dict({ value: py.name("named_args") }, { value: py.name("kwargs") })),
    py.assign(retained, py.list()),
    {
      kind: "for",
      target: py.name("config"),
      iterable: py.name("configs"),
      body: [{ kind: "if", branches: [{ test, body: [py.expression(py.call("kept.append", py.name("config")))] }] }],
    },
    py.returns(retained),
  ];
  return [
    {
      kind: "function",
      name,
      decorators: [],
      params: [{ name: "configs" }, { name: "named_args" }, { name: "**kwargs" }],
      docstring: prunerDoc(threeConsumers),
      body,
    },
  ];
}

function prunerDoc({ heads, branches }: ThreeConsumers): string {
  if (branches.length === 0) return "The configs that fit: with long heads, three consumers have too few registers.";
  const reason = heads.length > 0 ? "short heads, and the same loops for all rows" : "the same loops for all rows";
  return `The configs that fit: three consumers need ${reason}.`;
}

/** `@triton.autotune` over the configs that fit, each with the sizes of its ring buffer. */
export function autotuneDecorator(
  ir: KernelIR,
  names: KernelNames,
  kernel: GluonKernel,
  hook: string,
  pruner: string,
): Expression {
  const { configs, threeConsumers } = kernel;
  const configCalls = configs.map(({ config, constants, registers }) => {
    const authorEntries = Object.entries(config.values).map(([name, value]) => ({
      key: py.string(parameterName(ir, names, name)),
      value: py.constant(value),
    }));
    const ringEntries = Object.entries(constants).map(([name, value]) => ({
      key: py.string(name),
      value: py.number(String(value)),
    }));
    const keywords = py.keywords({
      num_warps: py.number("4"),
      maxnreg: registers === undefined ? undefined : py.number(String(registers)),
      pre_hook: py.name(hook),
    });
    return py.withOrigin(py.call("triton.Config", py.dict(...authorEntries, ...ringEntries), ...keywords), config.at);
  });
  const key = (ir.tuning.key ?? []).map((name) => py.string(parameterName(ir, names, name)));
  return py.call(
    "triton.autotune",
    ...py.keywords({
      configs: py.list(...configCalls),
      key: py.list(...key),
      prune_configs_by: threeConsumers && py.dict({ key: py.string("early_config_prune"), value: py.name(pruner) }),
    }),
  );
}
