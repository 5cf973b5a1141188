/** What `npm publish` would upload: everything that runs, nothing else; and which files it reads where tsx is not installed. */
import { execa } from "execa";
import { transform } from "esbuild";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AGENTS_PAGE } from "../../docs/agents.js";
import { isTypeScript, modules, EXPECTED_OUTPUT } from "../../scripts/matrix-parts.js";
import { packUnbundled } from "../../scripts/package-apart.js";
import { readsTypeScript } from "../../src/runtime/invocation/kernels.js";
import { isInFullRun } from "../support/sampled-tests.js";
import { installInto, tsx } from "../support/installed.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What coding agents read. */
const FOR_AGENTS = [AGENTS_PAGE, "llms.txt", "skills/tilescript/SKILL.md"];
/** The most that the tarball may weigh, beside one where each source is a file: nothing comes back into it unseen. */
const MOST_OF_APART = 0.5;
/** Each that a process reads costs it about a millisecond. */
const MOST_SCRIPTS = 40;

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "tilescript-packed-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const source = readFileSync(join(root, "examples/vector-add.ts"), "utf8");

/** What a project without tsx says to `tilescript check FILE`. */
async function check(project: string, name: string, text: string) {
  await writeFile(join(project, name), text);
  const binary = join(project, "node_modules/tilescript/bin/tilescript.js");
  const ran = await execa(process.execPath, [binary, "check", name], { cwd: project, reject: false });
  return { code: ran.exitCode, out: ran.stdout, err: ran.stderr };
}

const ok = { code: 0, out: "vector_add: ok, 3 of 3 accesses proved for all shapes and 1 config", err: "" };

it("starts from a file that can be required, which an await outside of functions forbids", async () => {
  await transform(readFileSync(join(root, manifest.bin["tilescript"]!), "utf8"), { format: "cjs" });
});

describe("a project without tsx", { timeout: 60_000 }, () => {
  let project: string;
  beforeAll(async () => {
    // The package lies in the project itself: linked, it would find the tsx of this repository.
    project = await mkdtemp(join(folder, "project-"));
    const packed = await mkdtemp(join(folder, "linked-"));
    installInto(packed);
    const own = join(project, "node_modules/tilescript");
    await mkdir(own, { recursive: true });
    for (const name of await readdir(join(packed, "node_modules/tilescript")))
      await execa("cp", ["-rL", join(packed, "node_modules/tilescript", name), join(own, name)]);
    await withDependencies(project);
  });

  it("checks kernels in JavaScript", async () => {
    const { code } = await transform(source, { loader: "ts" });
    expect(await check(project, "kernel.js", code)).toEqual(ok);
    expect(await check(project, "kernel.mjs", code)).toEqual(ok);
  });

  it("checks kernels in TypeScript where Node reads it, and else names the remedy", async () => {
    const refused = {
      code: 2,
      out: "",
      err: /^error usage: reading kernel\.ts needs tsx; `npm install --save-dev tsx`/,
    };
    const ran = await check(project, "kernel.ts", source);
    if (readsTypeScript) expect(ran).toEqual(ok);
    else expect(ran).toEqual({ ...refused, err: expect.stringMatching(refused.err) });
  });

  it("says of a file that throws what it threw", async () => {
    const ran = await check(project, "throws.js", `throw new TypeError("not yet");`);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("TypeError: not yet") });
  });
});

it("checks a kernel in TypeScript in a package of CommonJS, as npm init makes one", { timeout: 60_000 }, async () => {
  const project = await mkdtemp(join(folder, "common-"));
  installInto(project);
  await writeFile(join(project, "package.json"), `{ "type": "commonjs" }`);
  expect(await check(project, "kernel.ts", source)).toEqual(ok);
});

/** The dependencies of the package, without those that only its tests have. */
async function withDependencies(project: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || dev || !existsSync(join(root, path))) continue;
    await mkdir(join(project, path, ".."), { recursive: true });
    symlinkSync(join(root, path), join(project, path));
  }
  await writeFile(join(project, "package.json"), `{ "type": "module" }`);
}

/** A position in the bundle, as a stack has it, is a line of the checkout that the bundle was made in. */
async function reportsAreRead(checkout: string, project: string): Promise<void> {
  const script = `import { tl } from "tilescript"; try { tl.arange(0, 4); } catch ({ stack }) { console.log(stack); }`;
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", script], { cwd: project });
  const [position] = /[\w-]+\.js:\d+:\d+/.exec(stdout)!;
  const { stdout: place } = await execa("npx", ["tsx", "scripts/source-position.ts", position, "none.js:1:1"], {
    cwd: checkout,
  });
  const [, file, line] = /is (src\/\S+):(\d+)$/m.exec(place)!;
  const thrown = (await readFile(join(checkout, file!), "utf8")).split("\n")[Number(line) - 1];
  expect(thrown).toContain("new TileScriptError(");
  expect(place).toMatch(/none\.js is no module of this checkout; check out the version of the report$/m);
}

