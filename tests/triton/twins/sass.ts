/** Counts instructions in what `nvdisasm -c` prints. */

export interface Sass {
  /** Of the whole kernel, padding apart. */
  readonly instructions: number;
  /** Of the innermost loop that multiplies matrices, by opcode. */
  readonly loop: ReadonlyMap<string, number>;
}

const MULTIPLIES = /^[HIQDB]?G?MMA\b/;

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
  const loops = jumps
    .map(({ from, to }) => opcodes.slice(labels.get(to) ?? from, from + 1))
    .filter((body) => body.length > 1 && body.some((opcode) => MULTIPLIES.test(opcode)))
    .sort((a, b) => a.length - b.length);
  return { instructions: opcodes.length, loop: counted(loops[0] ?? []) };
}

function counted(opcodes: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const opcode of opcodes) {
    const name = opcode.split(".")[0]!;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

export const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, n) => sum + n, 0);
