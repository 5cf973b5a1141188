/** The kernel object that authors hold: its definition, with methods that run it. */
import { cacheKey } from "../compiled/canonical-json.js";
import { type BoundCall, bindCall, configOverrides } from "../host-call/bind.js";
import { NDArray } from "../host-call/ndarray.js";
import type { CallOptions, KernelEvaluation, KernelRun, RunOptions } from "../host-call/types.js";
import type { CompiledKernel, Evaluation, TensorData } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { checkDefinition, KernelDefinition, rawConfigs, type RawSpec } from "../dsl/definition.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DType, type DTypeName, dtypes } from "../types/dtype.js";
import type { Handle } from "../ir/handle.js";
import { fromBytes, toBytes } from "../numerics/numeric-bits.js";
import type { KernelFunction } from "../params/kernel.js";
import type { callOnDevice } from "../runtime/devices/call.js";
import { checkTolerance } from "../compiled/declared-tolerance.js";

type Given = Readonly<Record<string, unknown>>;

/** What the host provides to run kernels. */
export interface KernelHost {
  build(kernel: unknown): Promise<CompiledKernel>;
  call: typeof callOnDevice;
}

class RunnableKernel extends KernelDefinition {
  readonly #built = new Map<string, Promise<CompiledKernel>>();

  constructor(
    readonly host: KernelHost,
    ...definition: ConstructorParameters<typeof KernelDefinition>
  ) {
    super(...definition);
  }

  async evaluate(inputs: Given = {}, { tolerance, order, nonFinite, gpu, ...constexprs }: CallOptions & Given = {}) {
    const { kernel, at, given } = await this.#bind(inputs, { tolerance, gpu }, constexprs, captureLocation());
    return shown(kernel.evaluate(at, { inputs: given, ...(tolerance && { tolerance }), order, nonFinite }));
  }

  async check(inputs: Given = {}, { tolerance, order, nonFinite, gpu, ...constexprs }: CallOptions & Given = {}) {
    const { kernel, at, given } = await this.#bind(inputs, { tolerance, gpu }, constexprs, captureLocation());
    return shown(kernel.check(at, { inputs: given, ...(tolerance && { tolerance }), order, nonFinite }));
  }

  async run(inputs: Given = {}, { device, python, ...constexprs }: RunOptions & Given = {}): Promise<KernelRun> {
    const { kernel, at, given, tuned } = await this.#bind(inputs, {}, constexprs, captureLocation());
    const raw = mapValues(given, ({ dtype, shape, data }) => ({
      dtype,
      shape,
      bytes: toBytes(dtype as DTypeName, data),
    }));
    const ran = await this.host.call(kernel, at, raw, { device: device ?? "auto", python, tuned });
    if (ran.outputs) {
      const outputs = mapValues(ran.outputs, ({ dtype, shape, bytes }) =>
        arrayOf({ dtype, shape, data: fromBytes(dtype as DTypeName, bytes) }),
      );
      return { ...ran, outputs };
    }
    const { outputs, unchecked } = shown(kernel.evaluate(at, { inputs: given }));
    return { outputs, device: "eval", unchecked: [...ran.unchecked, ...unchecked] };
  }

  async #bind(
    inputs: Given,
    { tolerance, gpu }: { readonly tolerance?: unknown; readonly gpu?: CallOptions["gpu"] | undefined },
    constexprs: Given,
    location: Location | undefined,
  ) {
    checkTolerance(this.name, tolerance, location);
    const plain = await this.#build({});
    const config = configOverrides(plain, constexprs, location);
    const kernel = await this.#build(config);
    const { at, inputs: given }: BoundCall = bindCall(kernel, inputs, constexprs, location, gpu);
    return { kernel, at, given, tuned: Object.keys(config).length === 0 };
  }

  /** The kernel with its own configs, or with one: the first, overridden by `config`. */
  #build(config: Given): Promise<CompiledKernel> {
    const key = cacheKey(Object.entries(config).sort());
    let built = this.#built.get(key);
    if (!built) this.#built.set(key, (built = this.host.build(key === "[]" ? this : this.#with(config))));
    return built;
  }

  #with(config: Given): KernelDefinition {
    const { autotune, config: own } = this.spec;
    const only = (given: unknown) => ({ ...(given as Given), ...config });
    const spec: RawSpec = autotune
      ? { ...this.spec, autotune: { ...autotune, configs: [only(rawConfigs(autotune)[0]?.raw)] } }
      : { ...this.spec, config: typeof own === "function" ? (meta) => only(own(meta)) : only(own) };
    return new KernelDefinition(this.name, spec, this.body, this.at);
  }
}

/** Makes the `kernel` function of a host. */
export function kernelOn(host: KernelHost): KernelFunction {
  return ((name: string, spec: RawSpec, body: (args: Record<string, Handle>) => unknown, ...further: unknown[]) => {
    const defined = new RunnableKernel(host, name, spec, body, captureLocation());
    checkDefinition(defined, further);
    return defined;
  }) as unknown as KernelFunction;
}

/** What the caller gets of an evaluation. What the kernel printed goes to the console, as on a GPU. */
function shown({ outputs, comparison, findings, unchecked, printed }: Evaluation): KernelEvaluation {
  for (const line of printed ?? []) console.log(line);
  return {
    outputs: mapValues(outputs, arrayOf),
    correct: comparison?.correct ?? null,
    ...(comparison && { comparison }),
    findings,
    unchecked,
  };
}

function arrayOf({ data, shape, dtype }: TensorData): NDArray {
  return NDArray.of(data, shape, dtypes[dtype as DTypeName] as DType<any>);
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, of: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, of(value)]));
}
