/** What authors meant by a line that is Python's and no JavaScript: what is wrong with it, and what to write instead. */

type Remedy = (matched: readonly string[]) => string;

const notes: readonly (readonly [pattern: RegExp, said: Remedy])[] = [
  [/^\s*#/, () => "`#` begins no comment in JavaScript; write // …"],
  [
    /^\s*(?:from\s+\S+\s+)?import\s+[\w.]+(?:\s+as\s+\w+)?\s*$/,
    () => 'this import is Python\'s; write import { constexpr, kernel, tensor, tl } from "tilescript"',
  ],
  [
    /^\s*@[\w.]+/,
    () =>
      'a kernel has no decorator; write export const add = kernel("add", { params: …, grid: … }, ({ x, N }) => { … })',
  ],
  [
    /^\s*def\s+(\w+)/,
    ([, name]) =>
      `\`def\` is Python's; write const ${name} = (x, y) => { … }, and of a kernel kernel("${name}", { params: …, grid: … }, ({ x, N }) => { … })`,
  ],
  [
    /^\s*for\s+(\w+)\s+in\b/,
    ([, name]) => `\`for … in …:\` is Python's; write for (const ${name} of tl.range(0, N, BLOCK)) { … }`,
  ],
  [
    /^\s*(?:el)?if\b.*:\s*$|^\s*(?:else|elif)\b[^{]*:/,
    () => "`if …:` is Python's; write tl.when(condition, () => { … }).otherwise(() => { … })",
  ],
  [/^\s*while\b.*:\s*$/, () => "`while …:` is Python's; write tl.whileLoop(() => condition, () => { … })"],
  [/\blambda\b/, () => "`lambda` is Python's; write (x) => …"],
  [
    /\[\s*(?::|None\b)[^\]]*\]|\[[^\]]*(?::|\bNone)\s*\]/,
    () => "`x[:, None]` is Python's; write x.col, and x.row for x[None, :]",
  ],
  [
    /([\w.]+(?:\([\w., ]*\))?)\s+@\s+([\w.]+(?:\([\w., ]*\))?)/,
    ([, a, b]) => `JavaScript has no \`@\`; write tl.dot(${a}, ${b})`,
  ],
  [/\bif\b.+\belse\b/, () => "`a if c else b` is Python's; write tl.where(c, a, b)"],
  [/\bnot\s+([\w.]+)/, ([, x]) => `\`not\` is Python's; write ${x}.not()`],
  [/\s(and|or)\s/, ([, word]) => `\`${word}\` is Python's; write a.${word}(b)`],
];

/** `z.at(i) = x` */
function stored(call: string, value: string): string {
  const remedy =
    /\.at\([^()]*\)$/.test(call) && value.length <= 40 ? `tl.store(${call}, ${value})` : "tl.store(y.at(i), x)";
  return `a call cannot be assigned; write ${remedy}`;
}

/** What is said of an error of syntax, which reads `message`, in a line of the author's. */
export function pythonSyntax(message: string, line: string): string | undefined {
  // Words of texts and comments are no syntax.
  const code = line.replace(/(["'])(?:\\.|(?!\1).)*\1|\/\/.*$/g, '""');
  if (message.startsWith("Invalid assignment target")) {
    const [, call, value] = /^\s*([\w.]+\(.*?\))\s*=\s*([^=].*?);?\s*$/.exec(code) ?? [];
    if (call !== undefined && value !== undefined) return stored(call, value);
  }
  if (message.startsWith('"await"')) return "a kernel does not wait; remove await";
  for (const [pattern, said] of notes) {
    const matched = pattern.exec(code);
    if (matched) return said(matched);
  }
  return undefined;
}
