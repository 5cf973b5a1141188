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

sampledTests("launches of repeated calls", "src/codegen/wrapper");

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

test.skipIf(!compiler).each(await importable())(
  "a repeated call should launch what Triton $name launches",
  { timeout: 300_000 },
  async ({ package: triton }) => {
    const ran = await inTemporaryFolder(async (folder) => {
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
      const script = fileURLToPath(new URL("repeated_calls.py", import.meta.url));
      return execa(await requirePython(), [script], { env, reject: false });
    });
    expect(ran.stderr).toMatch(/\nRan \d+ tests in .*\n\nOK$/);
  },
);
