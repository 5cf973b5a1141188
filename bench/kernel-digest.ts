import { createHash } from "node:crypto";

/**
 * A digest of the kernels of an emitted module: a hash of their code, then one per config of a launch or an autotuner,
 * `code+config+config`. It ignores comments, docstrings, names of local variables, the launch code, and how Triton's
 * interpreter chooses a config. Two empty lines separate the parts of a module, and occur nowhere else.
 */
export function kernelDigest(python: string): string {
  const text = withoutTables(python).replaceAll(/^ *#.*\n| *#.*$|^ *"""[^]*?"""\n|^ *do_bench=.*\n/gm, "");
  const code = text
    .split("\n\n\n")
    .filter((part) => /^@triton\b/m.test(part))
    .map((part) =>
      withoutLocalNames(callsOf(part, CONFIG).reduce((remainder, config) => remainder.replace(config, ""), part)),
    )
    .join("\n");
  const configs = callsOf(text, CONFIG).map((config) => hash(normalizeConfig(config), 8));
  return [hash(code, 16), ...configs, ...launchesOf(text).map((launch) => hash(launch, 8))].join("+");
}

/** True if the timed kernel is still among those that a module may run: the same code, and configs that still exist. */
export function isStillCurrent(timedDigest: string, currentDigest: string): boolean {
  const [code, ...configs] = timedDigest.split("+");
  const [currentCode, ...remainingConfigs] = currentDigest.split("+");
  return (
    code === currentCode &&
    configs.every(
      (config) => remainingConfigs.includes(config) && remainingConfigs.splice(remainingConfigs.indexOf(config), 1),
    )
  );
}

const CONFIG = /\btriton\.Config(?=\()/g;
const LAUNCH = /(?<!def )\b_launch(?=\()|\b\w+_kernel(?=\[)/g;

/** The numeric arguments of each launch in a wrapper, such as a single config's: `x_kernel BLOCK=512 num_warps=4`. */
function launchesOf(text: string): readonly string[] {
  return callsOf(text, LAUNCH).flatMap((call) => {
    const numericArguments = [...call.matchAll(/\b([A-Za-z]\w*)=(-?\d[\w.]*|True|False)(?=[,)\s])/g)].map(
      ([each]) => each,
    );
    return numericArguments.length > 0 ? [[/\w+_kernel/.exec(call)?.[0], ...numericArguments].join(" ")] : [];
  });
}

/** The text of each call of a function, with what it is indexed by. */
function callsOf(text: string, name: RegExp): readonly string[] {
  return [...text.matchAll(name)].map((match) => {
    let end = match.index + match[0].length;
    let depth = 0;
    do {
      if ("([".includes(text[end]!)) depth++;
      if (")]".includes(text[end]!)) depth--;
      end++;
    } while ((depth > 0 || text.startsWith("](", end - 1)) && end < text.length);
    return text.slice(match.index, end);
  });
}

/** Lists each config of a table: `triton.Config({}, num_warps=num_warps) for num_warps in (4, 8)`. */
function withoutTables(python: string): string {
  const table = /(triton\.Config\([^()]*\))\s+for ([\w, ]+) in (\[[^[\]]*\]|\([^()]*\))/g;
  return python.replaceAll(table, (_, config: string, target: string, list: string) => {
    const names = target.split(", ");
    const rows = list.slice(1, -1).match(names.length > 1 ? /(?<=\()[^()]*(?=\))/g : /[^\s,]+/g) ?? [];
    return rows
      .map((row) => {
        const cells = row.split(", ");
        return config.replaceAll(/(?<=(?:: |=|else ))\w+(?=[,)}\s])/g, (name) => cells[names.indexOf(name)] ?? name);
      })
      .join(",\n");
  });
}

/** Normalizes line breaks, and the form in which a register limit is passed. */
function normalizeConfig(config: string): string {
  return config
    .replaceAll(/\s+/g, " ")
    .replaceAll(/,? maxnreg=None if torch\.version\.hip else None/g, "")
    .replaceAll(/maxnreg=None if torch\.version\.hip else (\d+)/g, "maxnreg=$1")
    .replaceAll(/(?<=[({]) |,? (?=[)}])|,(?=[)}])/g, "");
}

/**
 * Replaces the names of local variables by numbers, and joins each statement to one line: a longer name may break a
 * line.
 */
function withoutLocalNames(part: string): string {
  const assignment = /^ +(?:for )?(\w+(?:, \w+)*)(?:: tl\.constexpr)? (?:in|[-+*/|&^]?=) /gm;
  const names = [...new Set([...part.matchAll(assignment)].flatMap(([, list]) => list!.split(", ")))];
  const numberedText = part.replaceAll(/(?<![.\w])[A-Za-z_]\w*\b(?!=[^=])/g, (name) => {
    const number = names.indexOf(name);
    return number < 0 ? name : `$${number}`;
  });
  let depth = 0;
  const isSignificant = (char: string): boolean => {
    if ("([".includes(char)) depth++;
    if (")]".includes(char)) depth--;
    return depth === 0 || !/\s/.test(char);
  };
  return [...numberedText]
    .filter(isSignificant)
    .join("")
    .replaceAll(/(?<=[([]),+|,+(?=[,)\]])/g, "");
}

const hash = (text: string, length: number): string => createHash("sha256").update(text).digest("hex").slice(0, length);
