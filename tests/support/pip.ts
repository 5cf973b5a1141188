/** Tools for tests that pip installs on the first call. */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** The folder of a tool's executable. `name` is that of the tool, `distribution` that of its package on PyPI. */
export async function toolFolder(name: string, distribution = name): Promise<string> {
  const folder = join(import.meta.dirname, `../../node_modules/.cache/tilescript-${name}`);
  if (!existsSync(join(folder, "bin", name))) {
    await mkdir(folder, { recursive: true });
    const options = ["--quiet", "--disable-pip-version-check", "--target", folder];
    await execa("python3", ["-m", "pip", "install", ...options, distribution]);
  }
  return join(folder, "bin");
}
