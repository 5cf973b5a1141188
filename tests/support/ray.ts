/** Ray for tests: a Python with Ray, and a cluster of two nodes on this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { rayLock } from "../../src/runtime/worker/environment.js";
import { hashed } from "../../src/runtime/worker/install-environment.js";
import { environmentFolder, venvPython } from "../../src/runtime/system/files.js";
import { acquireLock } from "../../src/runtime/system/processes.js";
import { requirePython } from "./python.js";

let rayInstallation: Promise<string | undefined> | undefined;

/** A Python with Ray and the packages of the tests' Python; undefined if Ray cannot be installed. */
export function rayPython(): Promise<string | undefined> {
  return (rayInstallation ??= install());
}

/**
 * Installs Ray into a separate environment, kept between runs, that also searches the packages of the tests' Python.
 */
async function install(): Promise<string | undefined> {
  const base = await requirePython();
  const folder = environmentFolder(rayLock);
  const venv = join(folder, "venv");
  const marker = join(folder, "tests.json");
  await mkdir(folder, { recursive: true });
  const release = await acquireLock(`${folder}.lock`, () => undefined);
  try {
    if (existsSync(marker)) return venvPython(venv);
    await rm(venv, { recursive: true, force: true });
    await execa(base, ["-m", "venv", venv]);
    const pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", ...hashed(rayLock)];
    const { failed, stderr } = await execa(venvPython(venv), pip, { reject: false, timeout: 300_000 });
    if (failed) {
      process.stderr.write(`Ray can't be installed here: ${stderr.trim().split("\n").at(-1)}\n`);
      return undefined;
    }
    const [sitePackages, basePackages] = [await packagesOf(venvPython(venv)), await packagesOf(base)];
    await writeFile(join(sitePackages, "tests.pth"), `${basePackages}\n`);
    await writeFile(marker, "{}");
    return venvPython(venv);
  } finally {
    await release();
  }
}

async function packagesOf(python: string): Promise<string> {
  return (await execa(python, ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"])).stdout;
}

/** A running cluster. */
export class LocalRayCluster {
  readonly #process: ChildProcess;

  private constructor(
    /** The address of its head node. */
    readonly address: string,
    /** The process id of its second node. Killing it removes the node. */
    readonly raylet: number,
    /** The address for machines outside the cluster, and the process id of the server that listens there. */
    readonly clients: { readonly address: `ray://${string}`; readonly server: number },
    process: ChildProcess,
  ) {
    this.#process = process;
  }

  /** Starts a cluster. `gpus` is the number of GPUs that Ray assumes per node. */
  static async start(python: string, gpus = 0): Promise<LocalRayCluster> {
    const script = fileURLToPath(new URL("ray_cluster.py", import.meta.url));
    const child = spawn(python, [script, String(gpus)], { stdio: ["pipe", "pipe", "pipe"] });
    let [output, errorOutput] = ["", ""];
    child.stderr.on("data", (data: Buffer) => (errorOutput += String(data)));
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`Ray's cluster did not start: ${errorOutput}`)));
      child.stdout.on("data", (data: Buffer) => {
        output += String(data);
        if (output.includes("}\n")) resolve();
      });
    });
    const line = output.split("\n").find((each) => each.startsWith("{"))!;
    const { address, raylet, clients } = JSON.parse(line) as Pick<LocalRayCluster, "address" | "raylet" | "clients">;
    return new LocalRayCluster(address, raylet, clients, child);
  }

  async stop(): Promise<void> {
    const exit = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin!.end();
    await exit;
  }
}
