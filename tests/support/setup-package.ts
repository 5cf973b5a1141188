/** Global setup of the tiers that start the compiled package. */
export { makeProject as setup } from "./installed.js";
