/** `ssh:user@host:port/python`: a machine that the user's own ssh reaches, and how ssh is called for it. */
import { UsageError } from "../system/errors.js";

export interface SshAddress {
  /** A name or an address, or an alias of the user's ssh config. */
  readonly host: string;
  readonly user?: string;
  readonly port?: number;
  /** The Python there: a path, absolute or from `~/`, or a command on the PATH there. Default: it is looked for. */
  readonly python?: string;
}

const form = "write ssh:HOST, or ssh:USER@HOST:PORT/PYTHON";

/**
 * ssh gives these to a shell where the user's config says `ProxyCommand … %h` or `Match exec`, so nothing that a shell
 * reads may stand in them.
 */
const HOST = /^(?:[\p{L}\p{N}_][\p{L}\p{N}_.+-]*|\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\])$/u;
const USER = /^[\p{L}\p{N}_][\p{L}\p{N}_.+@-]*$/u;

/** Reads what follows `ssh:`. Throws UsageError. */
export function parseSshAddress(text: string): SshAddress {
  const slash = text.indexOf("/");
  const place = slash < 0 ? text : text.slice(0, slash);
  const at = place.lastIndexOf("@");
  const [, host = "", , digits] = /^(\[.*\]|[^:]*)(:(.*))?$/s.exec(place.slice(at + 1)) ?? [];
  const user = at < 0 ? undefined : place.slice(0, at);
  if (!HOST.test(host))
    throw new UsageError(
      `ssh:${text}: ${JSON.stringify(host)} is no host; ${form}, where HOST is a name of letters, digits, ".", "_" and "-", or an alias of your ssh config`,
    );
  if (user !== undefined && !USER.test(user))
    throw new UsageError(`ssh:${text}: ${JSON.stringify(user)} is no user's name; ${form}`);
  if (digits !== undefined && !(/^\d{1,5}$/.test(digits) && Number(digits) >= 1 && Number(digits) <= 65_535))
    throw new UsageError(`ssh:${text}: ${JSON.stringify(digits)} is no port; ${form}`);
  const python = slash < 0 ? undefined : pythonOf(text, text.slice(slash));
  return {
    host: host.replace(/^\[|\]$/g, ""),
    ...(user !== undefined && { user }),
    ...(digits !== undefined && { port: Number(digits) }),
    ...(python !== undefined && { python }),
  };
}

/** `/opt/venv/bin/python`, `~/venv/bin/python` of `/~/venv/bin/python`, `python3.12` of `/python3.12`. */
function pythonOf(text: string, rest: string): string {
  const path = rest.slice(1);
  // eslint-disable-next-line no-control-regex
  if (path === "" || /[\u0000-\u001f\u007f]/.test(path))
    throw new UsageError(`ssh:${text}: no Python is named after the "/"; ${form}`);
  if (path.startsWith("~/") || !path.includes("/")) return path;
  return path.startsWith("/") ? path : rest;
}

/** The machine in messages. */
export function addressText({ host, user, port }: SshAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${user === undefined ? "" : `${user}@`}${name}${port === undefined ? "" : `:${port}`}`;
}

/** The program and its arguments for a command there. `--` ends the options, and a host can't begin with `-`. */
export function sshCommand(address: SshAddress, command: string): readonly [string, ...string[]] {
  const options = ["RemoteCommand=none", "ServerAliveInterval=15", "ServerAliveCountMax=4"];
  return ["ssh", "-T", ...options.flatMap((option) => ["-o", option]), ...destination(address), command];
}

/** ssh's arguments that name a machine, in front of a command. */
export function destination({ host, user, port }: SshAddress): readonly string[] {
  const given = [...(port === undefined ? [] : ["-p", String(port)]), ...(user === undefined ? [] : ["-l", user])];
  return [...given, "--", host];
}

/** Reads a program from its standard input, after a line with its length in bytes. */
const READ = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))";

/**
 * The command line there that starts the agent. The user's login shell reads it, which may be fish or csh: one word
 * between single quotes for `sh`, without a quote, an exclamation mark or a line break in it.
 */
export function agentCommand(python: string | undefined): string {
  const choose =
    python === undefined
      ? `p=python3; command -v python3 >/dev/null 2>&1 || p=python; exec "$p"`
      : `exec ${python.startsWith("~/") ? `"$HOME/$(printf %b "${octal(python.slice(2))}")"` : `"$(printf %b "${octal(python)}")"`}`;
  return `sh -c '${choose} -c "${READ}"'`;
}

const octal = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
