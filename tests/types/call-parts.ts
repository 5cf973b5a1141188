/** A call as text, taken apart and put together: `tl.sum(float32_M, 0, { keepDims: true })`. */
export interface Call {
  /** What is called: `tl.sum`, `float32_M.sum`. */
  readonly callee: string;
  readonly args: readonly string[];
  /** The options object at the end. */
  readonly options: Readonly<Record<string, string>> | undefined;
}

const OPENING = "([{";
const CLOSING = ")]}";

/** Splits at commas that are in no brackets and no string. */
function split(text: string): string[] {
  const parts: string[] = [];
  let [depth, from, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') quoted = !quoted;
    if (quoted) continue;
    if (OPENING.includes(character)) depth++;
    if (CLOSING.includes(character)) depth--;
    if (character !== "," || depth > 0) continue;
    parts.push(text.slice(from, at).trim());
    from = at + 1;
  }
  const last = text.slice(from).trim();
  return last === "" ? parts : [...parts, last];
}

export function parseCall(text: string): Call {
  let [depth, open] = [0, text.length - 1];
  for (; open >= 0; open--) {
    if (CLOSING.includes(text[open]!)) depth++;
    if (OPENING.includes(text[open]!) && --depth === 0) break;
  }
  const given = split(text.slice(open + 1, -1));
  const callee = text.slice(0, open);
  const last = given.at(-1);
  if (!last?.startsWith("{")) return { callee, args: given, options: undefined };
  const options = split(last.slice(1, -1)).map((entry) => {
    const colon = entry.indexOf(":");
    return [entry.slice(0, colon).trim(), entry.slice(colon + 1).trim()];
  });
  return { callee, args: given.slice(0, -1), options: Object.fromEntries(options) as Record<string, string> };
}

export function callText({ callee, args, options }: Call): string {
  const entries = options && Object.entries(options).map(([name, value]) => `${name}: ${value}`);
  return `${callee}(${[...args, ...(entries ? [`{ ${entries.join(", ")} }`] : [])].join(", ")})`;
}
