/** Functions that JavaScript's Math lacks, as torch's reference uses them. */
export { erf, roundHalfEven } from "../numerics/special.js";
