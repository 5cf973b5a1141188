/** A kernel over one vector, so that each test is only its body. */
import { constexpr, kernel, pointer, scalar, tensor, tl, TileScriptError } from "tilescript";
import type { Diagnostic, Location } from "../../../src/diagnostics/diagnostic.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { printIR } from "../../../src/ir/print.js";

/** The types of the body are not what these tests are about. */
export type Body = (args: any) => void;

export function vector(body: Body) {
  return kernel(
    "vector",
    {
      params: {
        x: tensor(tl.float32, ["N"]),
        y: tensor.out(tl.float32, ["N"]),
        p: pointer(tl.float16),
        s: scalar(tl.float32),
        BLOCK: constexpr(),
        FLAG: constexpr.bool({ default: true }),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    body,
  );
}

/** The statements of the kernel's body, and its helper functions, as text. */
export function statementsOf(body: Body): string {
  const text = printIR(trace(definitionOf(vector(body))));
  const [before, after] = text.split(/^kernel .*\n/m) as [string, string];
  return before + after.slice(0, after.indexOf("grid:\n"));
}

/** `code: message` of the error of a body. */
export function errorOf(body: Body): string {
  const { code, message } = firstOf(body);
  return `${code}: ${message}`;
}

/** The place that the error of a body names. */
export function placeOfError(body: Body): Location {
  const { at } = firstOf(body);
  if (!at) throw new Error("the error has no place");
  return at;
}

function firstOf(body: Body): Diagnostic {
  try {
    trace(definitionOf(vector(body)));
  } catch (error) {
    if (!(error instanceof TileScriptError)) throw error;
    return error.diagnostics[0]!;
  }
  throw new Error("the body was accepted");
}
