/** The decorators of a kernel: `@triton.autotune` outermost, then `@triton.jit`. */
import type { Config } from "../compiled.js";
import type { KernelIR } from "../ir/nodes.js";
import { type KernelNames, parameterName } from "./kernel-names.js";
import * as py from "./py-build.js";
import type { Expression, Keyword } from "./py.js";

/** Launch options of a config, by Triton's names. */
export function launchOptions(config: Config): readonly Keyword[] {
  const { numWarps, numStages, numCtas, maxnreg } = config;
  const options = { num_warps: numWarps, num_stages: numStages, num_ctas: numCtas, maxnreg };
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [py.keyword(name, py.numberLiteral(value, "int"))],
  );
}

export function constantExpression(value: number | boolean | string): Expression {
  if (typeof value === "boolean") return py.boolean(value);
  if (typeof value === "string") return py.string(value);
  return py.numberLiteral(value, Number.isInteger(value) ? "int" : "float");
}

/** `pruner` is the function that drops configs whose requirements do not hold. */
export function decorators(ir: KernelIR, names: KernelNames, pruner: string | undefined): readonly Expression[] {
  const jit = py.dotted("triton.jit");
  const { configs, key, resetToZero, restoreValue } = ir.tuning;
  if (!key) return [jit];
  const listed = configs.map((config) => {
    const values = Object.entries(config.values).map(([name, value]) => ({
      key: py.string(parameterName(ir, names, name)),
      value: constantExpression(value),
    }));
    return py.withOrigin(py.call("triton.Config", py.dict(...values), ...launchOptions(config)), config.at);
  });
  const pointers = (tensors: readonly string[]) =>
    tensors.length === 0 ? undefined : py.list(...tensors.map((tensor) => py.string(parameterName(ir, names, tensor))));
  const autotune = py.call(
    "triton.autotune",
    ...py.keywords({
      configs: py.list(...listed),
      key: py.list(...key.map((name) => py.string(parameterName(ir, names, name)))),
      prune_configs_by: pruner ? py.dict({ key: py.string("early_config_prune"), value: py.name(pruner) }) : undefined,
      reset_to_zero: pointers(resetToZero),
      restore_value: pointers(restoreValue),
    }),
  );
  return [autotune, jit];
}
