/** `reference_fn`: the author's reference in plain PyTorch. */
import type { KernelIR } from "../../ir/nodes.js";
import type { Reference } from "../../torch/node.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { type KernelNames, tensorName } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { FunctionDef, Parameter } from "../syntax/py.js";
import { type Binding, neededBindings } from "../wrapper/number-bindings.js";
import { TorchPython } from "./expressions.js";
import { withoutAnnotations } from "../wrapper/docstring.js";
import { defaultDevice, DEVICE_PARAMETER, deviceHolder } from "../wrapper/checks.js";

/**
 * The function of the reference or of a provider. `params` are the parameters of the wrapper without outputs, `numbers`
 * the bindings of all other numbers.
 */
export function referenceFunction(
  { name, reference }: { readonly name: string; readonly reference: Reference },
  ir: KernelIR,
  names: KernelNames,
  params: readonly Parameter[],
  numbers: readonly Binding[],
  source: SourceIndex | undefined,
): FunctionDef {
  const hasInputs = deviceHolder({ ir }) !== undefined;
  const head = {
    kind: "function",
    name,
    decorators: [],
    params: withoutAnnotations(hasInputs ? params : [...params, { name: "*" }, DEVICE_PARAMETER]),
    origin: reference.at,
  } as const;
  if (reference.kind === "python") return { ...head, body: [{ kind: "verbatim", text: reference.source }] };
  const holder = deviceHolder({ ir });
  const device = holder ? py.attribute(py.name(tensorName(names, holder)), "device") : py.name("device");
  const python = new TorchPython(reference.outputs, {
    ir,
    names,
    source,
    device,
    reservedNames: new Set(["device", ...params.map(({ name }) => name), ...numbers.map(({ name }) => name)]),
  });
  const result = python.results(reference.outputs);
  const usedBindings = neededBindings(numbers, python.usedNames);
  const bindings = usedBindings.map(({ name, value }) => py.assign(py.name(name), value));
  return {
    ...head,
    body: [...(holder ? [] : defaultDevice([])), ...bindings, ...python.statements, py.returns(result)],
  };
}
