/** What an author calls the parameters of a function, read off the function's own text. */

export type ParameterName = string | readonly ParameterName[];

/** One entry a parameter: its name, or those in a list pattern; absent where there is neither. */
export function parameterNames(body: (...args: never[]) => unknown): readonly (ParameterName | undefined)[] {
  const text = Function.prototype.toString.call(body);
  const arrow = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text);
  if (arrow) return [arrow[1]];
  const open = text.indexOf("(");
  return open < 0 ? [] : parts(text.slice(open + 1)).map(nameOf);
}

/** The parts between commas, up to the bracket that closes the list. */
function parts(text: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if ("([{".includes(character)) depth++;
    const closes = ")]}".includes(character);
    if (depth === 0 && (character === "," || closes)) {
      found.push(text.slice(start, i).trim());
      start = i + 1;
      if (closes) break;
    } else if (closes) depth--;
  }
  return found.filter((part, i) => part !== "" || i < found.length - 1);
}

function nameOf(part: string): ParameterName | undefined {
  if (part.startsWith("[")) return parts(part.slice(1)).map((each) => nameOf(each) ?? "arg");
  return /^[A-Za-z_$][\w$]*/.exec(part)?.[0];
}
