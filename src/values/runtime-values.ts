/** What values are while a kernel is evaluated in-process, and what an op may ask of the evaluator. */
import type { Message } from "../diagnostics/catalogue/define-code.js";
import type { FindingCode } from "../diagnostics/catalogue/index.js";
import type { TileArray } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";

/** A tensor's memory. Addresses are elements of it, counted from its first. */
export interface Allocation {
  /** The author's name of the tensor. */
  readonly name: string;
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  /** In elements, one an axis. */
  readonly strides: readonly number[];
  readonly role: "in" | "out" | "inout";
  /** Address of its first element, in bytes; allocations lie far apart. */
  readonly base?: bigint;
}

/** A tile of addresses in one allocation. */
export interface Addresses {
  readonly kind: "addresses";
  readonly allocation: Allocation;
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  /** Element offsets from the allocation's first element; exact up to 2^53. */
  readonly offsets: Float64Array;
  /** Lanes that lie in the tensor, for a view; absent for raw pointers, which are masked by hand. */
  readonly inside?: Uint8Array;
  /** Lanes where an index that the author calls in bounds is not. */
  readonly broken?: Uint8Array;
  /** Of each broken lane, the axis whose index is out of bounds, and that index. */
  readonly claims?: { readonly axis: Uint8Array; readonly index: Float64Array };
  /** Lanes whose address was computed from a value that was never given. */
  readonly poison?: Uint8Array;
}

/** A tensor parameter: the allocation and the sizes that its view is cut off at. */
export interface TensorRuntime {
  readonly kind: "tensor";
  readonly allocation: Allocation;
  /** Which axis of the allocation each of its axes is, where they were permuted. */
  readonly order?: readonly number[];
}

/** A tensor descriptor: where a tensor lies, and the block of it that an access moves. */
export interface DescriptorRuntime {
  readonly kind: "descriptor";
  readonly allocation: Allocation;
  /** The element of the allocation that it begins at. */
  readonly start: number;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly block: readonly number[];
  /** What elements outside `shape` read as. */
  readonly padding: "zero" | "nan";
}

export type Runtime =
  | TileArray
  | Addresses
  | TensorRuntime
  | DescriptorRuntime
  | Constant
  | DTypeRuntime
  | FunctionRuntime
  | readonly Runtime[];
export type Constant = number | bigint | boolean | string;
export interface DTypeRuntime {
  readonly kind: "dtype";
  readonly dtype: DTypeName;
}

/** A helper function of the kernel. */
export interface FunctionRuntime {
  readonly kind: "function";
  call(args: readonly Runtime[]): readonly Runtime[];
}

/** The type of a result in this evaluation: dtype variables bound, dimensions known. */
export interface ResultType {
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
}

/** One atomic, as the evaluator performs it. */
export interface AtomicAccess {
  /** Spread to the address's shape, in the tensor's dtype. */
  readonly operands: readonly (TileArray | number)[];
  /** The new element, given the old one and the lane's operands; absent where nothing changes. */
  readonly change: ((old: number | bigint, operands: readonly (number | bigint)[]) => number | bigint) | undefined;
  /** Whether what was there matters. */
  readonly reads: boolean;
  /** Triton's `sem`. */
  readonly order: string;
}

/** What an op may ask of the evaluator. */
export interface Context {
  readonly results: readonly ResultType[];
  /** The running program's id, one an axis, and the grid. */
  readonly program: readonly [number, number, number];
  readonly grid: readonly [number, number, number];
  load(address: Addresses, mask: TileArray | boolean | undefined, other: TileArray | number | undefined): TileArray;
  store(address: Addresses, value: TileArray | number, mask: TileArray | boolean | undefined): void;
  /** Performs an atomic lane by lane and gives what was there before. */
  atomic(address: Addresses, mask: TileArray | boolean | undefined, atomic: AtomicAccess): TileArray;
  /** Whether memory holds what is expected, lane by lane. Nothing changes it while a program waits. */
  poll(
    address: Addresses,
    expected: TileArray | number,
    how: { readonly order: string; readonly forever: boolean },
  ): TileArray;
  /** The tensor that an address lies in, if it holds this dtype. */
  allocationAt(address: bigint, dtype: DTypeName): Allocation;
  /** Tells of lanes where something is wrong. `lanes` marks them in row-major order of `shape`. */
  report(said: Message<FindingCode>, shape: readonly number[], lanes: Uint8Array): void;
}
