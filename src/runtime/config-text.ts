/** Configs, and lists, in words. */
import type { Config } from "../compiled.js";

/** Constexprs and launch options, by the author's names. */
export function valuesOf(config: Config): Readonly<Record<string, number | boolean | string>> {
  const { at: _, values, ...launch } = config;
  return { ...values, ...launch };
}

/** `BLOCK_M=128 numWarps=8` */
export function configText(config: Config): string {
  return Object.entries(valuesOf(config))
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** `a, b and c` */
export function listed(texts: readonly string[]): string {
  return texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : (texts[0] ?? "");
}
