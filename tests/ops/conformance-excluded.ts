/** Public names of triton.language that have no op of their own, and why. */

/** Names that TileScript does without, and why. */
export const excluded: Readonly<Record<string, string>> = {
  aggregate_replace: "aggregates are objects of TypeScript, which spread does this to",
  make_block_ptr: "removed from Triton 3.9, where it raises",
  philox_impl: "the rounds inside philox, which takes the same counters",
  pi32_t: "a type object inside Triton's compiler",
  str_to_ty: "parses launch signatures inside Triton",
  void: "the type of no value",
};

/** What stands for a name in TileScript, where it is not an op of that name. */
export const elsewhere: Readonly<Record<string, string>> = {
  PropagateNan: "option propagateNan",
  TRITON_MAX_TENSOR_NUMEL: "the checks refuse larger tiles",
  block_type: "Tile<E, S>",
  const: "tensor(…), which is only read",
  constexpr: "constexpr()",
  constexpr_type: "Constexpr",
  dtype: "tl.dtype and the dtypes",
  pointer_type: "Pointer",
  range: "tl.range",
  slice: "expandDims, col and row, as in x[:, None]",
  static_range: "tl.staticRange",
  tensor: "Tile",
  to_tensor: "tl.full([], x, dtype)",
  tuple: "arrays of JavaScript",
  tuple_type: "types of arrays",
  // Modules, whose names are in `tl` itself.
  core: "tl",
  extra: "libdevice",
  math: "tl",
  random: "tl",
  standard: "tl",
  target_info: "tl.targetInfo",
};

/** Names whose ops are made in other pieces of work; empty once these are in. */
export const pending: readonly string[] = [
  "associative_scan",
  "atomic_add",
  "atomic_and",
  "atomic_cas",
  "atomic_load",
  "atomic_max",
  "atomic_min",
  "atomic_or",
  "atomic_poll",
  "atomic_store",
  "atomic_xchg",
  "atomic_xor",
  "condition",
  "inline_asm_elementwise",
  "load_tensor_descriptor",
  "make_tensor_descriptor",
  "map_elementwise",
  "reduce",
  "store_tensor_descriptor",
  "tensor_descriptor",
  "tensor_descriptor_type",
];
