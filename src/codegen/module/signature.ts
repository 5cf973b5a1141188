/** What the runtime must know of a lowered kernel to make inputs, call it and judge it; plain data. */
import type {
  ConstexprSignature,
  ScalarSignature,
  Signature,
  SignatureDType,
  TensorSignature,
} from "../../contract/compiled.js";
import type { Elem } from "../../types/dtype.js";
import { describedTensors, sizeMultiples } from "../../analysis/described.js";
import type { ConstexprParam, KernelIR, ScalarParam, SizeParam, TensorParam } from "../../ir/nodes.js";
import type { OperatorIR } from "../../ir/operator-ir.js";
import { tileSizes } from "../../analysis/tile-sizes.js";
import { walkAll } from "../../ir/walk.js";
import { givenSizes, numberParams } from "../names/call-order.js";
import { drawArguments, drawnTensors } from "../torch/drawn-inputs.js";
import { kernelNames, moduleNames } from "../names/kernel-names.js";

export function signatureOf(ir: KernelIR): Signature {
  const names = kernelNames(ir);
  const tensors = ir.params.filter((param): param is TensorParam => param.kind === "tensor");
  const described = new Set(describedTensors(ir).map(({ param }) => param));
  const multiples = sizeMultiples(ir);
  const tiles = tileSizes(ir).filter(({ param }) => param.from === "dim");
  const drawn = drawnTensors(ir);
  const python = (param: ScalarParam | ConstexprParam) => names.parameters.get(param.value)!;
  return {
    name: names.wrapper,
    jit: names.jit,
    tensors: tensors.map((param): TensorSignature => ({
      name: param.name,
      python: names.tensors.get(param.name)!,
      role: param.role,
      dtype: dtypeOf(param.dtype),
      dims: param.dimNames,
      optional: param.optional,
      contiguous: param.contiguous,
      ...(described.has(param) && { described: true }),
      ...(param.range && { range: param.range }),
    })),
    pointers: ir.params.flatMap((param) =>
      param.kind === "pointer"
        ? [
            {
              name: param.name,
              python: names.tensors.get(param.name)!,
              dtype: dtypeOf(param.dtype),
              optional: param.given !== undefined,
            },
          ]
        : [],
    ),
    scalars: ir.params
      .filter((param): param is ScalarParam => param.kind === "scalar")
      .map((param): ScalarSignature => ({
        name: param.name,
        python: python(param),
        dtype: param.dtype as string,
        ...(param.default !== undefined && { default: param.default }),
      })),
    constexprs: ir.params
      .filter((param): param is ConstexprParam => param.kind === "constexpr")
      .map((param): ConstexprSignature => ({
        name: param.name,
        python: python(param),
        kind: param.of,
        from: param.from,
        ...(param.choices && { choices: param.choices }),
        ...(param.variable && { variable: param.variable.name }),
        ...(param.default !== undefined && { default: param.default }),
      })),
    sizes: freeSizes(ir),
    ...(Object.keys(multiples).length > 0 && { multiples }),
    ...(tiles.length > 0 && {
      tileSizes: Object.fromEntries(tiles.map(({ param, least }) => [param.name, least])),
    }),
    givenSizes: givenSizes(ir).map((param) => ({ name: param.name, python: names.parameters.get(param.value)! })),
    ...(drawn.length > 0 && {
      drawn: {
        arguments: drawArguments(ir).map(({ name, value }) => ({ name, python: names.parameters.get(value)! })),
        tensors: drawn.map(({ name }) => name),
      },
    }),
    dtypes: dtypeVariables(ir),
    contracted: contracted(tensors),
    dot: usesDot(ir),
    ...atomicsOf(ir),
  };
}

/** Of an operator: its face's, with the kernels' functions. */
export function operatorSignature({ face, kernels, backward }: OperatorIR): Signature {
  // In the order in which the module has them.
  const module = moduleNames();
  kernelNames(face, undefined, module);
  const jits = kernels.map((ir) => kernelNames(ir, undefined, module).jit);
  return {
    ...signatureOf(face),
    jit: jits[0]!,
    kernels: jits,
    ...(backward && { gradients: Object.keys(backward.results) }),
    dot: kernels.some(usesDot),
  };
}

type Given = Readonly<Record<string, number | boolean | string>>;

/** The author's shapes: their sizes, and what else they give. */
export function shapesOf(ir: KernelIR): {
  readonly shapes: readonly Readonly<Record<string, number>>[];
  readonly arguments: readonly Given[];
} {
  const isArgument = (name: string) => numberParams(ir).some((param) => param.kind !== "size" && param.name === name);
  const part = (shape: Given, wanted: boolean) =>
    Object.fromEntries(Object.entries(shape).filter(([name]) => isArgument(name) === wanted));
  return {
    shapes: ir.shapes.map((shape) => part(shape, false) as Record<string, number>),
    arguments: ir.shapes.map((shape) => part(shape, true)),
  };
}

function dtypeOf(elem: Elem): SignatureDType {
  return typeof elem === "string" ? elem : { variable: elem.name };
}

/** Sizes and constexprs that the shapes of the inputs bind. */
function freeSizes(ir: KernelIR): readonly string[] {
  return ir.params
    .filter((param): param is SizeParam | ConstexprParam =>
      param.kind === "size" ? param.derived === undefined : param.kind === "constexpr" && param.from === "dim",
    )
    .map((param) => param.name);
}

function dtypeVariables(ir: KernelIR): Readonly<Record<string, readonly string[]>> {
  const elems = ir.params.map((param) =>
    param.kind === "tensor" || param.kind === "pointer"
      ? param.dtype
      : param.kind === "constexpr"
        ? param.variable
        : undefined,
  );
  return Object.fromEntries(
    elems.flatMap((elem) =>
      elem === undefined || typeof elem === "string" ? [] : [[elem.name, elem.members] as const],
    ),
  );
}

function contracted(tensors: readonly TensorParam[]): readonly string[] {
  const dims = (roles: readonly string[]) =>
    new Set(tensors.filter((param) => roles.includes(param.role)).flatMap((param) => param.dimNames));
  const outputs = dims(["out", "inout"]);
  // A size that an index is below is picked from, not summed over.
  const picked = new Set(tensors.flatMap(({ range }) => range?.[1] ?? []));
  return [...dims(["in"])].filter(
    (dim): dim is string => typeof dim === "string" && !outputs.has(dim) && !picked.has(dim),
  );
}

/** What atomics mean for the order in which programs run. */
function atomicsOf(ir: KernelIR): Pick<Signature, "unordered" | "waits"> {
  let [unordered, atomic, loops] = [false, false, false];
  walkAll(ir, (statement) => {
    if (statement.kind === "while") loops = true;
    if (statement.kind !== "op" || statement.op.effect !== "atomic") return;
    atomic = true;
    if (statement.results.some(({ type }) => type.kind === "tile" && isFloatElem(type.dtype))) unordered = true;
  });
  return { ...(unordered && { unordered }), ...(atomic && loops && { waits: true }) };
}

const isFloatElem = (elem: Elem): boolean =>
  (typeof elem === "string" ? [elem] : elem.members).some((name) => /^b?float/.test(name));

function usesDot(ir: KernelIR): boolean {
  let found = false;
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.op.contracts) found = true;
  });
  return found;
}
