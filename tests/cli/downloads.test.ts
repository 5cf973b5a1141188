/** `tilescript setup` where a download breaks: real pip and real uv fetch small packages from a server of this test. */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { setup } from "../../src/runtime/worker/install-environment.js";
import { sampledTests } from "../support/sampled-tests.js";

sampledTests("downloads of an environment", "src/runtime/worker");

/** Enough that the half of it leaves the buffers of the connection before it breaks. */
const PAYLOAD = 4 << 20;

const MAKE_WHEEL = `
import os, sys, zipfile
name, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
info = f"{name}-1.0.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr(f"{name}/__init__.py", "answer = 42\\n")
    wheel.writestr(f"{name}/payload.bin", os.urandom(size))
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

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

async function wheel(name: string, size: number): Promise<void> {
  await execa("python3", ["-c", MAKE_WHEEL, name, join(folder, `${name}-1.0-py3-none-any.whl`), String(size)]);
}

/** A list of these packages, which only this test's server has. */
async function listOf(...names: readonly string[]): Promise<string> {
  const lock = join(folder, `${names.join("-")}.lock`);
  const { port } = server.address() as AddressInfo;
  const lines = [`--index-url http://127.0.0.1:${port}/simple/`, ...names.map((name) => `${name}==1.0`)];
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
  it("asks for the rest of a file whose connection broke", async () => {
    await wheel("probe_large", PAYLOAD);
    breaks = { probe_large: 2 };
    const python = await setup({
      lock: await listOf("probe_large"),
      isLarge: true,
      env: environment(process.env["PATH"]!),
      imports: ["probe_large"],
    });
    expect(await answerOf(python, "probe_large")).toBe("42");
    const [first, ...others] = sent;
    expect(first).toEqual({ name: "probe_large", range: undefined });
    expect(others).toHaveLength(2);
    for (const { range } of others) expect(range).toMatch(/^bytes=[1-9]\d+-$/);
  });
});

describe("setup with uv", { timeout: 180_000 }, () => {
  /** A folder with the real uv, kept for later runs. */
  async function uvFolder(): Promise<string> {
    const kept = join(import.meta.dirname, "../../node_modules/.cache/tilescript-uv");
    if (!existsSync(join(kept, "bin/uv"))) {
      await mkdir(kept, { recursive: true });
      await execa("python3", [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        kept,
        "uv",
      ]);
    }
    return join(kept, "bin");
  }

  it("installs with it where it is on the PATH, though a connection breaks", async () => {
    await wheel("probe_large", PAYLOAD);
    breaks = { probe_large: 1 };
    const lines: string[] = [];
    const python = await setup({
      lock: await listOf("probe_large"),
      env: environment(`${await uvFolder()}:${process.env["PATH"]}`),
      imports: ["probe_large"],
      onProgress: (line) => lines.push(line),
    });
    expect(await answerOf(python, "probe_large")).toBe("42");
    expect(sent.length).toBeGreaterThanOrEqual(2);
    const by = `from importlib.metadata import distribution; print(distribution("probe_large").read_text("INSTALLER"))`;
    expect((await execa(python, ["-c", by])).stdout.trim()).toBe("uv");
  });

  it("says what uv said where it fails", async () => {
    const options = {
      lock: await listOf("probe_absent"),
      env: environment(`${await uvFolder()}:${process.env["PATH"]}`),
    };
    await expect(setup(options)).rejects.toThrow(/uv pip install failed: .*probe.absent/s);
  });
});
