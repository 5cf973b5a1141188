/** Mistakes in functions written in Python: `tl.extern`. */
import { defineCode } from "../message.js";

export const externFile = defineCode("extern-file", {
  missing: () => 'extern: the first argument is a Python file beside this one, such as "./ops.py"',
  notThere: (file: string) => `extern: the file ${file} beside this one cannot be read`,
  unreadable: (name: string) => `extern: ${name} is copied from a file, but files cannot be read here`,
});

export const externMeaning = defineCode(
  "extern-meaning",
  () => "extern: no result is described; write { evaluate: (x) => … }, or { result: (x) => … }",
);

export const externSource = defineCode("extern-source", (file: string, reason: string) => `extern: ${file}: ${reason}`);
