/** What `tilescript import` found, for people. */
import type { ImportReport } from "./reports.js";

type Kernel = ImportReport["kernels"][number];

/** One line a kernel, with the reason below it where it is not equal. */
export function importText({ kernels, file }: ImportReport): string {
  return kernels.flatMap((kernel) => [`${kernel.kernel}: ${kernel.status}`, ...details(kernel, file)]).join("\n");
}

function details(kernel: Kernel, file: string): readonly string[] {
  const todos = (kernel.todos ?? []).map(({ text, line }) => `  ${file}:${line}: TODO: ${text}`);
  const written = kernel.path === undefined ? [] : [`  wrote ${kernel.path}`];
  switch (kernel.status) {
    case "equal":
      return [...written, ...todos];
    case "equal for the traced flags":
      return [...written, `  fixed: ${kernel.fixed.join(", ")}`, ...todos];
    case "differs":
      return [...written, `  the original has: ${kernel.original}`, `  the imported has: ${kernel.imported}`, ...todos];
    case "not imported":
      return [...written, `  ${file}:${kernel.line}: ${kernel.reason}`];
    default:
      return kernel satisfies never;
  }
}
