/** The state of wrapper emission: names, and the sizes that are already bound. */
import type { KernelIR, PointerParam, SizeParam, TensorParam, Value } from "../../ir/nodes.js";
import { hostExpressions } from "../body/host-expressions.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";

/** The names and bound sizes that emitters of wrapper statements share. */
export interface WrapperContext {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly tensors: readonly TensorParam[];
  /** Sizes that an earlier statement binds to a local. */
  readonly bound: Set<string>;
  /** Sizes that are computed from other sizes. Shapes are compared with them. */
  readonly derived: ReadonlySet<string>;
  /** True if PyTorch traces the kernel into its graphs (`torch.library.wrap_triton`). */
  readonly isTraceable: boolean;
  /** True after the statement with a table of all tensors, by the caller's names. */
  readonly hasTensorTable: boolean;
  /** The name of a tensor in the wrapper. */
  tensor(param: TensorParam | PointerParam): Expression;
  /** A parameter of the launch as an expression: its name, or its value in the only config. */
  local(value: Value): Expression;
  /** The name of a parameter of the launch. */
  localText(value: Value): string;
  /** The expression of a bound dimension. */
  dim(param: TensorParam, axis: number): Expression;
}

export class WrapperScope implements WrapperContext {
  readonly tensors: readonly TensorParam[];
  readonly bound = new Set<string>();
  readonly derived: ReadonlySet<string>;
  hasTensorTable = false;

  constructor(
    readonly ir: KernelIR,
    readonly names: KernelNames,
    readonly isTraceable: boolean,
  ) {
    this.tensors = ir.params.filter((param) => param.kind === "tensor");
    this.derived = new Set(
      ir.params.flatMap((param) => (param.kind === "size" && param.derived !== undefined ? [param.name] : [])),
    );
  }

  tensor(param: TensorParam | PointerParam): Expression {
    return py.name(this.names.tensors.get(param.name)!);
  }

  dim(param: TensorParam, axis: number): Expression {
    const dim = param.dims[axis]!;
    const number = literalNumber(dim);
    return number === undefined ? this.local(dim as Value) : py.numberLiteral(number, "int");
  }

  /** Assignments of the derived sizes that are not bound yet. */
  derivedSizes(): Block {
    const derivedParams = this.ir.params.filter(
      (param): param is SizeParam => param.kind === "size" && param.derived !== undefined,
    );
    return derivedParams.flatMap((param) => {
      if (this.bound.has(param.name)) return [];
      this.bound.add(param.name);
      const [value] = hostExpressions(param.derived!, (v) => this.local(v));
      return [py.assign(this.local(param.value), value!)];
    });
  }

  local(value: Value): Expression {
    return py.name(this.localText(value));
  }

  localText(value: Value): string {
    return this.names.parameters.get(value)!;
  }
}
