/** Checks the project's Python: style and format with ruff, types with pyright. It needs Node alone. Part of `npm run lint`. */
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

interface RuffDiagnostic {
  readonly code: string | null;
  readonly message: string;
  readonly start_location: { readonly row: number };
}

/**
 * Ruff's findings in the worker, in the runtime and in their tests. `python/pyproject.toml` and
 * `python/runtime/ruff.toml` have the same options for an editor.
 */
function ruffFindings(): readonly string[] {
  const lint = {
    select: ["E", "F", "I", "B", "UP", "RUF"],
    isort: { "known-first-party": ["runtime", "tilescript_worker"] },
  };
  const workspaceOf = (width: number, rules: object) =>
    new Workspace(
      { "line-length": width, "target-version": "py310", lint: { ...lint, ...rules } },
      PositionEncoding.Utf16,
    );
  const workspaces = {
    worker: workspaceOf(120, {}),
    runtime: workspaceOf(88, { "extend-select": ["BLE"], ignore: ["B905", "RUF005"] }),
  };
  return ["python", "tests/python"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".py"))
      .flatMap((name) => {
        const path = join(folder, name);
        // Emitted modules contain the functions of the runtime, and are formatted as ruff does by default.
        const workspace = name.startsWith("runtime/") ? workspaces.runtime : workspaces.worker;
        const text = readFileSync(join(root, path), "utf8");
        const ruffDiagnostics = workspace.check(text) as readonly RuffDiagnostic[];
        return [
          ...ruffDiagnostics.map(
            (each) => `${path}:${each.start_location.row}: ${each.code ?? "syntax"} ${each.message}`,
          ),
          ...(workspace.format(text) === text ? [] : [`${path}: is not formatted as ruff formats it`]),
        ];
      }),
  );
}

interface PyrightDiagnostic {
  readonly file: string;
  readonly message: string;
  readonly rule?: string;
  readonly range?: { readonly start: { readonly line: number } };
}

/** A package that the worker runs with, but that a clean clone need not have. */
const OUTSIDE = /^Import "(?:numpy|torch|triton|ray)[."]/;

/** Pyright's findings in the worker. Without a Python on PATH, pyright finds no installed packages. */
async function pyrightFindings(): Promise<readonly string[]> {
  const command = createRequire(import.meta.url).resolve("pyright/index.js");
  const output = await new Promise<string>((resolveOutput, fail) => {
    const args = [command, "--outputjson", "--project", join(root, "python")];
    execFile(process.execPath, args, { env: { PATH: "" }, maxBuffer: 2 ** 26 }, (error, stdout) =>
      stdout.startsWith("{") ? resolveOutput(stdout) : fail(error ?? new Error(`pyright printed ${stdout}`)),
    );
  });
  const { generalDiagnostics } = JSON.parse(output) as { generalDiagnostics: readonly PyrightDiagnostic[] };
  return generalDiagnostics
    .filter(({ rule, message }) => rule !== "reportMissingImports" || !OUTSIDE.test(message))
    .map(({ file, range, rule, message }) => {
      const line = range === undefined ? "" : `:${range.start.line + 1}`;
      return `${relative(root, file)}${line}: ${message}${rule === undefined ? "" : ` (${rule})`}`;
    });
}

const findings = [...ruffFindings(), ...(await pyrightFindings())];
for (const finding of findings) console.error(finding);
if (findings.length > 0) process.exitCode = 1;
