/** Configs of a warp-specialized kernel: their sizes, and the hook that sets the block shapes of their descriptors. */
import type { KernelIR } from "../../../ir/nodes.js";
import { type KernelNames, parameterName, valueName } from "../../names/kernel-names.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Expression, FunctionDef, Name } from "../../syntax/py.js";
import { LONG_HEAD_SIZE, THREE_CONSUMER_HEAD_SIZES } from "../pattern/attention-configs.js";
import { SET_BLOCK } from "./helpers.js";
import type { GluonKernel, LongHeads, ThreeConsumers } from "./kernel.js";

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

/** The function that drops configs that do not fit the launch's heads or its loops. */
export function headPruner(ir: KernelIR, kernel: GluonKernel, names: KernelNames, name: string): Block {
  const { threeConsumers, longHeads } = kernel;
  const tests = [
    ...(threeConsumers ? [threeConsumerTest(ir, threeConsumers, names)] : []),
    ...(longHeads ? [longHeadTest(ir, longHeads, names)] : []),
  ];
  if (tests.length === 0) return [];
  const retained = py.name("kept");
  const test = py.boolOp("and", ...tests);
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
      docstring: prunerDoc(kernel),
      body,
    },
  ];
}

const configConstant = ({ id }: Name): Expression => py.subscript(py.dotted("config.kwargs"), py.string(id));

const headIs = (ir: KernelIR, names: KernelNames, size: number) => (dim: string) =>
  py.compare(py.subscript(py.name("args"), py.string(parameterName(ir, names, dim))), ["==", py.number(String(size))]);

function threeConsumerTest(
  ir: KernelIR,
  { heads, branches, consumers }: ThreeConsumers,
  names: KernelNames,
): Expression {
  const isShort = heads.map(headIs(ir, names, THREE_CONSUMER_HEAD_SIZES));
  const isBranch = branches.map(({ condition, isThen }) => {
    const flag = py.subscript(py.name("args"), py.string(valueName(names, condition)));
    return isThen ? flag : py.unary("not", flag);
  });
  const hasFewer = py.compare(configConstant(consumers), ["<", py.number("3")]);
  return py.boolOp("or", hasFewer, py.boolOp("and", ...isShort, ...isBranch));
}

function longHeadTest(ir: KernelIR, { heads, pieces }: LongHeads, names: KernelNames): Expression {
  const isLong = py.boolOp("or", ...heads.map(headIs(ir, names, LONG_HEAD_SIZE)));
  return py.compare(py.compare(configConstant(pieces), [">", py.number("1")]), ["==", isLong]);
}

function prunerDoc({ threeConsumers, longHeads }: GluonKernel): string {
  if (longHeads) return "The configs that fit: each is for heads up to some length, and only some are for long heads.";
  if (!threeConsumers || threeConsumers.branches.length === 0)
    return "The configs that fit: with long heads, three consumers have too few registers.";
  const reason =
    threeConsumers.heads.length > 0 ? "short heads, and the same loops for all rows" : "the same loops for all rows";
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
  const { configs, threeConsumers, longHeads } = kernel;
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
  // The best config depends on the heads even if the author's key lacks them.
  const keyNames = new Set([...(ir.tuning.key ?? []), ...(threeConsumers?.heads ?? []), ...(longHeads?.heads ?? [])]);
  const key = [...keyNames].map((name) => py.string(parameterName(ir, names, name)));
  const isPruned = threeConsumers !== undefined || longHeads !== undefined;
  return py.call(
    "triton.autotune",
    ...py.keywords({
      configs: py.list(...configCalls),
      key: py.list(...key),
      prune_configs_by: isPruned
        ? py.dict({ key: py.string("early_config_prune"), value: py.name(pruner) })
        : undefined,
    }),
  );
}
