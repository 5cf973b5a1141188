/** The warp-specialized kernel of a module: its functions, arguments and configs. */
import type { Config, Specialize } from "../../../compiled/compiled-kernel.js";
import type { TensorParam } from "../../../ir/nodes.js";
import type { Specialized } from "../pattern/specialize.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { hasLongHeads, HEAD_SIZES, LONG_HEAD_SIZE, THREE_CONSUMER_HEAD_SIZES } from "../pattern/attention-configs.js";
import type { ConstexprArm } from "../pattern/streamed-row-count.js";
import { columnDims, threeConsumerHead } from "../pattern/streamed-configs.js";
import type { SpecializedStream } from "../pattern/streamed-plan.js";
import type { Dim } from "../../../types/shape.js";
import type { FunctionDef, Name } from "../../syntax/py.js";
import { AttentionEmitter } from "./attention-kernel.js";
import { GemmEmitter } from "./gemm-kernel.js";
import { StreamedEmitter } from "./streamed-kernel.js";
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
  readonly threeConsumers?: ThreeConsumers | undefined;
  readonly longHeads?: LongHeads | undefined;
  /** The block shape of each descriptor. */
  readonly blocks: (sizes: BlockSizes) => readonly StagedBlock[];
}

/** The requirements of configs of three consumers. */
export interface ThreeConsumers {
  /** Dims that must have {@link THREE_CONSUMER_HEAD_SIZES} elements. */
  readonly heads: readonly string[];
  readonly branches: readonly ConstexprArm[];
  /** The constexpr of the consumer count. */
  readonly consumers: Name;
}

/** The configs of several pieces are for launches in which one of these dims has {@link LONG_HEAD_SIZE} elements. */
export interface LongHeads {
  readonly heads: readonly string[];
  readonly pieces: Name;
}

export function gluonKernel(specialized: Specialized, emission: Emission, option: Specialize): GluonKernel {
  const emitter = emitterOf(specialized, emission);
  const { others = [], producer, consumer, kernel } = emitter.functions();
  return {
    functions: [producer, ...others, consumer, kernel],
    name: kernel.name,
    launchArguments: emitter.launchArguments(kernel),
    isTimed: option === "auto" && emission.ir.tuning.key !== undefined,
    blockTensors: [...new Set(emitter.stagedTensors().map(({ tensor }) => tensor))],
    hasAuthorGrid: hasAuthorGrid(specialized),
    sizeLimits: headSizeLimits(specialized),
    configs: emitter.configs(),
    threeConsumers: specialized.kind === "gemm" ? undefined : threeConsumersOf(specialized, emitter.shared.consumers),
    longHeads: emitter instanceof AttentionEmitter ? longHeadsOf(emitter) : undefined,
    blocks: (sizes) => emitter.blocks(sizes),
  };
}

function emitterOf(specialized: Specialized, emission: Emission) {
  switch (specialized.kind) {
    case "gemm":
      return new GemmEmitter(emission, specialized);
    case "attention":
      return new AttentionEmitter(emission, specialized);
    case "streamed":
      return new StreamedEmitter(emission, specialized);
    default:
      return specialized satisfies never;
  }
}

function hasAuthorGrid(specialized: Specialized): boolean {
  switch (specialized.kind) {
    case "gemm":
      return specialized.pattern.tileLoop !== undefined;
    case "attention":
      return specialized.grid === undefined;
    case "streamed":
      return true;
    default:
      return specialized satisfies never;
  }
}

function headDims(specialized: Specialized): readonly Dim[] {
  if (specialized.kind === "gemm") return [];
  return specialized.kind === "attention" ? specialized.pattern.shape.slice(2) : columnDims(specialized.pattern);
}

type ConfigList = readonly { readonly config: Config }[];

/** The head sizes that only a launch determines. */
function headSizeLimits(specialized: Specialized): GluonKernel["sizeLimits"] {
  const hasLong = specialized.kind === "attention" && specialized.configs.some(hasLongHeads);
  const sizes = hasLong ? [...HEAD_SIZES, LONG_HEAD_SIZE] : HEAD_SIZES;
  return launchHeads(headDims(specialized), specialized.configs).map((dim) => ({ dim, sizes }));
}

function threeConsumersOf(
  specialized: SpecializedAttention | SpecializedStream,
  consumers: Name,
): ThreeConsumers | undefined {
  const { kind, pattern, configs } = specialized;
  const config = configs.find((each) => each.consumers === 3)?.config;
  if (!config) return undefined;
  const hasShortHeads = kind === "attention" || threeConsumerHead(pattern, config) === THREE_CONSUMER_HEAD_SIZES;
  const heads = hasShortHeads ? launchHeads(headDims(specialized), configs) : [];
  const branches = kind === "attention" ? [] : specialized.branches;
  return heads.length + branches.length > 0 ? { heads, branches, consumers } : undefined;
}

function longHeadsOf({ specialized, shared: { pieces } }: AttentionEmitter): LongHeads | undefined {
  const { configs } = specialized;
  const heads = launchHeads(headDims(specialized), configs);
  return pieces && heads.length > 0 && !configs.every(hasLongHeads) ? { heads, pieces } : undefined;
}

function launchHeads(heads: readonly Dim[], configs: ConfigList): readonly string[] {
  const configNames = new Set(configs.flatMap(({ config }) => Object.keys(config.values)));
  return [...new Set(heads)].filter((dim): dim is string => typeof dim === "string" && !configNames.has(dim));
}
