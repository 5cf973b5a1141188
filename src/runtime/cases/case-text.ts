/** Formats test cases and configs. */
import { formatNumber } from "../../compiled/canonical-json.js";
import type { CompiledKernel, Config, TestCase } from "../../compiled/compiled-kernel.js";

type Values = Readonly<Record<string, number | boolean | string>>;

const formatPairs = (values: Values): string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${formatNumber(value)}`);

/** `M=300 N=200 T=float16 CAUSAL=true`: a case without its memory layouts. */
export function formatCase({ sizes, dtypes, constexprs }: Pick<TestCase, "sizes" | "dtypes" | "constexprs">): string {
  return formatPairs({ ...sizes, ...dtypes, ...constexprs }).join(" ");
}

/** The whole test case on one line, with its config if the kernel has several. */
export function describeCase(testCase: TestCase, configCount: number): string {
  return [
    ...formatPairs({ ...testCase.sizes, ...testCase.dtypes, ...testCase.scalars, ...testCase.constexprs }),
    ...Object.entries(testCase.layouts ?? {}).flatMap(([name, layout]) =>
      layout === "contiguous" ? [] : [`${name} ${layout}`],
    ),
    ...(testCase.absent ?? []).map((name) => `without ${name}`),
    ...Object.entries(testCase.gpu ?? {}).map(([name, value]) => `on a GPU with ${name} ${value}`),
    ...(testCase.special?.length ? [`special values (${testCase.special.join(", ")})`] : []),
    ...(configCount > 1 ? [`config ${testCase.config}`] : []),
  ].join(" ");
}

/** @throws Error for an index that is not the kernel's. */
export function configAt({ configs }: Pick<CompiledKernel, "configs">, index: number): Config {
  const config = configs[index];
  if (!config) throw new Error(`there is no config ${index}; the kernel has ${configs.length}`);
  return config;
}

/** Constexprs and launch options of a config, under the author's names. */
export function valuesOf(config: Config): Values {
  const { at: _, gpu: __, values, ...launch } = config;
  return { ...values, ...launch };
}

/** `BLOCK_M=128 numWarps=8` */
export function formatConfig(config: Config): string {
  return formatPairs(valuesOf(config)).join(" ");
}
