/** A memory access of a Python kernel, with its decomposed address and mask. */
import type { Call, Expression } from "../tree.js";

/** The binding of a name at a program point: its version, its definition, and the environment of the definition. */
export interface Binding {
  readonly version: number;
  readonly value?: Expression;
  readonly env?: Env;
  /** True for an induction variable. Its value is its closed form. */
  readonly isInductionVariable?: boolean;
}
export type Env = ReadonlyMap<string, Binding>;

/** The parameters of the kernel, classified by the arguments of its calls. */
export interface ParamKinds {
  readonly pointers: ReadonlySet<string>;
  /** Parameters that are None in every call. */
  readonly omitted: ReadonlySet<string>;
  /** Scalars of type int32, which may be sizes or strides. */
  readonly int32Scalars: ReadonlySet<string>;
  /** Constants that are 1 in every call. Triton specializes strides of 1 to constants. */
  readonly unitConstants: ReadonlySet<string>;
  /** Constants that are positive integers in every call. */
  readonly positiveConstants: ReadonlySet<string>;
  /** Constants that may be strides, according to their uses. */
  readonly strideConstants: ReadonlySet<string>;
}

/** A conjunct of a mask. `index` and `size` are set for `index < size`, and only `index` for `index >= 0`. */
export interface MaskCondition {
  readonly node: Expression;
  readonly env: Env;
  readonly index?: Expression;
  readonly size?: string;
}

/** An index times a stride: the product of these parameters. */
export interface Term {
  readonly index: Expression;
  readonly env: Env;
  readonly strides: readonly string[];
}

export interface Access {
  readonly call: Call;
  /** The address. */
  readonly pointer: Expression;
  readonly env: Env;
  readonly isStore: boolean;
  /** The pointer parameter. Undefined if the address has none or several. */
  readonly base: string | undefined;
  /** The name of a pointer without a unique parameter, and the reason. */
  readonly unresolved?: { readonly name: string; readonly reason: string };
  readonly terms: readonly Term[];
  readonly conditions: readonly MaskCondition[];
  /** Bounds of indices that are known without a mask. */
  readonly knownBounds: readonly MaskCondition[];
}
