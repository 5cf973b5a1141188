/** The state while the checks of a call are written: names, and the sizes that have a value. */
import type { KernelIR, PointerParam, SizeParam, TensorParam, Value } from "../../ir/nodes.js";
import { hostExpressions } from "../body/host-expressions.js";
import { type KernelNames, literalNumber } from "../names/kernel-names.js";
import * as py from "../syntax/py-build.js";
import type { Block, Expression } from "../syntax/py.js";

/** The context of a part of the wrapper. */
export interface WrapperContext {
  readonly ir: KernelIR;
  readonly names: KernelNames;
  readonly tensors: readonly TensorParam[];
  /** Sizes that an earlier statement has bound to a local. */
  readonly bound: Set<string>;
  /** Sizes that are computed from others: shapes are compared with them. */
  readonly derived: ReadonlySet<string>;
  /** Whether PyTorch should see the kernel in its graphs (`torch.library.wrap_triton`). */
  readonly traceable: boolean;
  /** A tensor's name in the wrapper. */
  tensor(param: TensorParam | PointerParam): Expression;
  /** A parameter of the launch as an expression: its name, or the number that the only config gives it. */
  local(value: Value): Expression;
  /** The name of a parameter of the launch. */
  localText(value: Value): string;
  /** A dimension as an expression, once it is bound. */
  dim(param: TensorParam, axis: number): Expression;
}

export class WrapperScope implements WrapperContext {
  readonly tensors: readonly TensorParam[];
  readonly bound = new Set<string>();
  readonly derived: ReadonlySet<string>;

  constructor(
    readonly ir: KernelIR,
    readonly names: KernelNames,
    readonly traceable: boolean,
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

  /** Sizes that follow from those that are bound. */
  derivedSizes(): Block {
    const derived = this.ir.params.filter(
      (param): param is SizeParam => param.kind === "size" && param.derived !== undefined,
    );
    return derived.flatMap((param) => {
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
