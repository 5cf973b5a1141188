/** Counts instructions in what `nvdisasm -c` prints. */

export interface Sass {
  /** Of the whole kernel, padding apart. */
  readonly instructions: number;
  /** Of the innermost loops that work: those that multiply matrices, or, where none does, that load or store. */
  readonly loop: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const MULTIPLIES = /^(?:[HIQDBO]?G?MMA|UTC\w*MMA)\b/;
const MOVES = /^(?:LDG|STG|LD|ST|LDGSTS|UTMALDG|UTMASTG|RED|ATOMG)\b/;

export function readSass(text: string): Sass {
  const opcodes: string[] = [];
  const labels = new Map<string, number>();
  const jumps: { readonly from: number; readonly to: string }[] = [];
  for (const line of text.split("\n")) {
    const label = /^(\.L_\w+):/.exec(line)?.[1];
    if (label) labels.set(label, opcodes.length);
    const found = /^\s+\/\*[0-9a-f]{4,}\*\/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)/.exec(line);
    if (!found || found[1] === "NOP") continue;
    const target = found[1]!.startsWith("BRA") ? /`\((\.L_\w+)\)/.exec(found[2]!)?.[1] : undefined;
    if (target) jumps.push({ from: opcodes.length, to: target });
    opcodes.push(found[1]!);
  }
  // A jump back closes a loop.
  const all = jumps
    .map(({ from, to }): Span => ({ from: labels.get(to) ?? Infinity, to: from }))
    .filter(({ from, to }) => from < to);
  const having = (opcode: RegExp) =>
    all.filter(({ from, to }) => opcodes.slice(from, to).some((each) => opcode.test(each)));
  const multiplying = having(MULTIPLIES);
  const working = multiplying.length > 0 ? multiplying : having(MOVES);
  const innermost = working.filter((loop) => !working.some((other) => other !== loop && isWithin(other, loop)));
  const loop = innermost.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return { instructions: opcodes.length, loop };
}

const isWithin = (inner: Span, outer: Span): boolean => inner.from >= outer.from && inner.to <= outer.to;
