/** The candidates of a search: the author's configs and the combinations of a space, without what rules exclude. */
import {
  type TestCase,
  type CompiledKernel,
  type Config,
  launchOptionNames,
  type SearchSpace,
} from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";
import { UsageError } from "../system/errors.js";
import { ownConfigs } from "./own-configs.js";
import { identity } from "./trial-cache.js";

/** A config that was dropped before it ran, and why. */
export interface Pruned {
  readonly config: Config;
  readonly reason: string;
}

/** Every combination of the declared space; names that it lacks have their value of the first config. */
export function candidatesOf(kernel: CompiledKernel, space: SearchSpace): readonly Config[] {
  const own = ownConfigs(kernel);
  const known = new Set(own.map(identity));
  return [...own, ...combinations(kernel, space).filter((config) => !known.has(identity(config)))];
}

/** @throws UsageError for a kernel that has no list of configs to choose from. */
export function checkTunable({ signature: { name }, tuning, parts }: CompiledKernel): void {
  if (parts)
    throw new UsageError(`${name} is an operator; tune its kernels instead: export them and choose one with --kernel`);
  if (!tuning) throw new UsageError(`${name} is not autotuned; give it autotune: { key, configs }`);
}

/** @throws UsageError if there are too many. */
export function combinations({ signature: { name }, configs }: CompiledKernel, space: SearchSpace): readonly Config[] {
  const entries = Object.entries(space);
  const count = entries.reduce((product, [, values = []]) => product * values.length, 1);
  if (count > MANY_CANDIDATES)
    throw new UsageError(
      `the space of ${name} has ${count} configs; the most is ${MANY_CANDIDATES}, so declare fewer values`,
    );
  let points: Record<string, number | boolean | string>[] = [valuesOf(configs[0]!)];
  for (const [axis, values = []] of entries)
    points = points.flatMap((point) => values.map((value) => ({ ...point, [axis]: value })));
  return points.map(configOf);
}
const MANY_CANDIDATES = 10_000;

function configOf(point: Record<string, number | boolean | string>): Config {
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(point).filter(([name]) => launchOptionNames.includes(name) === wanted));
  return { values: part(false), ...(part(true) as Omit<Config, "values">) };
}

/** Keeps the configs that the rules of tiles allow; Triton would refuse the others at any size. */
export function pruneByRules(
  kernel: CompiledKernel,
  candidates: readonly Config[],
): { readonly kept: readonly Config[]; readonly pruned: readonly Pruned[] } {
  const kept: Config[] = [];
  const pruned: Pruned[] = [];
  for (const config of candidates) {
    const reason = unfitReason(kernel, config);
    if (reason === undefined) kept.push(config);
    else pruned.push({ config, reason });
  }
  return { kept, pruned };
}

/** Why Triton would refuse a config at any size. */
export function unfitReason({ tuning }: CompiledKernel, config: Config): string | undefined {
  return tuning?.unfit(config)?.replace(" in config 0", "");
}

/** The configs of the kernel that its requirements refuse in every case, each with the reason. */
export function refusedEverywhere(kernel: CompiledKernel, cases: readonly TestCase[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const config of kernel.configs.keys()) {
    const reasons = cases.map((at) => kernel.refusal({ ...at, config }));
    if (reasons.every((reason) => reason !== undefined)) found.set(config, `the kernel refuses it (${reasons[0]})`);
  }
  return found;
}

/** The space of `BLOCK=64,128` and `numWarps=4,8`, in the kernel's names. */
export function spaceOf({ configs, signature }: CompiledKernel, given: readonly string[]): SearchSpace {
  const known = [...new Set([...configs.flatMap(({ values }) => Object.keys(values)), ...launchOptionNames])];
  return Object.fromEntries(
    given.map((text) => {
      const [name = "", values = ""] = text.split("=", 2);
      if (!known.includes(name))
        throw new UsageError(
          `--space: configs of ${signature.name} choose no ${name}; they choose ${known.join(", ")}`,
        );
      const kind = configs.map((config) => typeof valuesOf(config)[name]).find((each) => each !== "undefined");
      return [name, values.split(",").map((value) => valueOf(`--space: ${text}`, value, kind ?? "number"))];
    }),
  );
}

function valueOf(place: string, text: string, kind: string): number | boolean | string {
  if (kind === "string" && text !== "") return text;
  if (kind === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (kind === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
  const wanted = kind === "number" ? "numbers, as in BLOCK=64,128" : kind === "boolean" ? "true or false" : "values";
  throw new UsageError(`${place}: it takes ${wanted}`);
}
