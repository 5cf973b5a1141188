/** Serves the site, and rebuilds it when a source changes: `npm run site -- dev`. */
import { watch } from "node:fs";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { OUT } from "./build.js";
import { serve } from "./serve.js";

const root = resolve(import.meta.dirname, "..");
const WATCHED = ["docs", "examples", "site", "src"];

let isBuilding = false;
let isStale = false;

/** Builds in a separate process, which sees changed sources. */
function rebuild(): void {
  if (isBuilding) {
    isStale = true;
    return;
  }
  [isBuilding, isStale] = [true, false];
  const tsx = resolve(root, "node_modules/.bin/tsx");
  execFile(tsx, [resolve(root, "site/build.ts")], (error, stdout) => {
    console.log(error ? error.message : stdout.trim());
    isBuilding = false;
    if (isStale) rebuild();
  });
}

const { url } = await serve(OUT, "/", 4173);
console.log(`serving ${url}`);
for (const folder of WATCHED)
  watch(resolve(root, folder), { recursive: true }, (_, file) => {
    if (file && !/^(out|\.cache|node_modules)\b/.test(file)) rebuild();
  });
rebuild();
