/** The form of the functions at the end of an emitted module. */
import type { FunctionDef } from "./py.js";

/** `params` are separated by blanks. */
export const helper = (name: string, params: string, docstring: string, text: string): FunctionDef => ({
  kind: "function",
  name,
  decorators: [],
  params: params.split(" ").map((each) => ({ name: each })),
  docstring,
  body: [{ kind: "verbatim", text }],
});
