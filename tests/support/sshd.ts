/** An OpenSSH server on the loopback interface, with separate keys, settings and home folder. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const SSHD = "/usr/sbin/sshd";
/** The original PATH, because tests replace it. */
const PATH = process.env["PATH"];

/** True if a server is installed; `.ci/run` installs Debian's openssh-server. */
export const hasSshd = existsSync(SSHD);

export interface SshdOptions {
  /** Environment variables of every session. */
  readonly env: Readonly<Record<string, string>>;
  /** Lines of bash that the login shell runs. */
  readonly login?: string;
}

export class Sshd {
  readonly #server: ChildProcess;

  private constructor(
    readonly folder: string,
    readonly port: number,
    server: ChildProcess,
  ) {
    this.#server = server;
  }

  /** Starts a server, and configures the alias `box` for it in the user's ssh. */
  static async start({ env, login = "" }: SshdOptions): Promise<Sshd> {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-sshd-"));
    const pathOf = (name: string) => join(folder, name);
    await mkdir(pathOf("home"));
    await mkdir(pathOf("bin"));
    await writeFile(pathOf("home/.bashrc"), login);
    for (const key of ["host", "user"])
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", pathOf(key)]);
    execFileSync("cp", [pathOf("user.pub"), pathOf("authorized")]);
    const port = await freePort();
    const environment = { HOME: pathOf("home"), BASH_ENV: pathOf("home/.bashrc"), ...env };
    const settings = [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${pathOf("host")}`,
      `AuthorizedKeysFile ${pathOf("authorized")}`,
      "PidFile none",
      "UsePAM no",
      "StrictModes no",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin yes",
      "Subsystem sftp internal-sftp",
      `SetEnv ${Object.entries(environment)
        .map(([name, value]) => `"${name}=${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`)
        .join(" ")}`,
    ];
    await writeFile(pathOf("sshd_config"), `${settings.join("\n")}\n`);
    // The alias precedes the user's settings, as in a typical ~/.ssh/config.
    const alias = ["Host box", "  HostName 127.0.0.1", `  Port ${port}`, `  User ${userInfo().username}`];
    const user = [
      `IdentityFile ${pathOf("user")}`,
      `UserKnownHostsFile ${pathOf("known")}`,
      "StrictHostKeyChecking accept-new",
    ];
    await writeFile(pathOf("ssh_config"), [...alias, "Host *", ...user.map((line) => `  ${line}`), ""].join("\n"));
    for (const program of ["ssh", "scp"]) {
      await writeFile(
        pathOf(`bin/${program}`),
        `#!/bin/sh\nexec /usr/bin/${program} -F '${pathOf("ssh_config")}' "$@"\n`,
      );
      await chmod(pathOf(`bin/${program}`), 0o755);
    }
    if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
    const server = spawn(SSHD, ["-D", "-e", "-f", pathOf("sshd_config")], { stdio: ["ignore", "ignore", "pipe"] });
    const stderr: string[] = [];
    server.stderr.on("data", (data: Buffer) => stderr.push(data.toString()));
    for (let elapsedMs = 0; !(await acceptsConnections(port)); elapsedMs += 50) {
      if (server.exitCode !== null || elapsedMs > 10_000) throw new Error(`sshd did not start: ${stderr.join("")}`);
      await sleep(50);
    }
    return new Sshd(folder, port, server);
  }

  /** PATH with the configured ssh first. */
  get path(): string {
    return [join(this.folder, "bin"), PATH].join(delimiter);
  }

  get home(): string {
    return join(this.folder, "home");
  }

  /** Kills the processes of its sessions, as if the network broke. */
  drop(): void {
    for (const pid of childrenOf(this.#server.pid!)) process.kill(pid, "SIGKILL");
  }

  async stop(): Promise<void> {
    this.drop();
    this.#server.kill("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const output = execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
    const direct = output.trim().split("\n").map(Number);
    return direct.flatMap((child) => [child, ...sessionsOf(child)]);
  } catch {
    return [];
  }
}

/** The session processes of sshd below a process, without their child processes. */
function sessionsOf(pid: number): readonly number[] {
  try {
    return execFileSync("pgrep", ["-P", String(pid), "-x", "sshd"], { encoding: "utf8" })
      .trim()
      .split("\n")
      .map(Number);
  } catch {
    return [];
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