/** ES modules and CommonJS, TypeScript and JavaScript: the program's kernel is evaluated. */
async function runsAsEachModule(project: string): Promise<void> {
  for (const module of modules) {
    const own = join(project, module.folder);
    await mkdir(own);
    await writeFile(join(own, "package.json"), JSON.stringify({ type: module.type }));
    await writeFile(join(own, module.file), module.text);
    const loader = isTypeScript(module) ? ["--import", tsx] : [];
    const ran = await execa(process.execPath, [...loader, join(own, module.file)], { cwd: project });
    expect({ module: module.name, says: ran.stdout }).toEqual({ module: module.name, says: EXPECTED_OUTPUT });
  }
}

describe.runIf(isInFullRun("tarballs of a checkout"))("the tarball of a clean checkout", { timeout: 480_000 }, () => {
  it("has all code and no maps, and runs", async () => {
    const checkout = join(folder, "checkout");
    await mkdir(checkout);
    await execa("sh", ["-c", `git archive HEAD | tar x -C '${checkout}'`], { cwd: root });
    symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
    const { stdout } = await execa("npm", ["pack", "--json", "--silent"], { cwd: checkout });
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [
      { filename: string; size: number; files: { path: string }[] },
    ];
    const packedFiles = packed.files.map(({ path }) => path);
    const targets = Object.values(manifest.exports).flatMap((each) =>
      typeof each === "string" ? each : Object.values(each),
    );
    for (const target of [...targets, ...Object.values(manifest.bin)])
      expect(packedFiles).toContain(target.replace("./", ""));
    for (const needed of [
      "LICENSE",
      "README.md",
      "dist/python/requirements.lock",
      "templates/package/README.md",
      ...FOR_AGENTS,
    ])
      expect(packedFiles).toContain(needed);
    const wanted = /^(bin|dist|templates|skills)\/|^(package\.json|README\.md|LICENSE|llms\.txt)$/;
    const unwanted = packedFiles.filter((path) => !wanted.test(path) || /\.map$|__pycache__|\.test\.js$/.test(path));
    expect(unwanted).toEqual([AGENTS_PAGE]);
    const apart = packUnbundled(await mkdtemp(join(folder, "apart-")));
    expect(packed.size / (await stat(apart)).size).toBeLessThan(MOST_OF_APART);
    const project = join(folder, "unpacked");
    await mkdir(join(project, "node_modules"), { recursive: true });
    await execa("tar", ["xzf", join(checkout, packed.filename)], { cwd: project });
    await rename(join(project, "package"), join(project, "node_modules/tilescript"));
    await withDependencies(project);
    const { code } = await transform(source, { loader: "ts" });
    expect(await check(project, "kernel.js", code)).toEqual(ok);
    // The bundle knows its own frames, and finds what lies beside it.
    const outside = `import { tl } from "tilescript";\n\ntl.arange(0, 4);`;
    expect((await check(project, "outside.js", outside)).err).toContain("outside.js:3:4 - error outside-kernel");
    await reportsAreRead(checkout, project);
    const binary = join(project, "node_modules/tilescript/bin/tilescript.js");
    await execa(process.execPath, [binary, "new", "starter"], { cwd: project });
    const doctor = await execa(process.execPath, [binary, "doctor", "--json"], { cwd: project });
    expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: true });
    // Comments are in the declarations alone, and these are complete.
    const scripts = packedFiles.filter((path) => /^dist.*\.js$/.test(path));
    for (const path of scripts)
      expect(await readFile(join(project, "node_modules/tilescript", path), "utf8")).not.toMatch(/^ *\/\*\*/m);
    expect(scripts.length).toBeLessThan(MOST_SCRIPTS);
    symlinkSync(join(root, "node_modules/@types"), join(project, "node_modules/@types"));
    await writeFile(join(project, "kernel.ts"), source);
    await runsAsEachModule(project);
    const files = ["kernel.ts", ...modules.filter(isTypeScript).map(({ folder, file }) => join(folder, file))];
    for (const [module, moduleResolution] of [
      ["nodenext", "nodenext"],
      ["esnext", "bundler"],
    ]) {
      const compilerOptions = {
        module,
        moduleResolution,
        strict: true,
        noEmit: true,
        target: "es2023",
        types: ["node"],
      };
      const config = { compilerOptions: { ...compilerOptions, skipLibCheck: false }, files };
      await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
      const typed = await execa(join(root, "node_modules/.bin/tsc"), ["-p", project], { reject: false });
      expect(typed.stdout).toBe("");
    }
  });
});
