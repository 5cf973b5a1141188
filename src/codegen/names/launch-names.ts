/**
 * Names that `kernel[grid](…)` takes for itself: options of a launch, and locals of the function that Triton generates
 * to bind arguments. A kernel's parameter of such a name would be taken as that option, or would break the function.
 * Those of Triton 3.6 and 3.9, for NVIDIA and AMD; a test derives them from the Tritons that are installed.
 */
export const LAUNCH_NAMES: ReadonlySet<string> = new Set(
  (
    "allow_flush_denorm allowed_dot_input_precisions arch backend backend_name clc config debug " +
    "default_dot_input_precision deprecated_fp8_dot_operand_dtypes device device_type enable_fp_fusion " +
    "enable_reflect_ftz extern_libs fpsan_homomorphic_casts grid instrumentation_mode ir_override kpack kwargs " +
    "launch_cooperative_grid launch_pdl llvm_fn_attrs matrix_instr_nonkdim max_num_imprecise_acc_default maxnreg " +
    "min_shared_mem num_ctas num_stages num_warps options params pre_hook ptx_options ptx_version sanitize_overflow " +
    "sched4reg schedule_hint self specialization specialize_impl stream supported_fp8_dtypes warmup warp_size " +
    "waves_per_eu wgp_cu_mode"
  ).split(" "),
);
