/**
 * The `early_config_prune` function: it selects the configs for the current GPU that satisfy the kernel's requirements.
 */
import { isPerGpu } from "../../compiled/configs-by-gpu.js";
import type { KernelIR, Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import type { KernelNames } from "../names/kernel-names.js";
import { flatText } from "../syntax/layout-expression.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";
import { isPruned, prunedRequirements } from "../wrapper/requirements.js";

/**
 * Drops the configs of other GPUs and those that violate a requirement. Tuning could otherwise choose a config that
 * gives incorrect results.
 */
export function pruner(ir: KernelIR, names: KernelNames): Block {
  if (!isPruned(ir)) return [];
  const hasRequirements = prunedRequirements(ir).includes(true);
  const docstring = !isPerGpu(ir.tuning.configs)
    ? "The configs that meet the kernel's requirements."
    : `The configs for the GPU that runs the kernel${hasRequirements ? ", without those that do not meet its requirements" : ""}.`;
  return [
    {
      kind: "function",
      name: names.pruner,
      decorators: [],
      params: [{ name: "configs" }, { name: "named_args" }, { name: "**kwargs" }],
      docstring,
      body: hasRequirements
        ? [...selectGpuConfigs(ir, names), ...filterByRequirements(ir, names)]
        : selectGpuConfigs(ir, names),
    },
  ];
}

/** Selects the configs of the GPU's list, and returns them if the kernel has no requirements. */
function selectGpuConfigs(ir: KernelIR, names: KernelNames): Block {
  if (!isPerGpu(ir.tuning.configs)) return [];
  const gpuConfigs = py.call(CONFIGS_FOR_GPU, py.name(names.configs), py.name("configs"));
  return prunedRequirements(ir).includes(true) ? [py.assign(py.name("configs"), gpuConfigs)] : [py.returns(gpuConfigs)];
}

function filterByRequirements(ir: KernelIR, names: KernelNames): Block {
  const isPruning = prunedRequirements(ir);
  const isConfig = (value: Value) =>
    ir.params.some((p) => p.kind === "constexpr" && p.from === "config" && p.value === value);
  const local = (value: Value): Expression => py.name(names.parameters.get(value)!);
  const inConfig = (value: Value): Expression =>
    isConfig(value) ? py.subscript(py.dotted("config.kwargs"), py.string(names.parameters.get(value)!)) : local(value);
  const selectPruning = (expressions: readonly Expression[]) => expressions.filter((_, i) => isPruning[i]);
  const tests = selectPruning(hostExpressions(ir.requires, inConfig));
  const texts = selectPruning(hostExpressions(ir.requires, local));
  const { block, at } = ir.requires;
  const inputs = [
    ...hostInputs({ block: { statements: block.statements, yields: block.yields.filter((_, i) => isPruning[i]) }, at }),
  ];
  const fixed = inputs.filter((value) => !isConfig(value));
  const result = py.name("kept");
  const values = fixed.flatMap((value, i) => [
    `${i === 0 ? " with " : ", "}${names.parameters.get(value)}=`,
    { value: local(value) },
  ]);
  const message = py.fString(
    `${names.wrapper}: no config has ${texts.map(flatText).join(" and ")}`,
    ...values,
    "; add one that does",
  );
  return [
    py.assign(py.name("args"), py.dict({ value: py.name("named_args") }, { value: py.name("kwargs") })),
    ...fixed.map((value) =>
      py.assign(local(value), py.subscript(py.name("args"), py.string(names.parameters.get(value)!))),
    ),
    py.assign(result, py.list()),
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
    { kind: "if", branches: [{ test: py.unary("not", result), body: [py.raise(py.call("ValueError", message))] }] },
    py.returns(result),
  ];
}

/** The library's counterpart of `selectConfigs`. Triton reports its target GPU as 90 for sm_90, or as "gfx942". */
const CONFIGS_FOR_GPU = "_configs_for_gpu";
