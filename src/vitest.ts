/** `import "tilescript/vitest"` adds the matchers for kernels to vitest's `expect`. */
import { expect } from "vitest";
import type { Kernel } from "./params/kernel.js";
import { type KernelMatchers, matchers } from "./testing/matchers.js";

declare module "vitest" {
  interface Matchers<T = any> extends KernelMatchers<T extends Kernel<any, infer P> ? P : never, void> {}
}

expect.extend(matchers);
