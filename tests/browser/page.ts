/** What the page runs: a kernel is built, evaluated and compared, and the result written into the document. */
import { compile } from "tilescript";
import { gemm } from "../../examples/gemm.js";

declare const document: { body: { textContent: string } } | undefined;

/** Everything that must not depend on where it was computed. */
export function computed() {
  const compiled = compile(gemm);
  const { outputs, findings, comparison } = compiled.evaluate({
    sizes: { M: 33, N: 17, K: 40 },
    dtypes: { T: "float16" },
    config: 7,
    seed: 1,
  });
  return { python: compiled.python, c: Array.from(outputs.c!.data as Float32Array), findings, comparison };
}

if (typeof document !== "undefined") document.body.textContent = encodeURIComponent(JSON.stringify(computed()));
