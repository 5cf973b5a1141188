/** Repeated calls with Triton's own launcher, which talks to a stand-in of the CUDA driver: no GPU is needed. */
import { execa } from "execa";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { sampledTests } from "../../support/sampled-tests.js";
import { inTemporaryFolder, requirePython, tritonCache, tritonPythons } from "../../support/python.js";
import { kept, scaled, summed } from "./kernels.js";

sampledTests("launches of repeated calls", "src/codegen/wrapper", "python/runtime");

/** Where each Triton lies that PyTorch's Python can import. */
async function importable(): Promise<readonly { readonly name: string; readonly package: string }[]> {
  const program = "import os, sys, triton; print(*sys.version_info[:2], os.path.dirname(triton.__file__), sep='\\n')";
  const found = await Promise.all(
    (await tritonPythons()).map(async ({ name, python }) => {
      const [major, minor, place] = (await execa(python, ["-c", program])).stdout.split("\n");
      return { name, version: `${major}.${minor}`, package: place! };
    }),
  );
  return found.filter(({ version }) => version === found[0]!.version);
}

const compiler = (await execa("cc", ["--version"], { reject: false })).exitCode === 0;

/** Runs a script of this folder beside the emitted modules, with a Triton and the stand-in of the driver. */
async function runBesideModules(triton: string, name: string, ...args: readonly string[]) {
  return inTemporaryFolder(async (folder) => {
    for (const each of [summed, scaled, kept]) {
      const built = await build(each);
      await writeFile(join(folder, built.file), built.emit({ launch: "fast" }).python);
    }
    await symlink(triton, join(folder, "triton"));
    const driver = join(folder, "driver");
    await mkdir(driver);
    const stand = fileURLToPath(new URL("driver.c", import.meta.url));
    const headers = join(triton, "backends/nvidia/include");
    await execa("cc", ["-shared", "-fPIC", "-w", `-I${headers}`, "-o", join(driver, "libcuda.so.1"), stand]);
    await symlink("libcuda.so.1", join(driver, "libcuda.so"));
    const env = {
      PYTHONPATH: folder,
      LD_LIBRARY_PATH: driver,
      TRITON_LIBCUDA_PATH: driver,
      TRITON_CACHE_DIR: join(tritonCache, "stand-in"),
      TRITON_INTERPRET: "0",
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const script = fileURLToPath(new URL(name, import.meta.url));
    return execa(await requirePython(), [script, ...args], { env, reject: false });
  });
}

const versions = await importable();

test.skipIf(!compiler).each(versions)(
  "a repeated call should launch what Triton $name launches",
  { timeout: 300_000 },
  async ({ package: triton }) => {
    const ran = await runBesideModules(triton, "repeated_calls.py");
    expect(ran.stderr).toMatch(/\nRan \d+ tests in .*\n\nOK$/);
  },
);

test.skipIf(!compiler).each([
  ["torch._C", "_increment_version", undefined, "module 'torch._C' has no attribute '_increment_version'"],
  [
    "torch._C",
    "_len_torch_dispatch_stack",
    undefined,
    "module 'torch._C' has no attribute '_len_torch_dispatch_stack'",
  ],
  ["torch._C._dynamo.guards", "TensorGuards", undefined, "cannot import name 'TensorGuards'"],
  ["triton", "__version__", "3.10.0", "it is tested with Triton 3.6 to 3.9, not 3.10.0"],
])(
  "with another %s.%s (%s), a call should be launched by Triton, after one warning",
  async (owner, name, value, why) => {
    const [{ package: triton }] = versions as [(typeof versions)[number]];
    const ran = await runBesideModules(triton, "plain_calls.py", owner, name, ...(value === undefined ? [] : [value]));
    expect(ran.stderr).toBe("");
    expect(ran.stdout).toContain("summed has no launch cache, so that calls take longer: ");
    expect(ran.stdout).toContain(why);
  },
);
