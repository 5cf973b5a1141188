/** Unsaved texts of an editor, which a process reads in place of the files on disk. */
import fs from "node:fs";
import module from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Texts by absolute path. */
export type Texts = Readonly<Record<string, string>>;

/**
 * Hooks of Node's module loader, as a separate module, because older versions of Node run them in another thread. Node
 * itself reads CommonJS modules, which have no source here, with `readFileSync`.
 */
const HOOKS = `
let texts;
export const initialize = (data) => void (texts = data);
export function load(url, context, nextLoad) {
  const text = texts[url.replace(/[?#].*/, "")];
  const withText = (loaded) => (text === undefined || loaded.source == null ? loaded : { ...loaded, source: text });
  const loaded = nextLoad(url, context);
  return loaded instanceof Promise ? loaded.then(withText) : withText(loaded);
}`;

/** Must precede the registration of tsx, whose hooks call earlier ones. */
export async function readUnsavedTexts(texts: Texts): Promise<void> {
  const textsByUrl = Object.fromEntries(Object.entries(texts).map(([path, text]) => [pathToFileURL(path).href, text]));
  const url = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
  if ("registerHooks" in module && typeof module.registerHooks === "function") {
    const { initialize, load } = await import(url);
    initialize(textsByUrl);
    module.registerHooks({ load });
  } else {
    module.register(url, { data: textsByUrl });
  }
  replaceReads(texts);
}

/** Replaces the function with which TypeScript's parser, tsx and Node's CommonJS loader read files. */
function replaceReads(texts: Texts): void {
  const { readFileSync } = fs;
  const readTextOrFile = (...[path, options]: Parameters<typeof readFileSync>): string | Buffer => {
    const text = texts[path instanceof URL ? fileURLToPath(path) : String(path)];
    if (text === undefined) return readFileSync(path, options);
    const encoding = typeof options === "string" ? options : options?.encoding;
    return encoding ? text : Buffer.from(text);
  };
  Object.assign(fs, { readFileSync: readTextOrFile });
  module.syncBuiltinESMExports();
}
