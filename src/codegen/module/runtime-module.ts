/** The module `_runtime` of a package, from which the modules of its kernels import what they share. */
import { selectLibrary } from "../library/library.js";
import * as py from "../syntax/py-build.js";
import { printModule } from "../syntax/layout.js";
import { fromImports, standardImports } from "./preamble.js";

/** Prints the library's functions with these names, and those that they mention. */
export function runtimeModule(names: ReadonlySet<string>, version: string): string {
  const isNamed = (name: string) => names.has(name);
  const { imports, constants, functions, launchCache } = selectLibrary(isNamed);
  const plainImports = imports.filter((each) => each.kind === "import").map(({ module }) => module);
  return printModule([
    py.expression(py.string("What the kernels of the package share.\n\nWritten by TileScript.")),
    ...standardImports(plainImports.filter((module) => module !== "torch" && module !== "triton")),
    { kind: "import", module: "torch" },
    { kind: "import", module: "triton" },
    ...fromImports(
      [],
      isNamed,
      imports.filter((each) => each.kind === "fromImport"),
    ),
    py.blank,
    py.assign(py.name("__version__"), py.string(version)),
    ...constants,
    ...functions.values(),
    ...launchCache,
  ]).text;
}
