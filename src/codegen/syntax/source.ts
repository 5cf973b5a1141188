/** Just enough of Python's grammar to take functions out of a file: tokens, and the statements at its top level. */

export interface Token {
  readonly kind: "name" | "string" | "number" | "operator";
  readonly text: string;
  /** Offset in the text. */
  readonly start: number;
  /** Whether a logical line begins with it, and how deep brackets are open before it. */
  readonly begins: boolean;
  readonly depth: number;
}

/** A statement at the top level, its decorators and the comments right above it included. */
export interface TopLevel {
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

function tokens(text: string): readonly Token[] {
  const found: Token[] = [];
  let depth = 0;
  let begins = true;
  for (const match of text.matchAll(new RegExp(TOKEN, "uyg"))) {
    const { space, newline, string, name, number, operator } = match.groups!;
    if (space !== undefined) continue;
    if (newline !== undefined) {
      begins ||= depth === 0;
      continue;
    }
    if (operator !== undefined && ")]}".includes(operator)) depth--;
    const kind =
      name !== undefined ? "name" : string !== undefined ? "string" : number !== undefined ? "number" : "operator";
    found.push({ kind, text: match[0], start: match.index, begins, depth });
    begins = false;
    if (operator !== undefined && "([{".includes(operator)) depth++;
  }
  return found;
}

/** The statements of a file, in order. */
export function topLevel(text: string): readonly TopLevel[] {
  const starts = (token: Token) => token.begins && (token.start === 0 || text[token.start - 1] === "\n");
  const groups: Token[][] = [];
  for (const token of tokens(text)) {
    const group = groups.at(-1);
    const isDecorated =
      group?.[0]!.text === "@" && !group.some((each) => each.begins && /^(?:def|class|async)$/.test(each.text));
    const continues = /^(?:else|elif|except|finally)$/.test(token.text);
    if (!group || (starts(token) && !isDecorated && !continues)) groups.push([token]);
    else group.push(token);
  }
  return groups.map((group) => {
    const last = group.at(-1)!;
    // The comment behind the last token stays with it.
    const lineEnd = text.indexOf("\n", last.start + last.text.length);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const first = group[0]!.start;
    const above = /(?:^#[^\n]*\n)*$/m.exec(text.slice(0, first))![0].length;
    const start = first - above;
    return { start, end, line: text.slice(0, start).split("\n").length, tokens: group };
  });
}

/** Names that a function binds itself: its parameters, what it assigns, what its loops count with. */
function boundNames(statement: TopLevel): ReadonlySet<string> {
  const bound = new Set<string>();
  const { tokens: list } = statement;
  const def = list.findIndex(({ text, begins }) => begins && text === "def");
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
    } else if (token.begins) {
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

/** The tokens that refer to names of the file: not locals, attributes or keyword argument names. */
export function freeNames(statement: TopLevel): readonly Token[] {
  const bound = boundNames(statement);
  return statement.tokens.filter((token, i) => {
    if (token.kind !== "name" || bound.has(token.text)) return false;
    if (statement.tokens[i - 1]?.text === ".") return false;
    return !(token.depth > 0 && statement.tokens[i + 1]?.text === "=");
  });
}
