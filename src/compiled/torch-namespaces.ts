/** Reserved namespaces of `torch.ops`. */

/**
 * The namespaces of PyTorch's operators, other attributes of `torch.ops` (PyTorch 2.11 to 2.15), and `_`, which matches
 * all namespaces.
 */
const RESERVED: ReadonlySet<string> = new Set(
  (
    "_ _c10d_functional _c10d_functional_autograd _dir _dtensor _native _native_aot _quantized _test aten c10d coor cuda " +
    "debug_mode_ops debugprims export flex_gemm fsdp higher_order import_module inductor inductor_prims load_library " +
    "loaded_libraries mkl mkldnn mkldnn_prepacked onednn onnx prim prims profiler quantization quantized rngprims " +
    "sparse static static_runtime symm_mem"
  ).split(" "),
);

/** True if `torch.ops.NAME` belongs to PyTorch or to Python's module attributes, such as `__file__`. */
export const isTorchNamespace = (name: string): boolean => RESERVED.has(name) || /^__.*__$/.test(name);
