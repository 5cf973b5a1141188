/** Addresses of other machines: `ssh:user@host:port/python`, with its ssh command lines, and `ray:ADDRESS`. */
import { UsageError } from "../system/errors.js";

export interface SshAddress {
  /** A host name, an address, or an alias of the user's ssh config. */
  readonly host: string;
  readonly user?: string;
  readonly port?: number;
  /** The Python there: a path, absolute or from `~/`, or a command on PATH. Default: the first one that is found. */
  readonly python?: string;
}

const SYNTAX = "write ssh:HOST, or ssh:USER@HOST:PORT/PYTHON";

/**
 * ssh passes host and user to a shell if the user's config has `ProxyCommand … %h` or `Match exec`, so these patterns
 * exclude shell metacharacters.
 */
const HOST = /^(?:[\p{L}\p{N}_][\p{L}\p{N}_.+-]*|\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\])$/u;
const USER = /^[\p{L}\p{N}_][\p{L}\p{N}_.+@-]*$/u;

/** Parses the text after `ssh:`. Throws UsageError. */
export function parseSshAddress(text: string): SshAddress {
  const slash = text.indexOf("/");
  const authority = slash < 0 ? text : text.slice(0, slash);
  const atIndex = authority.lastIndexOf("@");
  const [, host = "", , digits] = /^(\[.*\]|[^:]*)(:(.*))?$/s.exec(authority.slice(atIndex + 1)) ?? [];
  const user = atIndex < 0 ? undefined : authority.slice(0, atIndex);
  if (!HOST.test(host))
    throw new UsageError(
      `ssh:${text}: ${JSON.stringify(host)} is no host; ${SYNTAX}, where HOST is a name of letters, digits, ".", "_" and "-", or an alias of your ssh config`,
    );
  if (user !== undefined && !USER.test(user))
    throw new UsageError(`ssh:${text}: ${JSON.stringify(user)} is no user's name; ${SYNTAX}`);
  if (digits !== undefined && !(/^\d{1,5}$/.test(digits) && Number(digits) >= 1 && Number(digits) <= 65_535))
    throw new UsageError(`ssh:${text}: ${JSON.stringify(digits)} is no port; ${SYNTAX}`);
  const python = slash < 0 ? undefined : pythonOf(text, text.slice(slash));
  return {
    host: host.replace(/^\[|\]$/g, ""),
    ...(user !== undefined && { user }),
    ...(digits !== undefined && { port: Number(digits) }),
    ...(python !== undefined && { python }),
  };
}

/**
 * `/opt/venv/bin/python` stays, `/~/venv/bin/python` becomes `~/venv/bin/python`, and `/python3.12` becomes
 * `python3.12`.
 */
function pythonOf(text: string, pathText: string): string {
  const path = pathText.slice(1);
  // eslint-disable-next-line no-control-regex
  if (path === "" || /[\u0000-\u001f\u007f]/.test(path))
    throw new UsageError(`ssh:${text}: no Python is named after the "/"; ${SYNTAX}`);
  if (path.startsWith("~/") || !path.includes("/")) return path;
  return path.startsWith("/") ? path : pathText;
}

/** The name of the machine in messages. */
export function addressText({ host, user, port }: SshAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${user === undefined ? "" : `${user}@`}${name}${port === undefined ? "" : `:${port}`}`;
}

/** The local command line that runs a command there. `--` ends the options, and a host cannot begin with `-`. */
export function sshCommand(address: SshAddress, command: string): readonly [string, ...string[]] {
  const options = ["RemoteCommand=none", "ServerAliveInterval=15", "ServerAliveCountMax=4"];
  return ["ssh", "-T", ...options.flatMap((option) => ["-o", option]), ...destination(address), command];
}

/** The ssh arguments that select a machine, before a command. */
export function destination({ host, user, port }: SshAddress): readonly string[] {
  const options = [...(port === undefined ? [] : ["-p", String(port)]), ...(user === undefined ? [] : ["-l", user])];
  return [...options, "--", host];
}

/** A Python program that executes a script from its standard input, after a line with the length in bytes. */
const BOOTSTRAP = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))";

/**
 * The remote command line that starts the agent. The user's login shell parses it, which may be fish or csh. So it is
 * one single-quoted word for `sh`, without a quote, an exclamation mark or a line break in it.
 */
export function agentCommand(python: string | undefined): string {
  const choose =
    python === undefined
      ? `p=python3; command -v python3 >/dev/null 2>&1 || p=python; exec "$p"`
      : `exec ${python.startsWith("~/") ? `"$HOME/$(printf %b "${octal(python.slice(2))}")"` : `"$(printf %b "${octal(python)}")"`}`;
  return `sh -c '${choose} -c "${BOOTSTRAP}"'`;
}

const octal = (text: string): string =>
  Array.from(Buffer.from(text), (byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");

// `ray:ADDRESS`: a Ray cluster, by Ray's own addresses.

const HOST_AND_PORT = String.raw`(?:[\p{L}\p{N}_][\p{L}\p{N}_.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5}`;
/** A cluster with this machine as a node, found automatically or by the address of its head node. */
const NODE = new RegExp(`^(?:auto|${HOST_AND_PORT})$`, "u");
/** A cluster without this machine, by the address of the client server on its head node. */
const CLIENT = new RegExp(`^//${HOST_AND_PORT}$`, "u");

/** Parses the text after `ray:` into Ray's address. Throws UsageError. */
export function parseRayAddress(text: string): string {
  if (NODE.test(text)) return text;
  if (CLIENT.test(text)) return `ray:${text}`;
  throw new UsageError(
    `ray:${text} names no cluster; write ray:auto for the one that this machine is a node of, ray:HOST:6379 with its head node, or ray://HOST:10001 from a machine outside it`,
  );
}
