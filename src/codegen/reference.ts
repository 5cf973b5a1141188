/** `reference_fn`: the same result in plain PyTorch. */
import type { KernelIR } from "../ir/nodes.js";
import { isTorchNode, type TorchArgument, type TorchNode } from "../ir/reference.js";
import { type KernelNames, parameterName } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Expression, FunctionDef, Parameter } from "./py.js";
import { defaultDevice, DEVICE_PARAMETER, torchDType } from "./wrapper-checks.js";

/** A size, and the expression that reads it off the inputs. */
export interface Binding {
  readonly name: string;
  readonly value: Expression;
}

/** `params` are the wrapper's, outputs left out. Undefined without a reference. */
export function referenceFunction(
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  sizes: readonly Binding[],
  hasInputs = true,
): FunctionDef | undefined {
  const { reference } = ir;
  if (!reference) return undefined;
  const head = {
    kind: "function",
    name: "reference_fn",
    decorators: [],
    params: hasInputs ? params : [...params, { name: "*" }, DEVICE_PARAMETER],
    docstring: `What ${names.wrapper} computes, in PyTorch.`,
  } as const;
  if (reference.kind === "python") return { ...head, body: [{ kind: "verbatim", text: reference.source }] };
  const inputs = new Set<string>();
  const results = reference.outputs.map((node) => torchExpression(node, ir, names, inputs));
  const outputs = hasInputs ? results : results.map((result) => py.call(py.attribute(result, "to"), py.name("device")));
  const bindings = sizes
    .filter(({ name }) => inputs.has(name))
    .map(({ name, value }) => py.assign(py.name(name), value));
  const device = hasInputs ? [] : defaultDevice([]);
  return {
    ...head,
    body: [...device, ...bindings, py.returns(outputs.length === 1 ? outputs[0] : py.tuple(...outputs))],
  };
}

function torchExpression(node: TorchNode, ir: KernelIR, names: KernelNames, inputs: Set<string>): Expression {
  const say = (argument: TorchArgument): Expression => {
    if (isTorchNode(argument)) return torchExpression(argument, ir, names, inputs);
    if (argument === null) return py.none;
    if (typeof argument === "boolean") return py.boolean(argument);
    if (typeof argument === "string") return py.string(argument);
    if (typeof argument === "number") return py.numberLiteral(argument, Number.isInteger(argument) ? "int" : "float");
    return py.list(...argument.map(say));
  };
  if (node.kind === "input") {
    const name = names.tensors.get(node.name) ?? parameterName(ir, names, node.name);
    inputs.add(name);
    return py.name(name);
  }
  if (node.kind === "dtype") return torchDType(node.name);
  if (node.kind === "attribute") return py.attribute(say(node.of), node.name);
  if (node.kind === "item") return py.subscript(say(node.of), py.numberLiteral(node.index, "int"));
  const keywords = Object.entries(node.keywords).map(([key, value]) => py.keyword(key, say(value)));
  if (node.kind === "call") return py.call(`torch.${node.name}`, ...node.args.map(say), ...keywords);
  const [receiver, ...args] = node.args.map(say);
  return py.call(py.attribute(receiver!, node.name), ...args, ...keywords);
}
