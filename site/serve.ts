/** Serves a folder like any static host, below a path. */
import { createServer, type Server } from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".txt": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
};

export interface StaticServer {
  /** Ends in a slash. */
  readonly url: string;
  close(): void;
}

/** `base` is the URL path of the folder, such as `/some/where/`. */
export async function serve(folder: string, base = "/", port = 0): Promise<StaticServer> {
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const relativePath = path.startsWith(base) ? normalize(`/${path.slice(base.length)}`) : undefined;
    const file =
      relativePath === undefined
        ? undefined
        : join(folder, relativePath.endsWith("/") ? `${relativePath}index.html` : relativePath);
    const answer = file === undefined ? Promise.reject(new Error("outside")) : readFile(file);
    answer.then(
      (content) =>
        response.writeHead(200, { "content-type": TYPES[extname(file!)] ?? "application/octet-stream" }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: actualPort } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${actualPort}${base}`, close: () => server.close() };
}
