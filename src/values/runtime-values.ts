/** Run-time values of the evaluator, and the context that it gives to ops. */
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { TileArray } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
import type { TensorAxis } from "./axis-lanes.js";

/** A tensor's memory. Addresses count elements from its first. */
export interface Allocation {
  /** The author's name of the tensor. */
  readonly name: string;
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  /** In elements, one per axis. */
  readonly strides: readonly number[];
  readonly role: "in" | "out" | "inout";
  /** Address of its first element, in bytes. Allocations lie far apart. */
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
  /** For a view, the lanes in the tensor; undefined for raw pointers, which need explicit masks. */
  readonly inside?: Uint8Array;
  /** Lanes where an index given to `tl.inBounds` is out of bounds. */
  readonly broken?: Uint8Array;
  /** For each broken lane, the axis whose index is out of bounds, and that index. */
  readonly claims?: { readonly axis: Uint8Array; readonly index: Float64Array };
  /** Lanes whose address was computed from a poisoned value. */
  readonly poison?: Uint8Array;
  /** The indices that the addresses were computed from; undefined for raw pointers. */
  readonly indexed?: Indexed;
}

/** Indices of lanes on the axes of an allocation. */
export interface Indexed {
  readonly axes: readonly TensorAxis[];
  /** The shape of the lanes, before `order` permutes its axes. */
  readonly shape: readonly number[];
  readonly order?: readonly number[];
}

/** A tensor parameter. Views of it are masked to its allocation's shape. */
export interface TensorRuntime {
  readonly kind: "tensor";
  readonly allocation: Allocation;
  /** For each axis, the axis of the allocation; undefined if they are in order. */
  readonly order?: readonly number[];
}

/** A tensor descriptor: a tensor's place in an allocation, and the block that an access moves. */
export interface DescriptorRuntime {
  readonly kind: "descriptor";
  readonly allocation: Allocation;
  /** The offset of its first element in the allocation. */
  readonly start: number;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly block: readonly number[];
  /** For each axis, that of the allocation; undefined for a descriptor of a raw pointer. */
  readonly axes?: readonly number[] | undefined;
  /** The value that loads give outside `shape`. */
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
/** What a value of the program is: the other forms stand at operands that ask for them. */
export type ValueRuntime = TileArray | Addresses | Constant;
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

/** The type of a result with dtype variables and dimensions bound. */
export interface ResultType {
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
}

/** An atomic for the evaluator to perform. */
export interface AtomicAccess {
  /** The evaluator broadcasts them to the address's shape and casts them to the tensor's dtype. */
  readonly operands: readonly (TileArray | Constant)[];
  /**
   * Gives the new element, from the old one and the lane's operands, two at most; undefined if the atomic only reads.
   */
  readonly change:
    ((old: number | bigint, first: number | bigint, second: number | bigint) => number | bigint) | undefined;
  /** Whether the result depends on the old element. */
  readonly reads: boolean;
  /** Triton's `sem`. */
  readonly order: string;
}

/** What the evaluator offers to an op. */
export interface Context {
  readonly results: readonly ResultType[];
  /** The first of them, which is the only one of most ops. */
  readonly result: ResultType;
  /** The running program's id on each axis of the grid. */
  readonly program: readonly [number, number, number];
  readonly grid: readonly [number, number, number];
  load(address: Addresses, mask: TileArray | boolean | undefined, other: TileArray | Constant | undefined): TileArray;
  store(address: Addresses, value: TileArray | Constant, mask: TileArray | boolean | undefined): void;
  /** Performs an atomic lane by lane and returns the old elements. */
  atomic(address: Addresses, mask: TileArray | boolean | undefined, atomic: AtomicAccess): TileArray;
  /** Whether memory holds the expected value, lane by lane. Programs run one at a time, so waiting changes nothing. */
  poll(
    address: Addresses,
    expected: TileArray | Constant,
    how: { readonly order: string; readonly forever: boolean },
  ): TileArray;
  /**
   * The tensor that contains an address.
   *
   * @throws UnknownAddress if no tensor of this dtype does.
   */
  allocationAt(address: bigint, dtype: DTypeName): Allocation;
  /** Lets all lanes of the program wait for each other. */
  barrier(): void;
  /** Prints each element of each value, with its program and lane. */
  print(prefix: string, values: readonly ValueRuntime[], hex: boolean): void;
  /** Reports a mistake in the lanes that `lanes` marks, in row-major order of `shape`. */
  report(said: Message<FindingCode>, shape: readonly number[], lanes: Uint8Array): void;
  /** Notes why lanes of the running op have no defined value. It is reported where one of them is stored or used. */
  undefine(said: Message<FindingCode>): void;
}
