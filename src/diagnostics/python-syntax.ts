/** Messages for lines of Python syntax that JavaScript cannot parse. */

type Remedy = (match: readonly string[]) => string;

const remedies: readonly (readonly [pattern: RegExp, said: Remedy])[] = [
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
  [/\s(and|or)\s/, ([, operator]) => `\`${operator}\` is Python's; write a.${operator}(b)`],
];

/** `z.at(i) = x` */
function assignmentToCall(call: string, value: string): string {
  const remedy =
    /\.at\([^()]*\)$/.test(call) && value.length <= 40 ? `tl.store(${call}, ${value})` : "tl.store(y.at(i), x)";
  return `a call cannot be assigned; write ${remedy}`;
}

/** The message for a syntax error in a line of the author's; `message` is the parser's text. */
export function pythonSyntax(message: string, line: string): string | undefined {
  // Strings and comments are not syntax.
  const code = line.replace(/(["'])(?:\\.|(?!\1).)*\1|\/\/.*$/g, '""');
  if (message.startsWith("Invalid assignment target")) {
    const [, call, value] = /^\s*([\w.]+\(.*?\))\s*=\s*([^=].*?);?\s*$/.exec(code) ?? [];
    if (call !== undefined && value !== undefined) return assignmentToCall(call, value);
  }
  if (message.startsWith('"await"')) return "a kernel does not wait; remove await";
  for (const [pattern, remedyFor] of remedies) {
    const match = pattern.exec(code);
    if (match) return remedyFor(match);
  }
  return undefined;
}
