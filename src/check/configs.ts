/** Configs against the kernel's constexprs, and what autotuning needs to measure the right thing. */
import { type Config, launchOptionNames } from "../contract/compiled.js";
import { type Diagnostic, problem, warning } from "../diagnostics/diagnostic.js";
import { type ConstexprParam, type KernelIR, paramsOf } from "../ir/nodes.js";
import { argumentsOf, valuesIn, walkAll } from "../ir/walk.js";

const POWERS = new Set([1, 2, 4, 8, 16, 32]);

export function checkConfigs(ir: KernelIR): readonly Diagnostic[] {
  const { configs, key } = ir.tuning;
  const found: Diagnostic[] = [];
  const place = (i: number) => (key ? `${ir.name}: config ${i} (${describe(configs[i]!)})` : `${ir.name}: its config`);
  configs.forEach((config, i) => found.push(...checkConfig(ir, config, place(i))));
  const texts = configs.map((config) => JSON.stringify({ ...config, at: undefined }));
  configs.forEach(({ at }, i) => {
    const first = texts.indexOf(texts[i]!);
    if (first < i) found.push(warning("config", `${place(i)}: it is config ${first} again; leave one out`, at));
  });
  if (key) {
    if (configs.length === 0)
      found.push(problem("config", `${ir.name}: autotune has no configs; list at least one`, ir.at));
  }
  found.push(...checkSpace(ir));
  return found;
}

function checkSpace(ir: KernelIR): readonly Diagnostic[] {
  const chosen = ir.params.filter((param) => param.kind === "constexpr" && isChosen(param)).map(({ name }) => name);
  const known = [...chosen, ...launchOptionNames];
  return Object.entries(ir.tuning.space ?? {}).flatMap(([name, values]) => {
    if (!known.includes(name))
      return [problem("config", `${ir.name}: the space names ${name}; configs choose ${known.join(", ")}`, ir.at)];
    return Array.isArray(values) && values.length > 0
      ? []
      : [problem("config", `${ir.name}: the space has no values for ${name}; list them, as in [32, 64]`, ir.at)];
  });
}

/** Whether a config may give it a value. */
function isChosen({ from, of }: ConstexprParam): boolean {
  return from === "config" || (from === "argument" && of !== "dtype");
}

function describe(config: Config): string {
  const values = Object.entries(config.values).map(([name, value]) => `${name}: ${value}`);
  if (config.numWarps !== undefined) values.push(`numWarps: ${config.numWarps}`);
  return values.join(", ");
}

function checkConfig(ir: KernelIR, config: Config, where: string): readonly Diagnostic[] {
  const constexprs = paramsOf(ir, "constexpr");
  const byName = new Map(constexprs.map((param) => [param.name, param]));
  const expected = constexprs.filter((param) => param.from === "config").map((param) => param.name);
  const found: Diagnostic[] = [];
  const refuse = (message: string) => found.push(problem("config", `${where}: ${message}`, config.at));
  for (const [name, value] of Object.entries(config.values)) {
    const param = byName.get(name);
    if (!param) refuse(`${name} is no constexpr of this kernel; it has ${expected.join(", ") || "none"}`);
    else if (param.from === "heuristic") refuse(`${name} is computed by a heuristic; leave it out of the config`);
    else if (param.of === "dtype") refuse(`${name} is a dtype, which the caller gives; leave it out of the config`);
    else if (param.from === "launch") refuse(`${name} is computed at launch; leave it out of the config`);
    else if (param.from === "dim") refuse(`${name} is bound from a shape; leave it out of the config`);
    else if (typeof value !== typeofParam(param))
      refuse(`${name} is ${JSON.stringify(value)}; it takes ${aTypeOf(param)}`);
    else if (param.choices && !param.choices.includes(String(value)))
      refuse(`${name} is ${JSON.stringify(value)}; it is one of ${param.choices.join(", ")}`);
    else if (param.of === "int" && !Number.isInteger(value)) refuse(`${name} is ${value}; it takes an integer`);
  }
  for (const name of expected) if (!(name in config.values)) refuse(`${name} is missing; give it a value`);
  const { numWarps, numStages, numCtas, maxnreg } = config;
  if (numWarps !== undefined && !POWERS.has(numWarps)) refuse(`numWarps is ${numWarps}; it is a power of two up to 32`);
  for (const [name, value] of Object.entries({ numStages, numCtas, maxnreg }))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      refuse(`${name} is ${value}; it is a positive integer`);
  return found;
}

function typeofParam({ of }: ConstexprParam): string {
  return of === "bool" ? "boolean" : of === "string" ? "string" : "number";
}

function aTypeOf({ of }: ConstexprParam): string {
  return of === "bool" ? "true or false" : of === "string" ? "a string" : "a number";
}

/** What the author may want to know though it is no error. */
export function unusedParams(ir: KernelIR): readonly Diagnostic[] {
  const used = new Set<unknown>();
  walkAll(ir, (statement) => {
    for (const argument of argumentsOf(statement)) for (const value of valuesIn(argument)) used.add(value);
  });
  return ir.params.flatMap((param) =>
    param.kind === "tensor" && !used.has(param.value) && !used.has(param.pointer)
      ? [warning("unused", `${ir.name}: the tensor ${param.name} is never used; remove it from params`, ir.at)]
      : [],
  );
}
