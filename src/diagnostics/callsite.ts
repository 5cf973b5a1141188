/**
 * Locations of calls in the author's code. Node maps `Error.stack` strings back to TypeScript (under tsx, vitest and
 * `--enable-source-maps`), but that costs 20–90 µs a stack, and raw CallSite objects are not mapped. The raw frame is
 * cheap to get, so it is the key of a cache: the mapped string is read once per call site.
 */
import type { Location } from "./diagnostic.js";

/** True for a file of the library, false for the author's. */
export type IsLibraryFile = (file: string) => boolean;

/**
 * Limits on the depth of the stack. Each frame costs about 1 µs, and for most calls one of the first 4 is the author's.
 */
const FEW_FRAMES = 4;
const MANY_FRAMES = 40;

/** The innermost location in the author's code that led to this call, or undefined if there is none. */
export function captureLocation(isLibraryFile: IsLibraryFile = isTileScript): Location | undefined {
  for (const limit of [FEW_FRAMES, 2 * FEW_FRAMES, MANY_FRAMES]) {
    const frames = stackOf(limit, captureLocation, rawFrames);
    // The engine has no CallSite objects.
    if (!Array.isArray(frames)) return withProperty(authorFrame(stackOf(MANY_FRAMES, captureLocation), isLibraryFile));
    const index = findAuthor(frames, isLibraryFile);
    if (index === undefined) continue;
    const cache = cacheOf(isLibraryFile);
    const frame: NodeJS.CallSite = frames[index];
    const key = `${fileOf(frame)}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;
    // Deeper frames than the author's are not requested, because mapping each costs time.
    const location = cache.get(key) ?? authorFrame(stackOf(index + 1, captureLocation), isLibraryFile);
    if (location) cache.set(key, location);
    return location;
  }
  return undefined;
}

/** The innermost location of an error in the author's code. */
export const locationOfError = ({ stack }: Error): Location | undefined => authorFrame(stack, isTileScript);

let propertyBeingRead: string | undefined;

/** Calls a property's getter. Only V8 reports the location of the property itself. */
export function whileReading<T>(property: string, get: () => T): T {
  const outer = propertyBeingRead;
  propertyBeingRead = property;
  try {
    return get();
  } finally {
    propertyBeingRead = outer;
  }
}

const withProperty = (location: Location | undefined): Location | undefined =>
  location && propertyBeingRead !== undefined ? { ...location, property: propertyBeingRead } : location;

const rawFrames = (_error: Error, frames: NodeJS.CallSite[]): NodeJS.CallSite[] => frames;

/** The stack below `callee`: the result of `prepare`, otherwise the engine's (source-mapped) string. */
function stackOf(limit: number, callee: Function, prepare?: typeof rawFrames): unknown {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = limit;
  if (prepare) Error.prepareStackTrace = prepare;
  try {
    const holder: { stack?: unknown } = {};
    if (typeof Error.captureStackTrace !== "function") return new Error().stack;
    Error.captureStackTrace(holder, callee);
    return holder.stack;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepare) Object.assign(Error, { prepareStackTrace });
  }
}

/** The file of a frame, or the `//# sourceURL` of code that a page created. */
function fileOf(frame: NodeJS.CallSite): string {
  return frame.getScriptNameOrSourceURL?.() || (frame.getFileName() ?? "");
}

/** The index of the first frame outside the library, before source maps. */
function findAuthor(frames: readonly NodeJS.CallSite[], isLibraryFile: IsLibraryFile): number | undefined {
  const index = frames.findIndex((frame) => {
    const file = normalize(fileOf(frame));
    return file !== undefined && !isLibraryFile(file);
  });
  return index < 0 ? undefined : index;
}

/** The first location outside the library. */
function authorFrame(stack: unknown, isLibraryFile: IsLibraryFile): Location | undefined {
  for (const line of String(stack).split("\n")) {
    const location = parseFrame(line);
    if (location && !isLibraryFile(location.file)) return location;
  }
  return undefined;
}

const parsedFrames = new Map<string, Location | undefined>();

/**
 * Parses one line of a V8 stack: `at f (file:1:2)`, `at new X (…)`, `at Object.m [as n] (…)`, `at async f (…)`, `at
 * file:1:2`; or of a stack in Firefox and Safari: `f@file:1:2`. Undefined for lines that name no file: natives, `node:`
 * internals, evaluated code.
 */
export function parseFrame(line: string): Location | undefined {
  if (parsedFrames.has(line)) return parsedFrames.get(line);
  const match = line.includes("(eval at ")
    ? undefined
    : (/^\s*at (?:async )?.*? \((?<file>.+):(?<line>\d+):(?<column>\d+)\)$/.exec(line) ??
      /^\s*at (?:async )?(?<file>.+):(?<line>\d+):(?<column>\d+)$/.exec(line) ??
      /^[^@\s]*@(?<file>.+):(?<line>\d+):(?<column>\d+)$/.exec(line));
  const groups = match?.groups;
  const file = normalize(groups?.file ?? "");
  const frame =
    groups && file !== undefined ? { file, line: Number(groups.line), column: Number(groups.column) } : undefined;
  parsedFrames.set(line, frame);
  return frame;
}

const normalizedFiles = new Map<string, string | undefined>();

/**
 * The file of a stack frame as a path with forward slashes. A URL other than `file:` stays a URL. Undefined for
 * internals.
 */
function normalize(file: string): string | undefined {
  if (normalizedFiles.has(file)) return normalizedFiles.get(file);
  let path: string | undefined;
  if (file.startsWith("file://")) path = decodeURIComponent(file.slice("file://".length).replace(/[?#].*$/, ""));
  else if (/^(?:[a-zA-Z]:[\\/]|\/|https?:\/\/)/.test(file)) path = file.replace(/\?[^/]*$/, "");
  const [, drivePath] = /^\/?([a-zA-Z]:[\\/].*)$/.exec(path ?? "") ?? [];
  if (drivePath !== undefined) path = drivePath.replaceAll("\\", "/");
  normalizedFiles.set(file, path);
  return path;
}

const THIS_FILE = normalize(import.meta.url);
/**
 * The package's folder: of its sources, of the compiled files, or of the modules that `npm pack` bundles. Undefined in
 * an author's bundle: then only this file, with everything bundled into it, belongs to the library.
 */
const PACKAGE =
  THIS_FILE &&
  /^(.*\/)(?:(?:src|dist)\/diagnostics\/callsite|dist\/tilescript-modules\/[^/]+)\.[cm]?[jt]s$/.exec(THIS_FILE)?.[1];
const isLibraryByFile = new Map<string, boolean>();

/** True for a file of the library. */
export function isTileScript(file: string): boolean {
  if (PACKAGE === undefined) return file === THIS_FILE;
  let isLibrary = isLibraryByFile.get(file);
  if (isLibrary === undefined) {
    isLibrary = ["src", "dist", "bin"].some((folder) => file.startsWith(`${PACKAGE}${folder}/`));
    isLibraryByFile.set(file, isLibrary);
  }
  return isLibrary;
}

const cachesByPredicate = new WeakMap<IsLibraryFile, Map<string, Location>>();

function cacheOf(isLibraryFile: IsLibraryFile): Map<string, Location> {
  let cache = cachesByPredicate.get(isLibraryFile);
  if (!cache) cachesByPredicate.set(isLibraryFile, (cache = new Map()));
  return cache;
}
