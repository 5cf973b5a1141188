/**
 * The script of the sandboxed frame, which starts the workers that run the reader's text. The frame has no origin, and
 * its policy lets its workers reach no address.
 */
import type { SandboxRequest } from "./sandbox.js";

let entry = "";

addEventListener("message", ({ source, data, ports: [port] }: MessageEvent<SandboxRequest>) => {
  if (source !== parent) return;
  if (data.kind === "load") entry = urlOf(data.modules);
  else if (port) start(port);
});

/** A worker that exchanges messages with the page through a port, and ends on `null`. */
function start(port: MessagePort): void {
  // Chromium starts no module worker in a frame without an origin, but a classic one may import modules.
  const worker = new Worker(addressOf(`import(${JSON.stringify(entry)})`));
  worker.onmessage = ({ data }) => {
    // The first message says that the module is loaded. Messages to a worker without a listener are lost.
    port.onmessage ??= ({ data: request }) => {
      if (request === null) worker.terminate();
      else worker.postMessage(request);
    };
    port.postMessage(data);
  };
}

const addressOf = (script: string): string => URL.createObjectURL(new Blob([script], { type: "text/javascript" }));

/** The address of the last module. A frame without an origin cannot import from the site, so modules get addresses here. */
function urlOf(modules: readonly (readonly [name: string, text: string])[]): string {
  const urls = new Map<string, string>();
  for (const [name, text] of modules) {
    const linkedText = text.replaceAll(/(["'])\.\/([\w.-]+\.js)\1/g, (quoted, _, target: string) =>
      urls.has(target) ? JSON.stringify(urls.get(target)) : quoted,
    );
    urls.set(name, addressOf(linkedText));
  }
  return [...urls.values()].at(-1)!;
}
