/** The kernels of `examples/`, for tests that iterate over all of them. Each file exports exactly one kernel. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { KernelDefinition } from "../../src/dsl/definition.js";
import { OperatorDefinition } from "../../src/dsl/operator.js";

const folder = fileURLToPath(new URL("../../examples", import.meta.url));

export interface Example {
  /** The file name without its extension. */
  readonly name: string;
  readonly file: string;
  /** The name of the export. */
  readonly exported: string;
  readonly kernel: KernelDefinition | OperatorDefinition;
}

/**
 * The files, relative to the root of the repository, whose change affects an example: its source and its golden file.
 */
export const sourcesOf = (name: string): readonly string[] => [
  `examples/${name}.ts`,
  `tests/unit/codegen/golden/${name}.py`,
];

async function example(name: string): Promise<Example> {
  const file = join(folder, `${name}.ts`);
  const exports = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  const kernels = Object.entries(exports).flatMap(([exportName, kernel]) =>
    kernel instanceof KernelDefinition || kernel instanceof OperatorDefinition
      ? [{ exported: exportName, kernel }]
      : [],
  );
  const [single, ...otherKernels] = kernels;
  if (!single || otherKernels.length > 0)
    throw new Error(`examples/${name}.ts exports ${kernels.length} kernels; export one`);
  return { name, file, ...single };
}

const names = readdirSync(folder).flatMap((file) => (file.endsWith(".ts") ? [file.slice(0, -".ts".length)] : []));

export const examples: readonly Example[] = await Promise.all(names.toSorted().map(example));
