/** The kernel object of authors: its definition, with methods that run it. */
import { cacheKey } from "../compiled/canonical-json.js";
import { type BoundCall, bindCall, configOverrides } from "../host-call/bind.js";
import { NDArray } from "../host-call/ndarray.js";
import type { CallOptions, KernelEvaluation, KernelRun, RunOptions } from "../host-call/types.js";
import type { CompiledKernel, Evaluation, TensorData } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { checkDefinition, KernelDefinition, rawConfigs } from "../dsl/definition.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DType, type DTypeName, dtypes } from "../types/dtype.js";
import type { Handle } from "../ir/handle.js";
import { fromBytes, toBytes } from "../numerics/numeric-bits.js";
import type { KernelFunction } from "../params/kernel.js";
import type { callOnDevice } from "../runtime/devices/call.js";
import { checkTolerance } from "../compiled/tolerance.js";
import type { RawSpec } from "../dsl/spec-schema.js";

type Values = Readonly<Record<string, unknown>>;

/** The host's functions that build and run kernels. */
export interface KernelHost {
  build(kernel: unknown): Promise<CompiledKernel>;
  args: typeof callOnDevice;
}

class RunnableKernel extends KernelDefinition {
  readonly #builds = new Map<string, Promise<CompiledKernel>>();

  constructor(
    readonly host: KernelHost,
    ...definition: ConstructorParameters<typeof KernelDefinition>
  ) {
    super(...definition);
  }

  async evaluate(inputs: Values = {}, { tolerance, order, nonFinite, gpu, ...constexprs }: CallOptions & Values = {}) {
    const {
      kernel,
      at: testCase,
      given: tensors,
    } = await this.#bind(inputs, { tolerance, gpu }, constexprs, captureLocation());
    return toKernelEvaluation(
      kernel.evaluate(testCase, { inputs: tensors, ...(tolerance && { tolerance }), order, nonFinite }),
    );
  }

  async check(inputs: Values = {}, { tolerance, order, nonFinite, gpu, ...constexprs }: CallOptions & Values = {}) {
    const {
      kernel,
      at: testCase,
      given: tensors,
    } = await this.#bind(inputs, { tolerance, gpu }, constexprs, captureLocation());
    return toKernelEvaluation(
      kernel.check(testCase, { inputs: tensors, ...(tolerance && { tolerance }), order, nonFinite }),
    );
  }

  async run(inputs: Values = {}, { device, python, ...constexprs }: RunOptions & Values = {}): Promise<KernelRun> {
    const {
      kernel,
      at: testCase,
      given: tensors,
      tuned: isTuned,
    } = await this.#bind(inputs, {}, constexprs, captureLocation());
    const raw = mapValues(tensors, ({ dtype, shape, data }) => ({
      dtype,
      shape,
      bytes: toBytes(dtype as DTypeName, data),
    }));
    const result = await this.host.args(kernel, testCase, raw, {
      device: device ?? "auto",
      python,
      isAutotuned: isTuned,
    });
    if (result.outputs) {
      const outputs = mapValues(result.outputs, ({ dtype, shape, bytes }) =>
        toNDArray({ dtype, shape, data: fromBytes(dtype as DTypeName, bytes) }),
      );
      return { ...result, outputs };
    }
    const { outputs, unchecked } = toKernelEvaluation(kernel.evaluate(testCase, { inputs: tensors }));
    return { outputs, device: "eval", unchecked: [...result.unchecked, ...unchecked] };
  }

  async #bind(
    inputs: Values,
    { tolerance, gpu }: { readonly tolerance?: unknown; readonly gpu?: CallOptions["gpu"] | undefined },
    constexprs: Values,
    location: Location | undefined,
  ) {
    checkTolerance(this.name, tolerance, location);
    const plain = await this.#build({});
    const config = configOverrides(plain, constexprs, location);
    const kernel = await this.#build(config);
    const { testCase, inputs: tensors }: BoundCall = bindCall(kernel, inputs, constexprs, location, gpu);
    return { kernel, at: testCase, given: tensors, tuned: Object.keys(config).length === 0 };
  }

  /** Builds the kernel with its own configs, or with a single one: the first, overridden by `config`. */
  #build(config: Values): Promise<CompiledKernel> {
    const key = cacheKey(Object.entries(config).sort());
    let compiled = this.#builds.get(key);
    if (!compiled) this.#builds.set(key, (compiled = this.host.build(key === "[]" ? this : this.#with(config))));
    return compiled;
  }

  #with(config: Values): KernelDefinition {
    const { autotune, config: authorConfig } = this.spec;
    const withOverrides = (base: unknown) => ({ ...(base as Values), ...config });
    const spec: RawSpec = autotune
      ? { ...this.spec, autotune: { ...autotune, configs: [withOverrides(rawConfigs(autotune)[0]?.raw)] } }
      : {
          ...this.spec,
          config:
            typeof authorConfig === "function"
              ? (meta) => withOverrides(authorConfig(meta))
              : withOverrides(authorConfig),
        };
    return new KernelDefinition(this.name, spec, this.body, this.at);
  }
}

/** Creates the `kernel` function of a host. */
export function kernelOn(host: KernelHost): KernelFunction {
  return ((
    name: string,
    spec: RawSpec,
    body: (args: Record<string, Handle>) => unknown,
    ...extraArguments: unknown[]
  ) => {
    const kernel = new RunnableKernel(host, name, spec, body, captureLocation());
    checkDefinition(kernel, extraArguments);
    return kernel;
  }) as unknown as KernelFunction;
}

/** Converts an evaluation to its public form. The kernel's prints go to the console, as on a GPU. */
function toKernelEvaluation({ outputs, comparison, findings, unchecked, printed }: Evaluation): KernelEvaluation {
  for (const line of printed ?? []) console.log(line);
  return {
    outputs: mapValues(outputs, toNDArray),
    correct: comparison?.correct ?? null,
    ...(comparison && { comparison }),
    findings,
    unchecked,
  };
}

function toNDArray({ data, shape, dtype }: TensorData): NDArray {
  return NDArray.of(data, shape, dtypes[dtype as DTypeName] as DType<any>);
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, transform: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, transform(value)]));
}
