/** Emits kernels under hostile names of packages, of PyTorch's namespaces and of the author's files, and runs them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type CompiledKernel } from "tilescript";
import { TileScriptError } from "../../../../src/diagnostics/diagnostic.js";
import { packageFiles, nameProblem } from "../../../../src/runtime/package/files.js";
import { runScript, inTemporaryFolder, requirePython } from "../../../support/python.js";
import { HostileNames } from "./hostile-names.js";
import type { Tried } from "./try-names.js";

const tilescript = fileURLToPath(new URL("../../../../src/index.ts", import.meta.url));

/** A file of one kernel that adds one. */
const text = (name: string): string => `import { constexpr, kernel, tensor, tl } from ${JSON.stringify(tilescript)};
export default kernel(${JSON.stringify(name)}, {
  params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), B: constexpr() },
  grid: ({ N, B }) => [tl.cdiv(N, B)],
  config: { B: 16 },
  reference: ({ x }) => x.add(1),
}, ({ x, y, B }) => {
  // Adds one.
  const offsets = tl.programId(0).mul(B).add(tl.arange(0, B));
  tl.store(y.at(offsets), tl.load(x.at(offsets)).add(1));
});
`;

/** What Python loads: a module, or the files of a package; and an operator that it registers. */
interface Loaded {
  readonly module?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly package?: string;
  readonly op?: readonly [namespace: string, name: string];
}

/** The sentence of a refusal, or what Python loads. */
type Made = string | Loaded;

async function inPackage(kernel: CompiledKernel, name: string, folder: string): Promise<Made> {
  const why = nameProblem(name);
  if (why !== undefined) return why;
  const operator = "custom_op";
  const module = `${name}.kernels.${kernel.signature.name}`;
  const modules = kernel.emitForPackage(module, { op: { namespace: name, form: operator } });
  const packaged = { kernel, modules, operator } as const;
  const files = await packageFiles(folder, { name, version: "0.1.0" }, [packaged]);
  return { files: Object.fromEntries(files), package: name, op: [name, kernel.signature.name] };
}

function inNamespace(kernel: CompiledKernel, namespace: string): Made {
  const { python } = kernel.emit({ op: { namespace } });
  return { module: python, op: [namespace, kernel.signature.name] };
}

/** Emits kernels for `count` places, and loads and calls the first `called` of them. */
export async function tryPlaces(seed: number, count: number, called = count): Promise<Tried> {
  const [failures, refusals, loaded] = [[] as string[], [] as string[], new Map<number, Loaded>()];
  const names = new HostileNames(seed);
  await inTemporaryFolder(async (folder) => {
    for (let i = 0; i < count; i++) {
      const name = names.place();
      const isFile = i % 3 === 2;
      // Neither a file system nor Node's modules have such names.
      const stem = isFile ? name.replace(/[/\\\0]/g, "").slice(0, 60) : `plain_${i}`;
      const file = join(folder, `${stem}_${i}.mts`);
      await writeFile(file, text(`add_${i}`));
      try {
        const { default: author } = (await import(pathToFileURL(file).href)) as { default: unknown };
        const kernel = await build(author);
        const made =
          i % 3 === 0
            ? await inPackage(kernel, name, folder)
            : isFile
              ? { module: kernel.python }
              : inNamespace(kernel, name);
        if (typeof made === "string") refusals.push(`${i}: ${made}`);
        else loaded.set(i, made);
      } catch (error) {
        const isRefused = error instanceof TileScriptError && !error.message.startsWith("internal");
        if (isRefused) refusals.push(`${i}: ${error.message.split("\n")[0]}`);
        else failures.push(`${i} (${JSON.stringify(name)}): ${String(error)}`);
      }
    }
  });
  const lines = [...loaded].slice(0, called).map(([id, made]) => ({ id, ...made }));
  const script = new URL("hostile_names.py", import.meta.url);
  const faults = await runScript<Readonly<Record<string, string>>>(await requirePython(), script, lines);
  const placed = (i: string) => JSON.stringify(loaded.get(Number(i))?.op?.[0] ?? "a file");
  failures.push(...Object.entries(faults).map(([i, why]) => `${i} (${placed(i)}): ${why}`));
  const modules = new Map([...loaded].map(([i, { module = "" }]) => [i, module] as const));
  return { built: loaded.size, refusals, failures, modules };
}
