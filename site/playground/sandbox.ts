/** Workers in a sandboxed frame, for texts that the site must not trust. */
import type { Reply, Request } from "./protocol.js";

/** The part of `Worker` that `Runs` needs. */
export interface RunWorker {
  onmessage: ((event: MessageEvent<Reply>) => void) | null;
  postMessage(request: Request): void;
  terminate(): void;
}

export type SandboxRequest =
  /** Modules by file name, each after those that it imports. */
  | { readonly kind: "load"; readonly modules: readonly (readonly [name: string, text: string])[] }
  /** Has a port for the messages of the new worker. */
  | { readonly kind: "start" };

/** Adds the frame to the page. The result starts a worker in it. */
export function openSandbox(folder: URL): () => RunWorker {
  const frame = document.createElement("iframe");
  frame.sandbox.add("allow-scripts");
  frame.src = new URL("sandbox.html", folder).href;
  frame.title = "Runs the kernel";
  frame.hidden = true;
  const isLoaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  document.body.append(frame);
  // A frame without an origin has no address to name as the target.
  const post = (request: SandboxRequest, ports: MessagePort[] = []): void =>
    frame.contentWindow!.postMessage(request, "*", ports);
  const ready = Promise.all([modulesOf("worker.js", folder), isLoaded]).then(([modules]) =>
    post({ kind: "load", modules }),
  );
  return () => {
    const { port1, port2 } = new MessageChannel();
    void ready.then(() => post({ kind: "start" }, [port2]));
    return {
      set onmessage(listener: RunWorker["onmessage"]) {
        port1.onmessage = listener;
      },
      postMessage: (request) => port1.postMessage(request),
      terminate: () => {
        port1.postMessage(null);
        port1.onmessage = null;
      },
    };
  };
}

/** A module of the bundle after the modules that it imports. */
async function modulesOf(
  name: string,
  folder: URL,
  modules = new Map<string, string>(),
): Promise<readonly (readonly [string, string])[]> {
  const text = await (await fetch(new URL(name, folder))).text();
  for (const [, , imported] of text.matchAll(/\b(?:from|import)\s*(["'])\.\/([\w.-]+\.js)\1/g))
    if (!modules.has(imported!)) await modulesOf(imported!, folder, modules);
  modules.set(name, text);
  return [...modules];
}
