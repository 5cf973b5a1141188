/** A real OpenSSH server on the loopback interface, with keys, settings and a home folder of its own. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const SSHD = "/usr/sbin/sshd";
/** Tests put another one in its place. */
const PATH = process.env["PATH"];

/** Whether there is a server to test with; `.ci/run` installs Debian's openssh-server. */
export const hasSshd = existsSync(SSHD);

export interface SshdOptions {
  /** Environment variables of every session there. */
  readonly env: Readonly<Record<string, string>>;
  /** What the shell there runs at login: lines of bash. */
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

  /** Starts a server, with a user's ssh that knows it as `box`. */
  static async start({ env, login = "" }: SshdOptions): Promise<Sshd> {
    const folder = await mkdtemp(join(tmpdir(), "tilescript-sshd-"));
    const at = (name: string) => join(folder, name);
    await mkdir(at("home"));
    await mkdir(at("bin"));
    await writeFile(at("home/.bashrc"), login);
    for (const key of ["host", "user"]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(key)]);
    execFileSync("cp", [at("user.pub"), at("authorized")]);
    const port = await freePort();
    const given = { HOME: at("home"), BASH_ENV: at("home/.bashrc"), ...env };
    const settings = [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${at("host")}`,
      `AuthorizedKeysFile ${at("authorized")}`,
      "PidFile none",
      "UsePAM no",
      "StrictModes no",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin yes",
      "Subsystem sftp internal-sftp",
      `SetEnv ${Object.entries(given)
        .map(([name, value]) => `"${name}=${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`)
        .join(" ")}`,
    ];
    await writeFile(at("sshd_config"), `${settings.join("\n")}\n`);
    // Its alias has the user's settings, as in anybody's ~/.ssh/config.
    const alias = ["Host box", "  HostName 127.0.0.1", `  Port ${port}`, `  User ${userInfo().username}`];
    const user = [
      `IdentityFile ${at("user")}`,
      `UserKnownHostsFile ${at("known")}`,
      "StrictHostKeyChecking accept-new",
    ];
    await writeFile(at("ssh_config"), [...alias, "Host *", ...user.map((line) => `  ${line}`), ""].join("\n"));
    for (const program of ["ssh", "scp"]) {
      await writeFile(at(`bin/${program}`), `#!/bin/sh\nexec /usr/bin/${program} -F '${at("ssh_config")}' "$@"\n`);
      await chmod(at(`bin/${program}`), 0o755);
    }
    if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
    const server = spawn(SSHD, ["-D", "-e", "-f", at("sshd_config")], { stdio: ["ignore", "ignore", "pipe"] });
    const said: string[] = [];
    server.stderr.on("data", (data: Buffer) => said.push(data.toString()));
    for (let waited = 0; !(await answers(port)); waited += 50) {
      if (server.exitCode !== null || waited > 10_000) throw new Error(`sshd did not start: ${said.join("")}`);
      await sleep(50);
    }
    return new Sshd(folder, port, server);
  }

  /** The user's PATH, with that ssh first. */
  get path(): string {
    return [join(this.folder, "bin"), PATH].join(delimiter);
  }

  get home(): string {
    return join(this.folder, "home");
  }

  /** Ends the processes of its sessions, as a network does that breaks. */
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
    const found = execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
    const direct = found.trim().split("\n").map(Number);
    return direct.flatMap((child) => [child, ...sessionsOf(child)]);
  } catch {
    return [];
  }
}

/** sshd's own processes below one of them, without what they started. */
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

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
