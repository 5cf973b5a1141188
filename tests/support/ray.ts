/** Ray for tests: a Python that has it, and a cluster of two nodes on this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { rayLock } from "../../src/runtime/worker/environment.js";
import { environmentFolder, venvPython } from "../../src/runtime/system/cache-folder.js";
import { acquireLock } from "../../src/runtime/system/process-lock.js";
import { requirePython } from "./python.js";

let made: Promise<string | undefined> | undefined;

/** A Python with Ray and everything of the tests' own one; undefined where Ray can't be installed. */
export function rayPython(): Promise<string | undefined> {
  return (made ??= install());
}

/** Ray lies in an environment of its own, kept between runs, that also searches the packages of the tests' one. */
async function install(): Promise<string | undefined> {
  const base = await requirePython();
  const folder = environmentFolder(rayLock);
  const venv = join(folder, "venv");
  const ready = join(folder, "tests.json");
  await mkdir(folder, { recursive: true });
  const release = await acquireLock(`${folder}.lock`, () => undefined);
  try {
    if (existsSync(ready)) return venvPython(venv);
    await rm(venv, { recursive: true, force: true });
    await execa(base, ["-m", "venv", venv]);
    const pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", "-r", rayLock];
    const { failed, stderr } = await execa(venvPython(venv), pip, { reject: false, timeout: 300_000 });
    if (failed) {
      process.stderr.write(`Ray can't be installed here: ${stderr.trim().split("\n").at(-1)}\n`);
      return undefined;
    }
    const [own, others] = [await packagesOf(venvPython(venv)), await packagesOf(base)];
    await writeFile(join(own, "tests.pth"), `${others}\n`);
    await writeFile(ready, "{}");
    return venvPython(venv);
  } finally {
    await release();
  }
}

async function packagesOf(python: string): Promise<string> {
  return (await execa(python, ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"])).stdout;
}

/** A cluster, until it is stopped. */
export class LocalRayCluster {
  readonly #process: ChildProcess;

  private constructor(
    /** The address of its head node. */
    readonly address: string,
    /** The process of its second node. Whoever ends it removes the node. */
    readonly raylet: number,
    /** What a machine outside the cluster connects to, and the process that listens there. */
    readonly clients: { readonly address: `ray://${string}`; readonly server: number },
    process: ChildProcess,
  ) {
    this.#process = process;
  }

  /** `gpus` is how many Ray believes that each node has. */
  static async start(python: string, gpus = 0): Promise<LocalRayCluster> {
    const script = fileURLToPath(new URL("ray_cluster.py", import.meta.url));
    const child = spawn(python, [script, String(gpus)], { stdio: ["pipe", "pipe", "pipe"] });
    let [printed, complained] = ["", ""];
    child.stderr.on("data", (data: Buffer) => (complained += String(data)));
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`Ray's cluster did not start: ${complained}`)));
      child.stdout.on("data", (data: Buffer) => {
        printed += String(data);
        if (printed.includes("}\n")) resolve();
      });
    });
    const line = printed.split("\n").find((each) => each.startsWith("{"))!;
    const { address, raylet, clients } = JSON.parse(line) as Pick<LocalRayCluster, "address" | "raylet" | "clients">;
    return new LocalRayCluster(address, raylet, clients, child);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin!.end();
    await ended;
  }
}
