/** Cases and configs in words. */
import { numberText } from "../../compiled/canonical-json.js";
import type { TestCase, Config } from "../../compiled/compiled-kernel.js";

type Values = Readonly<Record<string, number | boolean | string>>;

const pairs = (values: Values): string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${numberText(value)}`);

/** `M=300 N=200 T=float16 CAUSAL=true`: a case without its memory layouts. */
export function caseText({ sizes, dtypes, constexprs }: Pick<TestCase, "sizes" | "dtypes" | "constexprs">): string {
  return pairs({ ...sizes, ...dtypes, ...constexprs }).join(" ");
}

/** A whole case on one line; with its config if the kernel has several. */
export function describeCase(at: TestCase, configs: number): string {
  return [
    ...pairs({ ...at.sizes, ...at.dtypes, ...at.scalars, ...at.constexprs }),
    ...Object.entries(at.layouts ?? {}).flatMap(([name, layout]) =>
      layout === "contiguous" ? [] : [`${name} ${layout}`],
    ),
    ...(at.absent ?? []).map((name) => `without ${name}`),
    ...Object.entries(at.gpu ?? {}).map(([name, value]) => `on a GPU with ${name} ${value}`),
    ...(at.special?.length ? [`special values (${at.special.join(", ")})`] : []),
    ...(configs > 1 ? [`config ${at.config}`] : []),
  ].join(" ");
}

/** Constexprs and launch options of a config, by the author's names. */
export function valuesOf(config: Config): Values {
  const { at: _, gpu: __, values, ...launch } = config;
  return { ...values, ...launch };
}

/** `BLOCK_M=128 numWarps=8` */
export function configText(config: Config): string {
  return pairs(valuesOf(config)).join(" ");
}
