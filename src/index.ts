/** TileScript: Triton kernels in TypeScript. */
export { TileScriptError, type Diagnostic, type Location } from "./diagnostics.js";
export { kernel } from "./dsl/kernel.js";
export { constexpr, pointer, scalar, tensor } from "./dsl/params.js";
export { python } from "./dsl/reference.js";
export const main = (..._: unknown[]) => undefined;
export * as tl from "./dsl/tl.js";
