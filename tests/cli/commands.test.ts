/** The `tilescript` command as a user starts it. */
import { execa } from "execa";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { binary, installInto } from "../support/installed.js";
import { closeResidents, tilescript as resident } from "../support/resident-cli.js";
import type { CheckReport, DoctorReport, EmitReport, NewReport, Problem } from "../../src/runtime/report/reports.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules", ".bin", "tsx");

let folder: string;
const tilescript = (...args: string[]) => execa("node", [binary, ...args], { cwd: folder, reject: false });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-commands-"));
  installInto(folder, "fast-check", "vitest", "tsx");
});

afterAll(closeResidents);

describe("mistakes", { timeout: 60_000 }, () => {
  it.each([
    [["setpu"], /unknown command 'setpu'; did you mean setup\?/],
    [["run"], /missing required argument 'files'/],
    [["run", "nowhere.ts"], /there is no file nowhere.ts; check the path/],
    [["run", "kernal.ts"], /there is no file kernal.ts; did you mean kernel.ts\?/],
    [["run", "./kernel"], /there is no file .\/kernel; did you mean kernel.ts\?/],
    [["check", "none/**/*.ts"], /no file matches none/],
    [["run", "plain.ts"], /plain.ts exports no kernel/],
    [["check", "pl*.ts"], /no file of pl\*.ts exports a kernel/],
    [["compile", "kernel.ts"], /--targets is missing; name GPUs, such as cuda:90/],
    [["compile", "kernel.ts", "--targets", "cuda:91"], /cuda:91 is not a known target; the targets are cuda:75/],
    [["emit", "kernel.ts", "other.ts"], /a file holds one kernel; choose it with --kernel starter, other/],
    [["check", "kernel.ts", "--kernel", "gemm"], /there is no kernel gemm; the kernels are starter/],
    [["check", "kernel.ts", "--against", "nowhere.ts"], /there is no file nowhere.ts/],
    [
      ["check", "kernel.ts", "other.ts", "--against", "other.ts"],
      /--against: other.ts has no kernel starter; it has other/,
    ],
    [["run", "kernel.ts", "--shape", "M=3"], /there is no size M; the sizes are N/],
    [["check", "kernel.ts", "--kernel", "startre"], /there is no kernel startre; did you mean starter\?/],
    [["check", "kernel.ts", "--wacth"], /unknown option '--wacth'; did you mean --watch\?/],
    [["verify", "kernel.ts", "--watch"], /unknown option '--watch'/],
    [["doctor", "--nope"], /unknown option '--nope'/],
    [["new"], /missing required argument 'name'/],
    [["new", "Add Relu"], /Add Relu cannot be the name of a kernel; use words of a-z/],
    [["new", "kernel"], /kernel.ts already exists/],
  ])("%j should end with one line and code 2", async (args, message) => {
    await writeFile(join(folder, "plain.ts"), "export const nothing = 1;\n");
    await starter("kernel.ts");
    await starter("other.ts", "other");
    const { exitCode, stdout, stderr } = await resident({ cwd: folder, env: process.env, args });
    expect({ exitCode, stdout, lines: stderr.split("\n").length }).toEqual({ exitCode: 2, stdout: "", lines: 2 });
    expect(stderr).toMatch(message);
  });

  it("should end with code 3 and JSON where the Python that was named is not there", async () => {
    await starter("kernel.ts");
    const args = ["--targets", "cuda:90", "--python", "/nowhere/python", "--json"];
    const { exitCode, stdout, stderr } = await tilescript("compile", "kernel.ts", ...args);
    expect(exitCode).toBe(3);
    expect(JSON.parse(stdout) as Problem).toEqual({ ok: false, details: stderr.replace(/^error environment: /, "") });
    expect(stderr).toContain("there is no such file");
  });
});

/** A kernel file as `new` makes it. */
async function starter(file: string, name = "starter"): Promise<void> {
  const text = await readFile(join(root, "templates", "kernel.ts"), "utf8");
  await writeFile(join(folder, file), text.replaceAll("starter", name));
}

