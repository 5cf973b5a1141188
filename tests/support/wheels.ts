/** Wheels for tests that install something. */
import { execa } from "execa";
import { join } from "node:path";

const MAKE_WHEEL = `
import os, sys, zipfile
name, version, path, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr(f"{name}/__init__.py", "answer = 42\\n")
    wheel.writestr(f"{name}/payload.bin", os.urandom(size))
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

/** Writes a wheel with `size` random bytes into a folder, and returns its path. */
export async function writeWheel(folder: string, name: string, version: string, size = 0): Promise<string> {
  const path = join(folder, `${name}-${version}-py3-none-any.whl`);
  await execa("python3", ["-c", MAKE_WHEEL, name, version, path, String(size)]);
  return path;
}
