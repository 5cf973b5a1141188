/** A minimal Python parser to extract functions from a file: tokens, and top-level statements. */

export interface Token {
  readonly kind: "name" | "string" | "number" | "operator";
  readonly text: string;
  /** Offset in the text. */
  readonly start: number;
  /** True for the first token of a logical line. */
  readonly isLineStart: boolean;
  /** The number of open brackets before the token. */
  readonly depth: number;
}

/** A top-level statement, including its decorators and the comments directly above it. */
export interface TopLevelStatement {
  readonly start: number;
  readonly end: number;
  /** Counts from 1. */
  readonly line: number;
  readonly tokens: readonly Token[];
}

const TOKEN = new RegExp(
  [
    String.raw`(?<space>[ \t\f]+|\\\r?\n|#[^\n]*)`,
    String.raw`(?<newline>\r?\n)`,
    String.raw`(?<string>(?:[rRbBuUfF]{0,2})(?:"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'))`,
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)`,
    String.raw`(?<operator>\*\*=|//=|>>=|<<=|:=|->|[-+*/%&|^@=!<>]=|\*\*|//|<<|>>|[^\s\w])`,
  ].join("|"),
  "uy",
);

function tokenize(text: string): readonly Token[] {
  const result: Token[] = [];
  let depth = 0;
  let isLineStart = true;
  for (const match of text.matchAll(new RegExp(TOKEN, "uyg"))) {
    const { space, newline, string, name, number, operator } = match.groups!;
    if (space !== undefined) continue;
    if (newline !== undefined) {
      isLineStart ||= depth === 0;
      continue;
    }
    if (operator !== undefined && ")]}".includes(operator)) depth--;
    const kind =
      name !== undefined ? "name" : string !== undefined ? "string" : number !== undefined ? "number" : "operator";
    result.push({ kind, text: match[0], start: match.index, isLineStart, depth });
    isLineStart = false;
    if (operator !== undefined && "([{".includes(operator)) depth++;
  }
  return result;
}

/** The statements of a file, in order. */
export function parseTopLevel(text: string): readonly TopLevelStatement[] {
  const isTopLevelStart = (token: Token) => token.isLineStart && (token.start === 0 || text[token.start - 1] === "\n");
  const groups: Token[][] = [];
  for (const token of tokenize(text)) {
    const group = groups.at(-1);
    const isDecorated =
      group?.[0]!.text === "@" && !group.some((each) => each.isLineStart && /^(?:def|class|async)$/.test(each.text));
    const isContinuation = /^(?:else|elif|except|finally)$/.test(token.text);
    if (!group || (isTopLevelStart(token) && !isDecorated && !isContinuation)) groups.push([token]);
    else group.push(token);
  }
  return groups.map((group) => {
    const last = group.at(-1)!;
    // Include a trailing comment after the last token.
    const lineEnd = text.indexOf("\n", last.start + last.text.length);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const first = group[0]!.start;
    const commentLength = /(?:^#[^\n]*\n)*$/m.exec(text.slice(0, first))![0].length;
    const start = first - commentLength;
    return { start, end, line: text.slice(0, start).split("\n").length, tokens: group };
  });
}

/** Names that a function binds: parameters, assignment targets, and loop targets. */
function boundNames(statement: TopLevelStatement): ReadonlySet<string> {
  const bound = new Set<string>();
  const { tokens: list } = statement;
  const def = list.findIndex(({ text, isLineStart }) => isLineStart && text === "def");
  if (def < 0) return bound;
  const base = list[def + 2]!.depth;
  let i = def + 3;
  for (; i < list.length && list[i]!.depth > base; i++) {
    const previous = list[i - 1]!.text;
    if (list[i]!.kind === "name" && list[i]!.depth === base + 1 && /^(?:\(|,|\*|\*\*)$/.test(previous))
      bound.add(list[i]!.text);
  }
  for (; i < list.length; i++) {
    const token = list[i]!;
    if (token.kind !== "name") continue;
    if (token.text === "for") {
      for (let j = i + 1; j < list.length && list[j]!.text !== "in"; j++)
        if (list[j]!.kind === "name") bound.add(list[j]!.text);
    } else if (token.isLineStart) {
      // `x = …`, `x: T = …`, `x, y = …`, `x += …`
      let j = i;
      while (list[j + 1]?.text === "," && list[j + 2]?.kind === "name") j += 2;
      if (
        /^(?:[-+*/%&|^@]?=|\/\/=|\*\*=|>>=|<<=|:)$/.test(list[j + 1]?.text ?? "") &&
        list[j + 1]!.depth === token.depth
      )
        for (let k = i; k <= j; k += 2) bound.add(list[k]!.text);
    }
  }
  return bound;
}

/** The tokens that refer to names of the file: no locals, attributes or keyword argument names. */
export function freeNames(statement: TopLevelStatement): readonly Token[] {
  const bound = boundNames(statement);
  return statement.tokens.filter((token, i) => {
    if (token.kind !== "name" || bound.has(token.text)) return false;
    if (statement.tokens[i - 1]?.text === ".") return false;
    return !(token.depth > 0 && statement.tokens[i + 1]?.text === "=");
  });
}
