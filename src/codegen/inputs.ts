/** `get_inputs`: fresh arguments of a typical size for the wrapper. */
import { isInt } from "../ir/dtype.js";
import type { KernelIR, ScalarParam, TensorParam } from "../ir/nodes.js";
import { constantExpression } from "./autotune.js";
import { literalNumber, type KernelNames } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Expression, FunctionDef, Statement } from "./py.js";
import { INTERPRETED, torchDType } from "./wrapper-checks.js";

export function inputsFunction(ir: KernelIR, names: KernelNames): FunctionDef {
  const [shape = {}] = ir.shapes;
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor" && param.role !== "out");
  const scalars = ir.params.filter((param): param is ScalarParam => param.kind === "scalar");
  const used = new Set(tensors.flatMap((param) => param.dimNames.filter((dim) => typeof dim === "string")));
  const sizes = [...used].map((name): Statement => py.assign(py.name(name), py.numberLiteral(shape[name] ?? 256, "int")));
  const device = py.assign(
    py.name("device"),
    py.conditional(py.string("cpu"), py.name(INTERPRETED), py.string("cuda")),
  );
  const values = [
    ...tensors.map((param) => tensorExpression(param)),
    ...scalars.map((param) => constantExpression(param.default ?? shape[param.name] ?? 1)),
  ];
  return {
    kind: "function",
    name: "get_inputs",
    decorators: [],
    params: [],
    docstring: `Fresh arguments for ${names.wrapper}, of a typical size.`,
    body: [device, ...sizes, py.returns(py.list(...values))],
  };
}

function tensorExpression(param: TensorParam): Expression {
  const shape = py.tuple(
    ...param.dims.map((dim, axis) => {
      const number = literalNumber(dim);
      return number === undefined ? py.name(String(param.dimNames[axis])) : py.numberLiteral(number, "int");
    }),
  );
  const name = typeof param.dtype === "string" ? param.dtype : param.dtype.members[0]!;
  const placement = py.keywords({ device: py.name("device"), dtype: torchDType(name) });
  if (!isInt(name)) {
    // torch draws normal numbers for the wider floats only.
    if (!name.startsWith("float8")) return py.call("torch.randn", shape, ...placement);
    const drawn = py.call("torch.randn", shape, ...py.keywords({ device: py.name("device") }));
    return py.call(py.attribute(drawn, "to"), torchDType(name));
  }
  const [low, high] = param.range ?? (name === "int1" ? [0, 2] : [0, 100]);
  const bound = (value: number | string) => (typeof value === "number" ? py.numberLiteral(value, "int") : py.name(value));
  return py.call("torch.randint", bound(low), bound(high), shape, ...placement);
}
