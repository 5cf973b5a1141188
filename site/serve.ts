/** Serves a folder as any static host does, below a path. */
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

export interface Served {
  /** Ends in a slash. */
  readonly url: string;
  close(): void;
}

/** `base` is the path that the folder appears below, such as `/some/where/`. */
export async function serve(folder: string, base = "/", port = 0): Promise<Served> {
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const inside = path.startsWith(base) ? normalize(`/${path.slice(base.length)}`) : undefined;
    const file = inside === undefined ? undefined : join(folder, inside.endsWith("/") ? `${inside}index.html` : inside);
    const answer = file === undefined ? Promise.reject(new Error("outside")) : readFile(file);
    answer.then(
      (content) =>
        response.writeHead(200, { "content-type": TYPES[extname(file!)] ?? "application/octet-stream" }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const { port: open } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${open}${base}`, close: () => server.close() };
}