describe("commands on files", { timeout: 60_000 }, () => {
  sampledTests("commands on files", "src/runtime/cli", "src/runtime/invocation");

  it("should take files and patterns, and skip what a pattern matches without a kernel", async () => {
    await mkdir(join(folder, "kernels"));
    await starter("kernels/one.ts", "one");
    await starter("kernels/two.ts", "two");
    await writeFile(join(folder, "kernels", "shared.ts"), "export const nothing = 1;\n");
    const ran = await tilescript("check", "kernels/*.ts");
    expect(ran).toMatchObject({
      exitCode: 0,
      stdout:
        "one: ok, 3 of 3 accesses proved for all shapes and 2 configs\ntwo: ok, 3 of 3 accesses proved for all shapes and 2 configs",
    });
  });

  it("should compare with the kernel of another file", async () => {
    await starter("new.ts");
    const text = await readFile(join(folder, "new.ts"), "utf8");
    await writeFile(join(folder, "old.ts"), text.replace("tl.maximum(sum, 0)", "tl.relu(sum)"));
    await writeFile(join(folder, "wrong.ts"), text.replace("tl.maximum(sum, 0)", "sum"));
    const equal = await tilescript("check", "new.ts", "--against", "old.ts");
    expect(equal).toMatchObject({ exitCode: 0 });
    expect(equal.stdout).toContain("starter computes z: equal to old.ts over the reals, for all N and 2 configs");
    const other = await tilescript("check", "new.ts", "--against", "wrong.ts", "--json");
    expect(other.exitCode).toBe(1);
    const { kernels } = JSON.parse(other.stdout) as CheckReport;
    expect(kernels[0]?.against).toMatchObject([{ output: "z", verdict: { kind: "refuted" } }]);
    expect(kernels[0]?.diagnostics[0]).toMatchObject({ code: "wrong-output" });
    expect(kernels[0]?.diagnostics[0]?.message).toMatch(/^z\[\d+\] is 0 where wrong\.ts gives -/);
  });

  it("should check the others where one is wrong", async () => {
    await starter("right.ts", "right");
    const text = await readFile(join(folder, "right.ts"), "utf8");
    await writeFile(
      join(folder, "wrong.ts"),
      text.replaceAll("right", "wrong").replace("{ BLOCK: 4096,", "{ BLOK: 4096,"),
    );
    const { exitCode, stdout, stderr } = await tilescript("check", "wrong.ts", "right.ts", "--json");
    expect(exitCode).toBe(1);
    const { kernels, ok } = JSON.parse(stdout) as CheckReport;
    expect(ok).toBe(false);
    expect(kernels.map(({ kernel, ok: built }) => [kernel, built])).toEqual([
      ["wrong", false],
      ["right", true],
    ]);
    const line = text.split("\n").findIndex((each) => each.includes("{ BLOCK: 4096,")) + 1;
    expect(kernels[0]!.diagnostics[0]).toMatchObject({ code: "config-name", at: { line } });
    expect(stderr).toContain(`> ${line} |         { BLOK: 4096, numWarps: 8 },`);
  });

  it("should emit several kernels into a folder, and one to standard output", async () => {
    await starter("one.ts", "one");
    await starter("two.ts", "two");
    const written = await tilescript("emit", "one.ts", "two.ts", "--out", "made/");
    expect(written.exitCode).toBe(0);
    expect(await readdir(join(folder, "made"))).toEqual(["one.py", "one.py.map", "two.py", "two.py.map"]);
    const { stdout } = await tilescript("emit", "one.ts");
    expect(`${stdout}\n`).toBe(await readFile(join(folder, "made", "one.py"), "utf8"));
    const { modules } = JSON.parse((await tilescript("emit", "one.ts", "--json")).stdout) as EmitReport;
    expect(modules.map(({ python }) => python)).toEqual([`${stdout}\n`]);
  });

  it("should verify real kernels", async () => {
    await starter("kernel.ts");
    const { exitCode, stdout } = await tilescript("run", "kernel.ts", "--device", "eval");
    expect(stdout).toMatch(/^starter passed/);
    expect(exitCode).toBe(0);
  });

  it("should print no colors and no progress where nobody looks", async () => {
    await starter("kernel.ts");
    const { stdout, stderr } = await tilescript("run", "kernel.ts", "--device", "eval");
    expect(stdout + stderr).not.toContain("\u001b");
  });

  it.each([
    { command: "check", options: [], says: "starter: ok, 3 of 3 accesses proved", proofCount: 1 },
    { command: "run", options: ["--device", "eval"], says: "starter passed", proofCount: 0 },
  ])("$command should run again when a source changes", async ({ command, options, says, proofCount }) => {
    await starter("kernel.ts");
    const text = await readFile(join(folder, "kernel.ts"), "utf8");
    await writeFile(join(folder, "sizes.ts"), "export const BLOCK = 1024;\n");
    const imported = `import { BLOCK } from "./sizes.js";\n${text.replace("{ BLOCK: 1024,", "{ BLOCK,")}`;
    await writeFile(join(folder, "kernel.ts"), imported);
    const temporary = join(folder, "temporary");
    await mkdir(temporary);
    const env = { TMPDIR: temporary };
    const child = execa("node", [binary, command, "kernel.ts", "--watch", ...options], {
      cwd: folder,
      env,
      reject: false,
      all: true,
    });
    let seen = "";
    const waits: { text: string; resolve: () => void }[] = [];
    child.all.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
      for (const { text: wanted, resolve } of waits) if (seen.includes(wanted)) resolve();
    });
    const until = (wanted: string) =>
      new Promise<void>((resolve) => (seen.includes(wanted) ? resolve() : waits.push({ text: wanted, resolve })));
    await until("watching 2 files; Ctrl-C ends\n");
    expect(seen).not.toContain("starter");
    await until("waiting for a change");
    expect(seen).toContain(says);
    const kept = async () => (await readdir(temporary)).filter((name) => name.startsWith("tilescript-proofs-"));
    const [proofs] = await kept();
    expect(await readdir(join(temporary, proofs!))).toHaveLength(proofCount);
    // 1000 is not a power of two.
    await writeFile(join(folder, "sizes.ts"), "export const BLOCK = 1000;\n");
    await until("sizes.ts changed");
    await until("power of two");
    child.kill("SIGINT");
    expect((await child).signal).toBe("SIGINT");
    expect(await kept()).toEqual([]);
  });
});

