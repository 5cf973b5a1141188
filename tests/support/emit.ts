/** Emits kernels for tests: the module, its jit functions, and ruff's diagnostics. */
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { expect } from "vitest";
import { emitModule } from "../../src/codegen/module/module.js";
import type { PrintedModule } from "../../src/codegen/syntax/layout.js";
import { definitionOf } from "../../src/dsl/definition.js";
import { createSourceIndex } from "../../src/source/call-site-index.js";
import { trace } from "../../src/dsl/trace.js";
import { lowerViews } from "../../src/lower/views.js";

const source = createSourceIndex();
const ruff = new Workspace({ "line-length": 88, lint: { "extend-select": ["E", "F", "I"] } }, PositionEncoding.Utf16);

/**
 * Emits the module of a kernel, with the author's names and comments. Expects that ruff finds nothing to change or
 * report.
 */
export function emit(kernel: unknown): PrintedModule {
  const emitted = emitModule(lowerViews(trace(definitionOf(kernel))), source);
  expect(ruff.format(emitted.text)).toBe(emitted.text);
  expect(lint(emitted.text)).toEqual([]);
  return emitted;
}

/** Runs ruff's default rules, E, F and I on a Python text. */
export function lint(text: string): string[] {
  const violations = ruff.check(text) as { code: string; message: string; start_location: { row: number } }[];
  return violations.map(({ code, message, start_location }) => `${start_location.row}: ${code} ${message}`);
}

/** The `@triton.jit` functions of a module, helper functions first, without other decorators. */
export function jitFunctions(text: string): readonly string[] {
  return Array.from(text.matchAll(/^@triton\.jit(?:\(.*\))?\n(def [^]*?)\n\n\n/gm), ([, source]) => source!);
}

/** The kernel function of a module, without decorators. */
export function jitFunction(text: string): string {
  return jitFunctions(text).at(-1)!;
}

/** The statements of a kernel's jit function, without its signature and indentation. */
export function bodyOf(kernel: unknown): string {
  const text = jitFunction(emit(kernel).text);
  const head = /^def \w+\((?:.*\):\n|\n[^]*?\n\):\n)/.exec(text)![0];
  return text.slice(head.length).replace(/^ {4}/gm, "");
}
