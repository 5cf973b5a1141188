/** The function that tells the autotuner which configs meet a kernel's requirements. */
import type { KernelIR, Value } from "../../ir/nodes.js";
import { hostExpressions, hostInputs } from "../body/host-expressions.js";
import type { KernelNames } from "../names/kernel-names.js";
import { flatText } from "../python/layout-expression.js";
import * as py from "../python/py-build.js";
import type { Block, Expression } from "../python/py.js";
import { prunedRequirements } from "../wrapper/wrapper.js";

/** Drops the configs that a requirement excludes; otherwise tuning could choose one that gives wrong results. */
export function pruner(ir: KernelIR, names: KernelNames): Block {
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
      name: names.pruner,
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
