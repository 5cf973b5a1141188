/** The two editors: TypeScript with the types of TileScript, and Python beside it. */
import * as monaco from "monaco-editor/editor/editor.api.js";
import "monaco-editor/features/register.all.js";
import "monaco-editor/languages/definitions/python/register.js";
import "monaco-editor/languages/definitions/typescript/register.js";
import {
  getTypeScriptWorker as typesWorker,
  typescriptDefaults,
} from "monaco-editor/languages/features/typescript/register.js";
import type { Mark } from "./protocol.js";

const LIBRARY = "file:///node_modules/tilescript/";

let start = (): void => undefined;
const mayStart = new Promise<void>((resolve) => (start = resolve));

/** Lets the types load. They take a core for a second or more, which the first kernel needs. */
export const startTypes = (): void => start();

Object.assign(self, {
  MonacoEnvironment: {
    getWorker: async (_: string, label: string) => {
      const isTypes = label === "typescript";
      if (isTypes) await mayStart;
      return new Worker(new URL(isTypes ? "./ts.worker.js" : "./editor.worker.js", import.meta.url), {
        type: "module",
      });
    },
  },
});

export interface Editors {
  readonly text: monaco.editor.IStandaloneCodeEditor;
  readonly python: monaco.editor.IStandaloneCodeEditor;
}

/** `declarations` are those of the package by path; `files` are texts that the edited one may import. */
export function createEditors(
  containers: { readonly text: HTMLElement; readonly python: HTMLElement },
  declarations: Readonly<Record<string, string>>,
): Editors {
  for (const [path, text] of Object.entries(declarations)) typescriptDefaults.addExtraLib(text, LIBRARY + path);
  typescriptDefaults.setCompilerOptions({
    target: 99,
    module: 99,
    moduleResolution: 2,
    lib: ["es2023"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
    allowNonTsExtensions: true,
    baseUrl: "file:///",
    paths: { tilescript: [`${LIBRARY}browser.d.ts`] },
  });
  typescriptDefaults.setEagerModelSync(true);
  const options: monaco.editor.IStandaloneEditorConstructionOptions = {
    automaticLayout: true,
    minimap: { enabled: false },
    fontSize: 13,
    scrollBeyondLastLine: false,
    fixedOverflowWidgets: true,
    lineNumbersMinChars: 3,
    stickyScroll: { enabled: false },
    padding: { top: 8 },
  };
  const model = monaco.editor.createModel("", "typescript", monaco.Uri.parse("file:///kernel.ts"));
  const text = monaco.editor.create(containers.text, { ...options, model, ariaLabel: "Kernel in TypeScript" });
  const python = monaco.editor.create(containers.python, {
    ...options,
    language: "python",
    readOnly: true,
    domReadOnly: true,
    ariaLabel: "Emitted Python",
  });
  return { text, python };
}

/** Shows another Python. It stays scrolled where the reader is, or begins at the kernel. */
export function showPython({ python }: Editors, text: string, isOtherKernel: boolean): void {
  const top = python.getScrollTop();
  python.setValue(text);
  const start = 1 + text.split("\n").findIndex((line) => /^@triton\.(jit|autotune)/.test(line));
  python.setScrollTop(isOtherKernel ? python.getTopForLineNumber(Math.max(1, start)) : top);
}

/** Makes other texts known to the editor, so that imports of them have types. */
export function addFiles(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) typescriptDefaults.addExtraLib(text, `file:///${name}`);
}

export function setDark(isDark: boolean): void {
  monaco.editor.setTheme(isDark ? "vs-dark" : "vs");
}

const SEVERITY = {
  error: monaco.MarkerSeverity.Error,
  finding: monaco.MarkerSeverity.Error,
  refuted: monaco.MarkerSeverity.Error,
  warning: monaco.MarkerSeverity.Warning,
  proof: monaco.MarkerSeverity.Info,
} as const;

/** Shows messages at their locations in the text; one without a location is shown on the first line. */
export function showMarks({ text }: Editors, marks: readonly Mark[]): void {
  const model = text.getModel()!;
  const markers = marks.map(({ kind, code, message, at }) => {
    const [lineNumber, column] = at?.file === "kernel.ts" ? [at.line, at.column] : [1, 1];
    const word = lineNumber <= model.getLineCount() ? model.getWordAtPosition({ lineNumber, column }) : null;
    return {
      severity: SEVERITY[kind],
      source: kind,
      code,
      message,
      startLineNumber: lineNumber,
      startColumn: column,
      endLineNumber: lineNumber,
      endColumn: word?.endColumn ?? column + 1,
    };
  });
  monaco.editor.setModelMarkers(model, "tilescript", markers);
}

/** Highlights the lines of one editor that correspond to the cursor's line in the other. */
export function linkLines({ text, python }: Editors): (lines: readonly (number | null)[]) => void {
  let lineOf: readonly (number | null)[] = [];
  const decorations = { text: text.createDecorationsCollection(), python: python.createDecorationsCollection() };
  const decorationOf = (line: number) => ({
    range: new monaco.Range(line, 1, line, 1),
    options: { isWholeLine: true, className: "linked-line" },
  });
  const show = (line: number | null, isFromText: boolean): void => {
    const pythonLines = lineOf.flatMap((each, i) => (line !== null && each === line ? [i + 1] : []));
    const [firstLine] = pythonLines;
    decorations.text.set(firstLine === undefined || line === null ? [] : [decorationOf(line)]);
    decorations.python.set(pythonLines.map(decorationOf));
    if (firstLine === undefined || line === null) return;
    if (isFromText) python.revealLineInCenterIfOutsideViewport(firstLine);
    else text.revealLineInCenterIfOutsideViewport(line);
  };
  text.onDidChangeCursorPosition(({ position }) => text.hasTextFocus() && show(position.lineNumber, true));
  python.onDidChangeCursorPosition(
    ({ position }) => python.hasTextFocus() && show(lineOf[position.lineNumber - 1] ?? null, false),
  );
  return (lines) => {
    lineOf = lines;
    show(text.getPosition()?.lineNumber ?? null, true);
  };
}

/** All messages on a line, including the editor's. */
export function marksAt(line: number): readonly monaco.editor.IMarker[] {
  return monaco.editor.getModelMarkers({}).filter(({ startLineNumber }) => startLineNumber === line);
}

export { typesWorker };
