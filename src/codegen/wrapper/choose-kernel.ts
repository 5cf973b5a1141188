/** The choice between the plain and the warp-specialized kernel, by timing both at run time. */
import { helperFunction } from "../syntax/py-build.js";
import type { FunctionDef } from "../syntax/py.js";
import { RECORDED_LAUNCHES } from "./launch-cache-helpers.js";

/** The helper that chooses the faster kernel, and the table of its results. */
export const IS_FASTER = "_is_faster";
export const FASTER_TABLE = "_FASTER";
/** The lock for timing and launching. Triton's autotuner stores the arguments of all threads in one attribute. */
export const TUNING_LOCK = "_ALONE";
/** Standard library modules that these helpers import. */
export const SPECIALIZED_IMPORTS: readonly string[] = ["threading"];
export const FASTER_IMPORTS: readonly string[] = ["functools"];

/**
 * The helper that a wrapper calls to choose a kernel. Timings alternate between both kernels, because the GPU clock
 * changes over time. During CUDA graph capture synchronization is not allowed, so the helper returns False. That call
 * must not be cached, because a later call can still measure.
 */
export const fasterHelper = (isCached: boolean): FunctionDef =>
  helperFunction(
    IS_FASTER,
    "label key specialized plain",
    `Whether the warp-specialized kernel is the faster one for a key, which is found out once.

It is not if it fails: a warning says so.`,
    `if key in ${FASTER_TABLE}:
    return ${FASTER_TABLE}[key]
if torch.cuda.is_current_stream_capturing():${isCached ? `\n    ${RECORDED_LAUNCHES}.launches = None` : ""}
    return False
with ${TUNING_LOCK}:
    if key not in ${FASTER_TABLE}:
        bench = functools.partial(
            triton.testing.do_bench, warmup=10, rep=30, return_mode="median"
        )
        try:
            rounds = [(bench(specialized), bench(plain)) for _ in range(3)]
            ours, theirs = (sorted(times)[1] for times in zip(*rounds))
        except Exception as error:  # noqa: BLE001
            import warnings

            told = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"{label}: the plain kernel is launched, as timing it beside the "
                f"warp-specialized one failed with {told}",
                RuntimeWarning,
                stacklevel=3,
            )
            ours, theirs = 1.0, 0.0
        ${FASTER_TABLE}[key] = ours <= theirs
return ${FASTER_TABLE}[key]`,
  );
