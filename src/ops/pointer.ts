/** Pointer casts. Also evaluates pointer arithmetic. */
import { operandKind, needsAddress } from "../diagnostics/catalog/rule-codes.js";
import { type TileArray, tileArray, cast } from "../numerics/array.js";
import { map2 } from "../numerics/array-map.js";
import { dtypeTable, type DType, type DTypeName, type Dt } from "../types/dtype.js";
import { type Ac, type Access, type AddressLike, type Pl, pointerCast, type Pointer } from "../rules/tensor-types.js";
import { isBig } from "../numerics/numeric-int.js";
import type { Validate } from "../types/rule-error.js";
import type { Addresses, Context, Runtime } from "../values/runtime-values.js";
import { addressKind, whyPointer, type WhyPointer } from "../rules/memory-rules.js";
import type { AsShape } from "../types/shape.js";
import type { Sh, Tile, TileLike } from "../types/tile.js";
import { tileType } from "../types/types.js";
import { defineOp } from "./define.js";
import { isAddresses, tileOf } from "../values/operands.js";

type PointerShape<X> = X extends TileLike ? AsShape<X[Sh]> : X extends AddressLike ? AsShape<X[Pl]> : any;
type AccessOf<X> = X extends AddressLike ? (X[Ac] extends Access ? X[Ac] : never) : "inout";
type PointerTo<D, X> = D extends DType<any> ? Pointer<D[Dt], PointerShape<X>, AccessOf<X>> : never;

declare module "../types/tile.js" {
  interface TileOps {
    /** Converts addresses, such as those of a pointer table, to pointers to elements of a dtype. */
    toPointer<T extends TileLike, D extends DType<any>>(this: Validate<T, WhyPointer<T>>, dtype: D): PointerTo<D, T>;
  }
}

/**
 * Converts addresses to pointers: `x.to(tl.pointer_type(tl.float16))`. `x` is an int64 tile, such as one loaded from a
 * pointer table, or a pointer to elements of another dtype. TileScript does not check the bounds of such pointers,
 * because it does not know their tensors.
 */
export const toPointer = defineOp<
  <X, D extends DType<any>>(x: Validate<X, WhyPointer<X>>, dtype: D) => PointerTo<D, X>
>()({
  name: "toPointer",
  operands: { x: "tileOrPointer", dtype: "dtype" },
  method: true,
  effect: "pure",
  spelling: { form: "pointer" },
  infer: ({ x, dtype }) => {
    if (!dtype.dtype) return operandKind("toPointer: needs the dtype that lies there, such as tl.float16");
    const { type } = x;
    const why = whyPointer(type);
    if (why) return why;
    if (type.kind !== "tile" && type.kind !== "pointer") return addressKind();
    const access = type.kind === "pointer" ? type.access : "inout";
    return { kind: "pointer", to: dtype.dtype, shape: type.shape, access };
  },
  evaluate: ({ x, dtype }, context) => {
    const to = dtype.dtype;
    if (!isAddresses(x)) return toAddresses(x, to, context);
    if (x.dtype !== to) throw new TypeError(`a pointer to ${x.dtype} as one to ${to} cannot be evaluated here`);
    return x;
  },
});

/** Converts pointers to integers: `ptr.to(tl.int64)`. Authors call it as the method `to` of a pointer. */
export const toAddress = defineOp<(pointer: unknown, dtype: DType<"int64">) => Tile<"int64", any>>()({
  name: "to",
  calledAs: ".to",
  operands: { x: "address", dtype: "dtype" },
  effect: "pure",
  spelling: { form: "method", name: "to" },
  infer: ({ x, dtype }) => {
    if (x.type.kind !== "pointer") return needsAddress("to: needs a pointer");
    return dtype.dtype === "int64" ? tileType("int64", x.type.shape) : pointerCast();
  },
  evaluate: ({ x }) => {
    const { allocation, offsets, dtype, shape, poison } = x;
    const [base, width] = [allocation.base ?? 0n, BigInt(bytesOf(dtype))];
    return tileArray(
      "int64",
      shape,
      BigInt64Array.from(offsets, (offset) => base + BigInt(offset) * width),
      poison,
    );
  },
});

const bytesOf = (dtype: DTypeName): number => Math.max(1, dtypeTable[dtype].bits / 8);

/** Converts addresses to pointers into one tensor, which must contain them all. */
function toAddresses({ data, shape, poison }: TileArray, to: DTypeName, context: Context): Addresses {
  const addresses = data as BigInt64Array;
  const allocation = context.allocationAt(addresses[0]!, to);
  const width = bytesOf(to);
  const offsets = Float64Array.from(addresses, (address) => Number(address - allocation.base) / width);
  return { kind: "addresses", allocation, dtype: to, shape, offsets, ...(poison && { poison }) };
}

type Evaluate = (args: Readonly<Record<string, Runtime | undefined>>, context: Context) => Runtime;

/** The evaluation of `+` and `-`: pointer arithmetic if `x` is a pointer, else `fallback`. */
export function offsetPointer(sign: 1 | -1, fallback: Evaluate): Evaluate {
  return (args, context) => {
    const { x, y } = args;
    return isAddresses(x) ? offsetAddresses(x, tileOf(y, "int64"), sign) : fallback(args, context);
  };
}

const addOffset = (offset: number, step: number): number => offset + step;
const subtractOffset = (offset: number, step: number): number => offset - step;

function offsetAddresses(pointer: Addresses, offset: TileArray, sign: 1 | -1): Addresses {
  const { shape, data, poison } = map2(
    tileArray("float64", pointer.shape, pointer.offsets, pointer.poison),
    isBig(offset.dtype) ? cast(offset, "float64") : offset,
    "float64",
    sign === 1 ? addOffset : subtractOffset,
  );
  return { ...pointer, shape, offsets: data as Float64Array, ...(poison && { poison }) };
}
