/** The parts of a spec that say how a kernel is launched: grid, configs, heuristics. */
import type { DeclaredParam } from "./declared-params.js";
import { callback, fixedValue, type HostNames } from "./host-text.js";
import type { Inferred } from "./launch-facts/launch-facts.js";
import type { HostTree, KernelTree, LaunchOptionValues, Tuning } from "./tree.js";

const todo = (text: string): string => `// TODO(import): ${text}`;
const object = (entries: readonly string[]): string => `{ ${entries.join(", ")} }`;

/** Lines of the spec behind `params`. */
export function hostLines(params: readonly DeclaredParam[], tree: KernelTree, host: Host): readonly string[] {
  const { names, inferred } = host;
  const { tuning, launch } = tree;
  const heuristics = heuristicsOf(params, tuning, names);
  const decided = new Set(heuristics.flatMap(({ python, text }) => (text === undefined ? [] : [python])));
  return [
    ...gridLines(tree, names, inferred),
    ...requiresLines(names, inferred),
    ...configLines(params, tree, host, decided),
    ...(decided.size > 0
      ? [`heuristics: {`, ...heuristics.flatMap(({ name, text }) => (text ? [`${name}: ${text},`] : [])), `},`]
      : []),
    ...heuristics.flatMap(({ name, text, python }) => {
      const given = tuning.heuristics[python]!;
      return text === undefined && "text" in given
        ? [todo(`a heuristic for ${name}, which the original computes: ${given.text}`)]
        : [];
    }),
    ...unspecialized(params, tuning),
    todo(
      `${params.some(({ kind }) => kind === "pointer") ? "tensors in place of pointers; then " : ""}a reference, ({ ${argumentsOf(params)} }, torch) => …`,
    ),
    ...(launch?.place === undefined ? [] : [`// Noted at ${launch.place}.`]),
  ];
}

/** What a reference takes. */
const argumentsOf = (params: readonly DeclaredParam[]): string =>
  params.flatMap(({ name, kind, text }) => (text !== undefined && TAKEN.has(kind) ? [name] : [])).join(", ");
const TAKEN: ReadonlySet<string> = new Set(["pointer", "descriptor", "tensor", "scalar"]);

function gridLines({ launch }: KernelTree, names: HostNames, inferred: Inferred | undefined): readonly string[] {
  const text = launch?.grid && callback(launch.grid, names, (each) => `[${each.join(", ")}]`);
  if (text !== undefined) return [`grid: ${text},`];
  const found = inferred?.grid && callback(inferred.grid, names, (each) => `[${each.join(", ")}]`);
  if (found !== undefined) return ["// As many programs as each noted launch has.", `grid: ${found},`];
  const noted = launch?.grids.map((each) => `[${each.join(", ")}]`) ?? [];
  const source = launch?.gridText === undefined ? "" : `; the script has ${launch.gridText.replaceAll(/\s+/g, " ")}`;
  return [
    todo(`how many programs the kernel has${noted.length > 0 ? `, such as ${noted.join(", ")}` : ""}${source}`),
    `grid: () => [${launch?.grids[0]?.join(", ") ?? "1"}],`,
  ];
}

/** Conditions that a callback can't name are left out. */
function requiresLines(names: HostNames, inferred: Inferred | undefined): readonly string[] {
  const kept = inferred?.requires.filter((each) => callback([each], names, () => "") !== undefined) ?? [];
  if (kept.length === 0) return [];
  const text = callback(kept, names, (each) => `[${each.join(", ")}]`);
  return ["// What the accesses need, and every noted launch has.", `requires: ${text},`];
}

/** What a spec says of the host with. */
export interface Host {
  readonly names: HostNames;
  readonly inferred: Inferred | undefined;
  /** A raw pointer or a descriptor whose memory an autotuner's trials would change. */
  readonly untuned: string | undefined;
}

interface Heuristic {
  readonly python: string;
  readonly name: string;
  /** Undefined where no expression of the arguments computes it. */
  readonly text?: string;
}

const namesOf = (tree: HostTree): readonly string[] =>
  "param" in tree ? [tree.param] : "of" in tree ? tree.of.flatMap(namesOf) : [];

function heuristicsOf(params: readonly DeclaredParam[], tuning: Tuning, names: HostNames): readonly Heuristic[] {
  return params.flatMap(({ python, name, kind }) => {
    const tree = tuning.heuristics[python];
    // What a heuristic computes from its own constant is what callers pass.
    if (!tree || (!("text" in tree) && namesOf(tree).includes(python))) return [];
    const isComputed = kind === "size" || kind === "int" || kind === "bool";
    const text = "text" in tree || !isComputed ? undefined : callback([tree], names, ([each]) => each!);
    const isFixed = !("text" in tree) && fixedValue(tree, names) !== undefined;
    return [{ python, name, ...(text !== undefined && !isFixed && { text }) }];
  });
}

