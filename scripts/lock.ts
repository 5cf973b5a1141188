/**
 * Writes the lock files of the Python packages, from PyPI: exact versions with the hashes of their files. Also writes the
 * supported versions into the files that name them. It needs uv on the PATH.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { following, requirements, supportedVersions } from "../src/compiled/versions.js";
import { withVersions } from "./version-texts.js";

const root = resolve(import.meta.dirname, "..");

/** The lock files, by the name of their group in the project that uv resolves. */
export const locks = {
  kernels: { file: "python/requirements.lock", comment: "What `tilescript setup` installs." },
  ray: {
    file: "python/ray.lock",
    comment: "What `tilescript setup --ray` adds. A cluster accepts only its own version: `--ray VERSION` installs it.",
  },
  mypy: { file: "tests/cli/package/requirements.lock", comment: "What checks the types of a package." },
} as const;

const { python, torch } = supportedVersions;

/** One resolution for all groups, so that their common packages have the same versions. pip is what installs them. */
const project = `
[project]
name = "tilescript-locks"
version = "0"
requires-python = ">=${python.oldest},<${following(python.newest)}"

[dependency-groups]
kernels = ["numpy", "pip", "${requirements.torch},<${following(torch.newest)}", "${requirements.triton}"]
ray = ["ray[client]"]
mypy = ["mypy"]

[tool.uv]
package = false
environments = [
  "sys_platform == 'linux' and platform_machine == 'x86_64'",
  "sys_platform == 'linux' and platform_machine == 'aarch64'",
]
`;

async function writeLocks(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-lock-"));
  try {
    writeFileSync(join(folder, "pyproject.toml"), project);
    const uv = (...args: readonly string[]) => execa("uv", args, { cwd: folder });
    await uv("lock");
    for (const [group, { file, comment }] of Object.entries(locks)) {
      const { stdout } = await uv("export", "--only-group", group, "--no-header", "--no-annotate");
      const head = `# ${comment}\n# Written by \`npm run package -- lock\`.\n`;
      writeFileSync(join(root, file), `${head}${stdout.trim()}\n`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const [file, write] of Object.entries(withVersions)) {
    const path = join(root, file);
    writeFileSync(path, write(readFileSync(path, "utf8")));
  }
  await writeLocks();
}
