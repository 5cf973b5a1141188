import { execa } from "execa";
import { mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("kernel files that are started", "src/runtime/cli");

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules", ".bin", "tsx");

/** A folder with a kernel file, in a package of either kind. */
async function project(type: "commonjs" | "module"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-main-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type }));
  await writeFile(
    join(folder, "kernel.ts"),
    [
      `import { main } from ${JSON.stringify(join(root, "src/runtime/cli/main.ts"))};`,
      `import { vectorAdd } from ${JSON.stringify(join(root, "tests/support/fixtures/vector-add.ts"))};`,
      `export const kernel = { name: "vectorAdd", compile: async () => vectorAdd() };`,
      `main(import.meta, kernel);`,
    ].join("\n"),
  );
  await writeFile(join(folder, "importer.ts"), `import { kernel } from "./kernel.js";\nconsole.log(kernel.name);\n`);
  return folder;
}

describe.each(["commonjs", "module"] as const)("main in a %s package", { timeout: 60_000 }, (type) => {
  it("should run the command line of the file that was started, also through a link", async () => {
    const folder = await project(type);
    await symlink("kernel.ts", join(folder, "link.ts"));
    for (const file of ["kernel.ts", "link.ts"]) {
      const ran = await execa(tsx, [join(folder, file), "--check"], { cwd: folder, reject: false });
      expect(ran).toMatchObject({
        exitCode: 0,
        stdout: "vector_add: ok, no accesses to prove",
      });
    }
  });

  it("should do nothing when the file is imported", async () => {
    const folder = await project(type);
    const ran = await execa(tsx, [join(folder, "importer.ts"), "--check"], { cwd: folder, reject: false });
    expect(ran).toMatchObject({ exitCode: 0, stdout: "vectorAdd", stderr: "" });
  });

  it("should verify on the evaluator", async () => {
    const folder = await project(type);
    const ran = await execa(tsx, [join(folder, "kernel.ts"), "--run", "--device", "eval"], { reject: false });
    expect(ran.exitCode).toBe(0);
  });
});
