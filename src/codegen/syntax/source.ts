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
  readonly tokens: Tokens;
}

type Tokens = readonly [Token, ...Token[]];

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

/** The kinds that the expression distinguishes. Any other token is an operator. */
const GROUP_KINDS = ["name", "string", "number"] as const;

function tokenize(text: string): readonly Token[] {
  const result: Token[] = [];
  let depth = 0;
  let isLineStart = true;
  for (const match of text.matchAll(new RegExp(TOKEN, "uyg"))) {
    const { groups = {} } = match;
    const { space, newline, operator } = groups;
    if (space !== undefined) continue;
    if (newline !== undefined) {
      isLineStart ||= depth === 0;
      continue;
    }
    if (operator !== undefined && ")]}".includes(operator)) depth--;
    const kind = GROUP_KINDS.find((each) => groups[each] !== undefined) ?? "operator";
    result.push({ kind, text: match[0], start: match.index, isLineStart, depth });
    isLineStart = false;
    if (operator !== undefined && "([{".includes(operator)) depth++;
  }
  return result;
}

/** The statements of a file, in order. */
export function parseTopLevel(text: string): readonly TopLevelStatement[] {
  const isTopLevelStart = (token: Token) => token.isLineStart && (token.start === 0 || text[token.start - 1] === "\n");
  const groups: [Token, ...Token[]][] = [];
  for (const token of tokenize(text)) {
    const group = groups.at(-1);
    const isDecorated =
      group?.[0].text === "@" && !group.some((each) => each.isLineStart && /^(?:def|class|async)$/.test(each.text));
    const isContinuation = /^(?:else|elif|except|finally)$/.test(token.text);
    if (!group || (isTopLevelStart(token) && !isDecorated && !isContinuation)) groups.push([token]);
    else group.push(token);
  }
  return groups.map((group) => {
    const [first, ...others] = group;
    const last = others.at(-1) ?? first;
    // Include a trailing comment after the last token.
    const lineEnd = text.indexOf("\n", last.start + last.text.length);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const [comments = ""] = /(?:^#[^\n]*\n)*$/m.exec(text.slice(0, first.start)) ?? [];
    const start = first.start - comments.length;
    return { start, end, line: text.slice(0, start).split("\n").length, tokens: group };
  });
}

/** Names that a function binds: parameters, assignment targets, and loop targets. */
function boundNames(statement: TopLevelStatement): ReadonlySet<string> {
  const { tokens } = statement;
  const def = tokens.findIndex(({ text, isLineStart }) => isLineStart && text === "def");
  const bracket = tokens[def + 2];
  if (def < 0 || !bracket) return new Set();
  const signature = tokens.slice(def + 3);
  const end = signature.findIndex(({ depth }) => depth <= bracket.depth);
  const body = end < 0 ? [] : signature.slice(end);
  return new Set([
    ...parameterNames(bracket, end < 0 ? signature : signature.slice(0, end)),
    ...body.flatMap((token, i) => {
      if (token.kind !== "name") return [];
      if (token.text === "for") return loopTargets(body, i + 1);
      return token.isLineStart ? assignmentTargets(token, body, i) : [];
    }),
  ]);
}

function parameterNames(bracket: Token, parameters: readonly Token[]): readonly string[] {
  return parameters.flatMap((token, i) => {
    const previous = parameters[i - 1] ?? bracket;
    const isParameter = token.depth === bracket.depth + 1 && /^(?:\(|,|\*|\*\*)$/.test(previous.text);
    return isParameter && token.kind === "name" ? [token.text] : [];
  });
}

function loopTargets(tokens: readonly Token[], start: number): readonly string[] {
  const end = tokens.findIndex(({ text }, i) => i >= start && text === "in");
  return namesIn(tokens.slice(start, end < 0 ? undefined : end));
}

/** The names before `x = …`, `x: T = …`, `x, y = …`, `x += …`. */
function assignmentTargets(first: Token, tokens: readonly Token[], start: number): readonly string[] {
  let end = start + 1;
  while (tokens[end]?.text === "," && tokens[end + 1]?.kind === "name") end += 2;
  const operator = tokens[end];
  const isAssignment =
    operator?.depth === first.depth && /^(?:[-+*/%&|^@]?=|\/\/=|\*\*=|>>=|<<=|:)$/.test(operator.text);
  return isAssignment ? namesIn(tokens.slice(start, end)) : [];
}

const namesIn = (tokens: readonly Token[]): readonly string[] =>
  tokens.flatMap(({ kind, text }) => (kind === "name" ? [text] : []));

/** The tokens that refer to names of the file: no locals, attributes or keyword argument names. */
export function freeNames(statement: TopLevelStatement): readonly Token[] {
  const bound = boundNames(statement);
  return statement.tokens.filter((token, i) => {
    if (token.kind !== "name" || bound.has(token.text)) return false;
    if (statement.tokens[i - 1]?.text === ".") return false;
    return !(token.depth > 0 && statement.tokens[i + 1]?.text === "=");
  });
}