describe("new", { timeout: 120_000 }, () => {
  sampledTests("new files", "templates");

  it.each(["module", "commonjs"])(
    "should make a kernel that runs at once, with a test that passes, in a package of type %s",
    async (type) => {
      await writeFile(join(folder, "package.json"), JSON.stringify({ type }));
      const made = await tilescript("new", "add-relu");
      expect(made.stdout).toBe(
        "made add-relu.ts\nmade add-relu.test.ts\nnext: npx tsx add-relu.ts --run, and `npx vitest run` tests it",
      );
      expect((await tilescript("check", "add-relu.ts")).stdout).toBe(
        "add_relu: ok, 3 of 3 accesses proved for all shapes and 2 configs",
      );
      const ran = await execa(tsx, ["add-relu.ts", "--run", "--device", "eval"], { cwd: folder, reject: false });
      expect(ran.stdout).toMatch(/^add_relu passed/);
      const tested = await execa(join(root, "node_modules", ".bin", "vitest"), ["run"], { cwd: folder, reject: false });
      expect(tested.stdout + tested.stderr).toMatch(/Tests .*1 passed/);
    },
  );

  it("should make a project, and refuse to overwrite", async () => {
    const { stdout } = await tilescript("new", "add-relu", "--project", "--json");
    const { files } = JSON.parse(stdout) as NewReport;
    expect(files).toEqual(
      ["add-relu.ts", "add-relu.test.ts", "package.json", "tsconfig.json"].map((name) => join("add-relu", name)),
    );
    const { scripts } = JSON.parse(await readFile(join(folder, "add-relu", "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts["start"]).toBe("tsx add-relu.ts --run");
    const before = await readFile(join(folder, "add-relu", "add-relu.ts"), "utf8");
    const again = await tilescript("new", "add-relu", "--project");
    expect(again).toMatchObject({
      exitCode: 2,
      stderr: "error usage: add-relu already exists and was not changed; choose another name",
    });
    expect(await readFile(join(folder, "add-relu", "add-relu.ts"), "utf8")).toBe(before);
  });
});

describe("doctor", { timeout: 120_000 }, () => {
  it("should say what was found", async () => {
    const { exitCode, stdout } = await tilescript("doctor", "--json");
    expect(exitCode).toBe(0);
    const { facts, ok, next } = JSON.parse(stdout) as DoctorReport;
    expect(ok).toBe(true);
    expect(next).toMatch(/tilescript new|install the build of torch/);
    expect(facts.map(({ name }) => name)).toEqual(["node", "tsx", "python", "device", "gpus", "compile"]);
    for (const { name, status, remedy } of facts)
      if (status === "missing") expect({ name, remedy }).toEqual({ name, remedy: expect.stringMatching(/\w/) });
    expect(facts[2]!.found).toMatch(/torch 2\S+, triton 3/);
  });

  it("should say what to do where the Python that was named is not there", async () => {
    const { exitCode, stdout } = await tilescript("doctor", "--python", "/nowhere/python");
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/python +missing +there is no such file/);
    expect(stdout).toContain("python: name another: --python or TILESCRIPT_PYTHON");
    expect(stdout).toMatch(/\nnext: name another: --python or TILESCRIPT_PYTHON$/);
  });
});
