/** Namespaces of `torch.ops` that nobody else's operators can have. */

/**
 * Those of PyTorch's own operators, what `torch.ops` has besides namespaces (PyTorch 2.11 to 2.15), and `_`, which stands
 * for all namespaces.
 */
const OWN: ReadonlySet<string> = new Set(
  (
    "_ _c10d_functional _c10d_functional_autograd _dir _dtensor _native _native_aot _quantized _test aten c10d coor cuda " +
    "debug_mode_ops debugprims export flex_gemm fsdp higher_order import_module inductor inductor_prims load_library " +
    "loaded_libraries mkl mkldnn mkldnn_prepacked onednn onnx prim prims profiler quantization quantized rngprims " +
    "sparse static static_runtime symm_mem"
  ).split(" "),
);

/** Whether `torch.ops.NAME` is PyTorch's, or Python's: every module has names such as `__file__`. */
export const isTorchNamespace = (name: string): boolean => OWN.has(name) || /^__.*__$/.test(name);
