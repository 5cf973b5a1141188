/** `tilescript setup` where a download breaks: real pip and real uv fetch small packages from a server of this test. */
import { execa } from "execa";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { lockFile } from "../../src/runtime/worker/environment.js";
import { toolFolder } from "../support/pip.js";
import { writeWheel } from "../support/wheels.js";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("downloads of an environment", "src/runtime/worker");

/** Enough that the half of it leaves the buffers of the connection before it breaks. */
const PAYLOAD = 4 << 20;

let folder: string;
let server: Server;
/** For each answer with the bytes of a wheel: its name, and the range that was asked for. */
let sent: { readonly name: string; readonly range: string | undefined }[];
/** How often the connection breaks in the middle of each wheel from now on. */
let breaks: Record<string, number>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tilescript-downloads-"));
  [sent, breaks] = [[], {}];
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, kind, name = ""] = request.url!.split("/");
  const file = `${name.replaceAll("-", "_").replace(/_1\.0.*$/, "")}-1.0-py3-none-any.whl`;
  if (kind === "simple") {
    response.setHeader("content-type", "text/html");
    response.end(`<!DOCTYPE html><html><body><a href="/wheels/${file}">${file}</a></body></html>`);
    return;
  }
  const path = join(folder, name);
  if (kind !== "wheels" || !existsSync(path)) {
    response.statusCode = 404;
    response.end();
    return;
  }
  const bytes = await readFile(path);
  const package_ = name.split("-")[0]!;
  const { range } = request.headers;
  const from = range === undefined ? 0 : Number(/bytes=(\d+)-/.exec(range)![1]);
  const rest = bytes.subarray(from);
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": "application/octet-stream",
    "content-length": rest.length,
    "accept-ranges": "bytes",
    "cache-control": "max-age=86400",
    etag: `"${package_}"`,
    ...(range !== undefined && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
  });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  sent.push({ name: package_, range });
  if ((breaks[package_] ?? 0) === 0) {
    response.end(rest);
    return;
  }
  breaks[package_]!--;
  response.write(rest.subarray(0, rest.length / 2), () => setTimeout(() => response.destroy(), 100));
}

/** Writes a wheel for the server. */
const probe = (): Promise<string> => writeWheel(folder, "probe_large", "1.0", PAYLOAD);

/** A lock of this package, which only this test's server has; without a wheel, its hash is of nothing. */
async function lockOf(name: string, wheel?: string, ...others: readonly string[]): Promise<string> {
  const lock = join(folder, `${name}.lock`);
  const { port } = server.address() as AddressInfo;
  const hash = createHash("sha256").update(wheel === undefined ? "" : await readFile(wheel));
  // `others` come from PyPI.
  const index = `--${others.length > 0 ? "extra-" : ""}index-url http://127.0.0.1:${port}/simple/`;
  const lines = [index, `${name}==1.0 --hash=sha256:${hash.digest("hex")}`, ...others];
  await writeFile(lock, `${lines.join("\n")}\n`);
  return lock;
}

/** This machine's environment, with caches and a home of the test's own, and uv where it is to be found. */
function environment(path: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: path,
    HOME: folder,
    XDG_CACHE_HOME: join(folder, "cache"),
    PIP_CACHE_DIR: join(folder, "pip"),
    UV_CACHE_DIR: join(folder, "uv"),
    UV_NO_CONFIG: "1",
  };
}

const answerOf = async (python: string, name: string): Promise<string> =>
  (await execa(python, ["-c", `import ${name}; print(${name}.answer)`])).stdout;

describe("setup with pip", { timeout: 180_000 }, () => {
  const env = () => environment(process.env["PATH"]!);

  it("asks for the rest of a file whose connection broke, with the pip of the lock", async () => {
    const pip = /^pip==.*(?:\n .*)*/m.exec(await readFile(lockFile, "utf8"))![0];
    const lock = await lockOf("probe_large", await probe(), pip);
    breaks = { probe_large: 2 };
    const python = await setup({ lock, env: env(), imports: ["probe_large"] });
    expect(await answerOf(python, "probe_large")).toBe("42");
    const [first, ...others] = sent;
    expect(first).toEqual({ name: "probe_large", range: undefined });
    expect(others).toHaveLength(2);
    for (const { range } of others) expect(range).toMatch(/^bytes=[1-9]\d+-$/);
    const { stdout } = await execa(python, ["-m", "pip", "--version"]);
    expect(stdout.split(" ")[1]).toBe(/^pip==(\S+)/.exec(pip)![1]);
  });

  it("refuses a file with another hash, and one without a hash", async () => {
    await probe();
    const lock = await lockOf("probe_large");
    await expect(setup({ lock, env: env() })).rejects.toThrow(/pip install failed: .*Expected sha256.*Got/s);
    await writeFile(lock, (await readFile(lock, "utf8")).replace(/ --hash=.*/, ""));
    await expect(setup({ lock, env: env() })).rejects.toThrow(
      /pip install failed: .*probe_large==1\.0 --hash=sha256:/s,
    );
  });
});

describe("setup with uv", { timeout: 180_000 }, () => {
  const env = async () => environment(`${await toolFolder("uv")}:${process.env["PATH"]}`);

  it("installs with it where it is on the PATH, though a connection breaks", async () => {
    const lock = await lockOf("probe_large", await probe());
    breaks = { probe_large: 1 };
    const python = await setup({ lock, env: await env(), imports: ["probe_large"] });
    expect(await answerOf(python, "probe_large")).toBe("42");
    expect(sent.length).toBeGreaterThanOrEqual(2);
    const by = `from importlib.metadata import distribution; print(distribution("probe_large").read_text("INSTALLER"))`;
    expect((await execa(python, ["-c", by])).stdout.trim()).toBe("uv");
  });

  it("refuses a file with another hash, and one without a hash", async () => {
    await probe();
    const lock = await lockOf("probe_large");
    await expect(setup({ lock, env: await env() })).rejects.toThrow(/uv pip install failed: .*sha256:/s);
    await writeFile(lock, (await readFile(lock, "utf8")).replace(/ --hash=.*/, ""));
    await expect(setup({ lock, env: await env() })).rejects.toThrow(
      /uv pip install failed: .*hash.*probe-large==1\.0/s,
    );
  });

  it("says what uv said where it fails", async () => {
    const options = { lock: await lockOf("probe_absent"), env: await env() };
    await expect(setup(options)).rejects.toThrow(/uv pip install failed: .*probe.absent/s);
  });
});
