/** The preamble of an emitted module: imports, constants, and a check of Triton's version. */
import type { KernelIR } from "../../ir/nodes.js";
import { usesOfTriton39 } from "../../analysis/preconditions.js";
import { supportedVersions } from "../../compiled/versions.js";
import { walkAll } from "../../ir/walk.js";
import { WRAP_TRITON, DESCRIPTOR_CLASS } from "../wrapper/launch.js";
import * as py from "../syntax/py-build.js";
import type { Block, FromImport, Import } from "../syntax/py.js";
import { torchDType } from "../wrapper/checks.js";
import { TRITON_DTYPES } from "../wrapper/numbers.js";
import { selectLibrary } from "../library/library.js";
import { printModule } from "../syntax/layout.js";

/** Imports of the standard library, which come first. */
export const standardImports = (modules: readonly string[]): Block =>
  modules.length > 0
    ? [...[...new Set(modules)].toSorted().map((module): Import => ({ kind: "import", module })), py.blank]
    : [];

/** The `from` imports of a module: those of op spellings, and those that its other parts need. */
export function fromImports(
  kernels: readonly KernelIR[],
  isMentioned: (name: string) => boolean,
  others: readonly FromImport[],
): Block {
  const namesByModule = new Map<string, Map<string, Binding>>();
  const addImport = (from: string, binding: Binding): void => {
    const bindings = namesByModule.get(from) ?? new Map<string, Binding>();
    namesByModule.set(from, bindings.set(binding.as ?? binding.name, binding));
  };
  for (const { module, names } of others) for (const binding of names) addImport(module, binding);
  if (isMentioned(WRAP_TRITON)) addImport("torch.library", { name: WRAP_TRITON });
  if (isMentioned(DESCRIPTOR_CLASS)) addImport("triton.tools.tensor_descriptor", { name: DESCRIPTOR_CLASS });
  for (const ir of kernels)
    walkAll(ir, (statement) => {
      const spelling = statement.kind === "op" ? statement.op.spelling : undefined;
      if (spelling?.form !== "call" || !spelling.from) return;
      const [name = ""] = spelling.name.split(".");
      if (isMentioned(name)) addImport(spelling.from, { name });
    });
  return [...namesByModule]
    .map(([module, names]): FromImport => ({
      kind: "fromImport",
      module,
      names: [...names.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    }))
    .sort((a, b) => (a.module < b.module ? -1 : 1));
}

type Binding = FromImport["names"][number];

/** The module's table of dtypes, if the wrapper uses it. */
export function dtypeConstants(kernels: readonly KernelIR[], isMentioned: (name: string) => boolean): Block {
  if (!isMentioned(TRITON_DTYPES)) return [];
  const params = kernels.flatMap((ir) => ir.params);
  const members = params.flatMap((param) => (param.kind === "constexpr" ? (param.variable?.members ?? []) : []));
  const entries = [...new Set(members)].map((name) => ({ key: torchDType(name), value: py.dotted(`tl.${name}`) }));
  return [
    py.comment("What Triton calls the dtypes of PyTorch."),
    py.assign(py.name(TRITON_DTYPES), py.dict(...entries)),
  ];
}

/** The versions of a module's kernels, for its docstring. */
export function madeFor(kernels: readonly KernelIR[]): string {
  const { torch, triton } = supportedVersions;
  const { oldest } = neededTriton(kernels);
  const tritons = oldest === triton.newest ? oldest : `${oldest} to ${triton.newest}`;
  return `Made for torch ${torch.oldest} to ${torch.newest} and Triton ${tritons}.`;
}

/** A check that Triton is not older than the kernels need: the import then fails. */
export function versionCheck(kernels: readonly KernelIR[]): Block {
  const { oldest, features } = neededTriton(kernels);
  const found = py.subscript(py.call("triton.__version__.split", py.string(".")), py.slice(undefined, py.number("2")));
  const reason = features.length > 0 ? ` for ${features.join(", ")}` : "";
  const message = py.fString(`Triton ${oldest} or later is needed${reason}, got `, {
    value: py.dotted("triton.__version__"),
  });
  return [
    py.blank,
    {
      kind: "if",
      branches: [
        {
          test: py.compare(py.call("tuple", py.call("map", py.name("int"), found)), [
            "<",
            py.tuple(...oldest.split(".").map(py.number)),
          ]),
          body: [py.raise(py.call("ImportError", message))],
        },
      ],
    },
  ];
}

/** The oldest Triton on which the kernels run, and the features that no older one has. */
function neededTriton(kernels: readonly KernelIR[]): { readonly oldest: string; readonly features: readonly string[] } {
  const features = [...new Set(kernels.flatMap(usesOfTriton39).map(({ name }) => name))];
  const needsTriton39 = features.length > 0 || kernels.some(({ triton }) => triton === "3.9");
  return { oldest: needsTriton39 ? "3.9" : supportedVersions.triton.oldest, features };
}

// The module `_runtime` of a package, from which the modules of its kernels import what they share.

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
