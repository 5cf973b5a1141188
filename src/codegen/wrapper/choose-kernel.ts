/** The choice between the plain kernel and the warp-specialized one, which a module makes by timing both. */
import { helper } from "../syntax/helper-function.js";
import type { FunctionDef } from "../syntax/py.js";
import { TOLD } from "./launch-cache-helpers.js";

/** Decides between both kernels, and the table of what it has decided. */
export const IS_FASTER = "_is_faster";
export const FASTER = "_FASTER";
/** The lock of a thread that times or launches: Triton's autotuner has one place for the arguments of all threads. */
export const TUNING_LOCK = "_ALONE";
/** The standard library's modules that they use. */
export const SPECIALISED_IMPORTS: readonly string[] = ["threading"];
export const FASTER_IMPORTS: readonly string[] = ["functools"];

/**
 * What a wrapper calls that chooses between both kernels. In turns, because a GPU changes its clock meanwhile. While a graph
 * is recorded nothing may wait for the GPU; such a call must not be kept for later ones, which may decide.
 */
export const fasterHelper = (isKept: boolean): FunctionDef =>
  helper(
    IS_FASTER,
    "label key specialized plain",
    `Whether the warp-specialized kernel is the faster one for a key, which is found out once.

It is not if it fails: a warning says so.`,
    `if key in ${FASTER}:
    return ${FASTER}[key]
if torch.cuda.is_current_stream_capturing():${isKept ? `\n    ${TOLD}.launches = None` : ""}
    return False
with ${TUNING_LOCK}:
    if key not in ${FASTER}:
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
        ${FASTER}[key] = ours <= theirs
return ${FASTER}[key]`,
  );
