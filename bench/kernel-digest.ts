import { createHash } from "node:crypto";

/**
 * What the kernels of an emitted module are: a hash of their code, then one for each config that a launch or an autotuner
 * may take, `code+config+config`. Comments, docstrings, names of local variables and how a kernel is launched are left
 * out. Two empty lines stand between the parts of a module, and nowhere else.
 */
export function kernelDigest(python: string): string {
  const text = python.replaceAll(/^ *#.*\n| *#.*$|^ *"""[^]*?"""\n/gm, "");
  const code = text
    .split("\n\n\n")
    .filter((part) => /^@triton\b/m.test(part))
    .map((part) => withoutLocalNames(callsOf(part, CONFIG).reduce((rest, config) => rest.replace(config, ""), part)))
    .join("\n");
  const configs = callsOf(text, CONFIG).map((config) => hash(asWritten(config), 8));
  return [hash(code, 16), ...configs, ...launchesOf(text).map((launch) => hash(launch, 8))].join("+");
}

/** Whether what was timed is still among what a module may run: the same code, and configs that it still has. */
export function isStill(timed: string, now: string): boolean {
  const [code, ...configs] = timed.split("+");
  const [same, ...left] = now.split("+");
  return code === same && configs.every((config) => left.includes(config) && left.splice(left.indexOf(config), 1));
}

const CONFIG = /\btriton\.Config(?=\()/g;
const LAUNCH = /(?<!def )\b_launch(?=\()|\b\w+_kernel\[\w+\](?=\()/g;

/** The numbers that a wrapper launches each kernel with, such as a lone config's: `x_kernel BLOCK=512 num_warps=4`. */
function launchesOf(text: string): readonly string[] {
  return callsOf(text, LAUNCH).flatMap((call) => {
    const given = [...call.matchAll(/\b([A-Za-z]\w*)=(-?\d[\w.]*|True|False)(?=[,)\s])/g)].map(([each]) => each);
    return given.length > 0 ? [[/\w+_kernel/.exec(call)?.[0], ...given].join(" ")] : [];
  });
}

/** Each call of a function, as it is written. */
function callsOf(text: string, name: RegExp): readonly string[] {
  return [...text.matchAll(name)].map((found) => {
    let end = found.index + found[0].length;
    let depth = 0;
    do {
      if (text[end] === "(") depth++;
      if (text[end] === ")") depth--;
      end++;
    } while (depth > 0 && end < text.length);
    return text.slice(found.index, end);
  });
}

/** However it is broken into lines, and however a limit of registers is passed. */
function asWritten(config: string): string {
  return config
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\*\*_maxnreg\((\d+)\)/g, "maxnreg=$1")
    .replaceAll(/(?<=[({]) |,? (?=[)}])|,(?=[)}])/g, "");
}

/** Local variables under numbers in place of names, each statement on one line: a longer name may break one. */
function withoutLocalNames(part: string): string {
  const assigned = /^ +(?:for )?(\w+(?:, \w+)*)(?:: tl\.constexpr)? (?:in|[-+*/|&^]?=) /gm;
  const names = [...new Set([...part.matchAll(assigned)].flatMap(([, list]) => list!.split(", ")))];
  const numbered = part.replaceAll(/(?<![.\w])[A-Za-z_]\w*\b(?!=[^=])/g, (name) => {
    const number = names.indexOf(name);
    return number < 0 ? name : `$${number}`;
  });
  let depth = 0;
  const isKept = (char: string): boolean => {
    if ("([".includes(char)) depth++;
    if (")]".includes(char)) depth--;
    return depth === 0 || !/\s/.test(char);
  };
  return [...numbered]
    .filter(isKept)
    .join("")
    .replaceAll(/(?<=[([]),+|,+(?=[,)\]])/g, "");
}

const hash = (text: string, length: number): string => createHash("sha256").update(text).digest("hex").slice(0, length);
