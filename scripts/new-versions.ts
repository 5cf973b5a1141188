/** Looks for releases of PyTorch and Triton on PyPI that are newer than those tested. It needs uv on the PATH. */
import { execa } from "execa";
import { compareVersions, supportedVersions } from "../src/compiled/versions.js";

const packages = ["torch", "triton"] as const;

/** A sentence for each package with a newer release. Throws an Error if there is no answer. `env` can set uv's options. */
export async function newVersions(env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const { newest: python } = supportedVersions.python;
  const options = ["--no-deps", "--no-header", "--no-annotate", "--no-python-downloads", "--python-version", python];
  const uv = await execa("uv", ["pip", "compile", "-", ...options], {
    input: packages.join("\n"),
    env,
    reject: false,
  });
  if (uv.failed) throw new Error(`uv could not list the releases: ${uv.stderr || uv.shortMessage}`);
  return packages.flatMap((name) => {
    const released = new RegExp(`^${name}==(\\S+)`, "m").exec(uv.stdout)?.[1] ?? "";
    const { newest } = supportedVersions[name];
    return compareVersions(released, newest) > 0
      ? [`${name} ${released} is newer than ${newest}, the newest tested; CONTRIBUTING.md says how to add a version`]
      : [];
  });
}

if (process.argv[1] === import.meta.filename) {
  const found = await newVersions();
  console.log(found.join("\n") || "nothing is newer than the tested versions");
  if (found.length > 0) process.exitCode = 1;
}
