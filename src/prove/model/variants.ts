/** The variants of a kernel that one symbolic execution each covers. */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { Config } from "../../compiled/compiled-kernel.js";
import type { KernelIR } from "../../ir/nodes.js";
import type { ConstexprAssignment } from "./launch.js";

export interface Variant {
  readonly assignment: ConstexprAssignment;
  readonly configs: readonly Config[];
}

/**
 * The distinct constexpr assignments of configs, without integers that are at least 1 in every config, which become
 * symbols.
 */
export function variantsOf({ tuning: { configs } }: KernelIR): readonly Variant[] {
  const isSymbol = (name: string) =>
    configs.every(({ values }) => Number.isInteger(values[name]) && Number(values[name]) >= 1);
  const variants = new Map<string, { assignment: ConstexprAssignment; configs: Config[] }>();
  for (const config of configs) {
    const assignment = Object.fromEntries(Object.entries(config.values).filter(([name]) => !isSymbol(name)));
    const key = cacheKey(assignment);
    const variant = variants.get(key);
    if (variant) variant.configs.push(config);
    else variants.set(key, { assignment, configs: [config] });
  }
  return [...variants.values()];
}