function configLines(
  params: readonly DeclaredParam[],
  { tuning, launch }: KernelTree,
  host: Host,
  decided: ReadonlySet<string>,
): readonly string[] {
  const { autotune } = tuning;
  const tuned = new Set(autotune?.configs.flatMap(({ values }) => Object.keys(values)));
  const pinned = params.filter(
    ({ python, value, isArgument }) =>
      value !== undefined &&
      !isArgument &&
      !tuned.has(python) &&
      !decided.has(python) &&
      !(python in tuning.heuristics),
  );
  const undecided = params.filter(({ python }) => python in tuning.heuristics && !decided.has(python));
  const fixed = [...pinned, ...undecided];
  const said = pinned.flatMap(({ python, name, value, others }) => {
    const passed = launch?.passed[python];
    if (passed !== undefined) return [todo(`${name} is ${value} as in the first call; the script passes ${passed}`)];
    return others.length > 0 ? [todo(`${name} is ${value}; other calls pass ${others.join(", ")}`)] : [];
  });
  if (!autotune) {
    const all = [...fixed.map(assigned), ...optionTexts(launch?.options ?? {})];
    return all.length > 0 ? [...said, `config: ${object(all)},`] : said;
  }
  return [...said, ...autotuneLines(params, autotune, tuning.heuristics, host, fixed)];
}

const assigned = ({ name, value }: DeclaredParam): string => `${name}: ${value}`;

function autotuneLines(
  params: readonly DeclaredParam[],
  { key, configs, resetToZero, restoreValue }: NonNullable<Tuning["autotune"]>,
  heuristics: Tuning["heuristics"],
  host: Host,
  fixed: readonly DeclaredParam[],
): readonly string[] {
  const { names, untuned } = host;
  // A config that gives a fixed constant another value is none of this kernel.
  const kept = configs.filter(({ values }) =>
    Object.entries(values).every(([python, value]) => {
      const known = names(python);
      return !known || !("value" in known) || known.value === value;
    }),
  );
  const written = kept.map(({ values, options }) => {
    const own = Object.entries(values).flatMap(([python, value]) => {
      const known = names(python);
      return known && "name" in known ? [`${known.name}: ${JSON.stringify(value)}`] : [];
    });
    return object([...own, ...fixed.map(assigned), ...optionTexts(options)]);
  });
  const keys = key.flatMap((python) => {
    const param = params.find((each) => each.python === python);
    const isKey = param?.kind === "scalar" || param?.isArgument === true;
    return param && isKey && !(python in heuristics) ? [JSON.stringify(param.name)] : [];
  });
  const chosen = new Set([...kept.flatMap(({ values }) => Object.keys(values)), ...fixed.map(({ python }) => python)]);
  const sizes = sizesBeside(chosen, host);
  const again = [...resetToZero, ...restoreValue];
  const why =
    again.length > 0
      ? `once ${again.join(", ")} are tensors: it resets them between trials`
      : untuned && `once ${untuned} is ${remedyFor(untuned, params)}: a trial finds what the one before it left there`;
  if (why !== undefined)
    return [
      todo(`autotune with the ${written.length} configs of the original ${why}`),
      `config: ${written[0] ?? object(fixed.map(assigned))},`,
    ];
  return [
    `autotune: {`,
    `key: [${[...new Set([...keys, ...sizes])].join(", ")}],`,
    `configs: [`,
    ...written.map((each) => `${each},`),
    `],`,
    `},`,
  ];
}

/** What keeps trials apart. */
const remedyFor = (untuned: string, params: readonly DeclaredParam[]): string =>
  params.some(({ name, kind }) => name === untuned && kind === "descriptor")
    ? "a descriptor.out whose sizes inputs have"
    : "a tensor, with restoreValue";

/** A config that meets a requirement for some sizes is tuned for these sizes. */
function sizesBeside(chosen: ReadonlySet<string>, { names, inferred }: Host): readonly string[] {
  const beside = inferred?.requires.map(namesOf).filter((each) => each.some((name) => chosen.has(name))) ?? [];
  return beside.flat().flatMap((python) => {
    const known = chosen.has(python) ? undefined : names(python);
    return known && "name" in known ? [JSON.stringify(known.name)] : [];
  });
}

/** Launch options; what every launch has unless it says otherwise is left out. */
function optionTexts(options: LaunchOptionValues): readonly string[] {
  const usual: LaunchOptionValues = { num_warps: 4, num_stages: 3, num_ctas: 1 };
  return Object.entries(options).flatMap(([name, value]) => {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return value === usual[name] || value < 1 ? [] : [`${camel}: ${value}`];
  });
}

function unspecialized(params: readonly DeclaredParam[], { doNotSpecialize }: Tuning): readonly string[] {
  const named = params.flatMap(({ python, name, kind, isInteger }) =>
    doNotSpecialize.includes(python) && kind === "scalar" && isInteger ? [JSON.stringify(name)] : [],
  );
  return named.length > 0 ? [`doNotSpecialize: [${named.join(", ")}],`] : [];
}
