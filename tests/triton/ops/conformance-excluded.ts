/** Public names of triton.language that have no op of their own, and why. */

/** Names that TileScript does without, and why. */
export const excluded: Readonly<Record<string, string>> = {
  aggregate_replace: "TypeScript objects replace aggregates; write `{ ...object, field: value }`",
  make_block_ptr: "Triton 3.9 removed it",
  philox_impl: "a part of tl.philox, which has the same counters",
  pi32_t: "a type object inside Triton's compiler",
  str_to_ty: "a parser of launch signatures inside Triton",
  void: "the type of a missing value",
};

/** What stands for a name in TileScript, where it is not an op of that name. */
export const elsewhere: Readonly<Record<string, string>> = {
  PropagateNan: "option propagateNan",
  TRITON_MAX_TENSOR_NUMEL: "a limit that the build checks",
  block_type: "Tile<E, S>",
  condition: "tl.whileLoop, with the option disableLicm",
  const: "tensor(…), which a kernel only reads",
  constexpr: "constexpr()",
  constexpr_type: "Constexpr",
  dtype: "tl.dtype and the dtypes",
  pointer_type: "Pointer",
  range: "tl.range",
  slice: "tl.expandDims, x.col and x.row, for x[:, None]",
  static_range: "tl.staticRange",
  tensor: "Tile",
  to_tensor: "tl.full([], x, dtype)",
  tensor_descriptor: "Descriptor",
  tensor_descriptor_type: "Descriptor<E, B, A>",
  tuple: "JavaScript arrays",
  tuple_type: "array types",
  // Modules, whose names are in `tl` itself.
  core: "tl",
  extra: "libdevice, and functions such as tl.globaltimer",
  math: "tl",
  random: "tl",
  standard: "tl",
  target_info: "tl.targetInfo",
};

/** Names of `triton.language.extra.cuda` and `.hip` that have no op of their own, and why. */
export const extraExcluded: Readonly<Record<string, string>> = {
  libdevice: "a module: libdevice",
  convert_custom_float8_sm70: "what a cast to or from float8e4b15 becomes: x.to(tl.float8e4b15)",
  convert_custom_float8_sm80: "what a cast to or from float8e4b15 becomes: x.to(tl.float8e4b15)",
};
