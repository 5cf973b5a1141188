/** The warp-specialized kernel of a module: its functions, arguments and configs. */
import type { Config, Specialize } from "../../../compiled/compiled-kernel.js";
import type { TensorParam } from "../../../ir/nodes.js";
import type { Specialized } from "../pattern/specialize.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { HEAD_SIZES } from "../pattern/attention-configs.js";
import type { Dim } from "../../../types/shape.js";
import type { FunctionDef, Name } from "../../syntax/py.js";
import { AttentionEmitter } from "./attention-kernel.js";
import { GemmEmitter } from "./gemm-kernel.js";
import type { BlockSizes, Emission, GluonConfig, LaunchArgument, StagedBlock } from "./emitter.js";

export interface GluonKernel {
  readonly functions: readonly FunctionDef[];
  /** The name of the kernel that a launch calls. */
  readonly name: string;
  /** Its arguments, except those that configs set. */
  readonly launchArguments: readonly LaunchArgument[];
  /** The tensors that it accesses in blocks. */
  readonly blockTensors: readonly TensorParam[];
  /** True if the wrapper measures both kernels for each autotuning key, and launches the faster one. */
  readonly isTimed: boolean;
  /** True if launches use the author's grid instead of one program per multiprocessor. */
  readonly hasAuthorGrid: boolean;
  /** Dims that are limited to certain sizes. */
  readonly sizeLimits: readonly { readonly dim: string; readonly sizes: readonly number[] }[];
  readonly configs: readonly GluonConfig[];
  /** The requirements on head sizes for configs of three consumers, and the constexpr of the consumer count. */
  readonly threeConsumers?: { readonly heads: readonly string[]; readonly consumers: Name } | undefined;
  /** The block shape of each descriptor. */
  readonly blocks: (sizes: BlockSizes) => readonly StagedBlock[];
}

export function gluonKernel(specialized: Specialized, emission: Emission, option: Specialize): GluonKernel {
  const isGemm = specialized.kind === "gemm";
  const emitter = isGemm ? new GemmEmitter(emission, specialized) : new AttentionEmitter(emission, specialized);
  const { producer, consumer, kernel } = emitter.functions();
  return {
    functions: [producer, consumer, kernel],
    name: kernel.name,
    launchArguments: emitter.launchArguments(kernel),
    isTimed: option === "auto" && emission.ir.tuning.key !== undefined,
    blockTensors: [...new Set(emitter.stagedTensors().map(({ tensor }) => tensor))],
    hasAuthorGrid: isGemm ? specialized.pattern.tileLoop !== undefined : specialized.grid === undefined,
    sizeLimits: isGemm ? [] : headSizeLimits(specialized.pattern.shape.slice(2), specialized.configs),
    configs: emitter.configs(),
    threeConsumers: isGemm ? undefined : threeConsumersOf(specialized, emitter.shared.consumers),
    blocks: (sizes) => emitter.blocks(sizes),
  };
}

type ConfigList = readonly { readonly config: Config }[];

/** The head sizes that only a launch determines. */
const headSizeLimits = (heads: readonly Dim[], configs: ConfigList): GluonKernel["sizeLimits"] =>
  launchHeads(heads, configs).map((dim) => ({ dim, sizes: HEAD_SIZES }));

function threeConsumersOf({ pattern, configs }: SpecializedAttention, consumers: Name): GluonKernel["threeConsumers"] {
  const heads = launchHeads(pattern.shape.slice(2), configs);
  return heads.length > 0 && configs.some((each) => each.consumers === 3) ? { heads, consumers } : undefined;
}

function launchHeads(heads: readonly Dim[], configs: ConfigList): readonly string[] {
  const configNames = new Set(configs.flatMap(({ config }) => Object.keys(config.values)));
  return [...new Set(heads)].filter((dim): dim is string => typeof dim === "string" && !configNames.has(dim));
}
