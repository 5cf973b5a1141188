/** Emission for tests: a kernel's module, its jit function alone, and what ruff thinks of either. */
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

/** The module of a kernel, with the author's names and comments; ruff has nothing to change or to say. */
export function emit(kernel: unknown): PrintedModule {
  const printed = emitModule(lowerViews(trace(definitionOf(kernel))), source);
  expect(ruff.format(printed.text)).toBe(printed.text);
  expect(lint(printed.text)).toEqual([]);
  return printed;
}

/** What ruff's default rules and E, F and I say of a text. */
export function lint(text: string): string[] {
  const found = ruff.check(text) as { code: string; message: string; start_location: { row: number } }[];
  return found.map(({ code, message, start_location }) => `${start_location.row}: ${code} ${message}`);
}

/** The `@triton.jit` functions of a module, helper functions first, without further decorators. */
export function jitFunctions(text: string): readonly string[] {
  return Array.from(text.matchAll(/^@triton\.jit(?:\(.*\))?\n(def [^]*?)\n\n\n/gm), ([, source]) => source!);
}

/** The kernel of a module, without decorators. */
export function jitFunction(text: string): string {
  return jitFunctions(text).at(-1)!;
}

/** The statements of a jit function, without its head and its indentation. */
export function bodyOf(kernel: unknown): string {
  const text = jitFunction(emit(kernel).text);
  const head = /^def \w+\((?:.*\):\n|\n[^]*?\n\):\n)/.exec(text)![0];
  return text.slice(head.length).replace(/^ {4}/gm, "");
}
