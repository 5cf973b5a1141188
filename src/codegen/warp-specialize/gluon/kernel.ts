/** A module's warp-specialized kernel: its functions, its arguments and its configs. */
import type { Config, Specialize } from "../../../compiled/compiled-kernel.js";
import type { TensorParam } from "../../../ir/nodes.js";
import type { Specialized } from "../pattern/specialize.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { HEAD_SIZES } from "../pattern/attention-configs.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression, FunctionDef, Name } from "../../syntax/py.js";
import { AttentionEmitter } from "./attention-kernel.js";
import { GemmEmitter } from "./gemm-kernel.js";
import type { Emission, LaunchArgument } from "./emitter.js";
import type { deviceHelpers } from "./helpers.js";
import type { Staged } from "./partition-names.js";

export interface GluonKernel {
  /** Which functions for the GPU its parts call. */
  readonly helpers: keyof typeof deviceHelpers;
  readonly functions: readonly FunctionDef[];
  /** The kernel that a launch names. */
  readonly name: string;
  /** Its arguments, apart from what configs set. */
  readonly takes: readonly LaunchArgument[];
  /** The tensors that it accesses in blocks. */
  readonly described: readonly TensorParam[];
  /** The wrapper times both kernels for each key of the autotuner, and launches the faster one. */
  readonly isTimed: boolean;
  /** Its launches have the author's grid; otherwise as many programs as multiprocessors. */
  readonly hasOwnGrid: boolean;
  /** Dimensions that it takes in some sizes only. */
  readonly sized: readonly { readonly dim: string; readonly sizes: readonly number[] }[];
  readonly configs: readonly GluonConfig[];
  /** What a launch must have for configs of three consumers, and the constexpr that counts them. */
  readonly thrice?: { readonly heads: readonly string[]; readonly consumers: Name } | undefined;
  /** The block of each descriptor. */
  readonly blocks: (sizes: BlockSizes) => readonly (readonly [Staged, readonly Expression[]])[];
}

export interface GluonConfig {
  /** The author's, or one with the kernel's own sizes. */
  readonly config: Config;
  /** The values of the kernel's own constexprs. */
  readonly constants: Readonly<Record<string, number>>;
  /** The most registers of a thread, where a multiprocessor has room for several programs. */
  readonly registers?: number | undefined;
}

/** Where a hook finds the sizes of blocks. */
export interface BlockSizes {
  readonly dim: (dim: Dim) => Expression;
  readonly constant: (name: Name) => Expression;
}

export function gluonKernel(specialized: Specialized, emission: Emission, asked: Specialize): GluonKernel {
  const isGemm = specialized.kind === "gemm";
  const emitter = isGemm ? new GemmEmitter(emission, specialized) : new AttentionEmitter(emission, specialized);
  const functions = emitter.functions();
  const kernel = functions.at(-1)!;
  const hasLead = isGemm && specialized.form.stores.some(({ lead }) => lead.length > 0);
  return {
    helpers: hasLead ? "batch" : specialized.kind,
    functions,
    name: kernel.name,
    takes: emitter.taken(kernel),
    isTimed: asked === "auto" && emission.ir.tuning.key !== undefined,
    described: [...new Set(emitter.staged().map(({ tensor }) => tensor))],
    hasOwnGrid: isGemm ? specialized.form.tiles !== undefined : specialized.grid === undefined,
    sized: isGemm ? [] : sizedHeads(specialized.form.shape.slice(2), specialized.configs),
    configs: emitter.configs(),
    thrice: isGemm ? undefined : thriceIn(specialized, emitter.shared.consumers),
    blocks: (sizes) => emitter.blocks(sizes),
  };
}

type Configs = readonly { readonly config: Config }[];

/** The sizes of heads that only a launch knows. */
const sizedHeads = (heads: readonly Dim[], configs: Configs): GluonKernel["sized"] =>
  askedHeads(heads, configs).map((dim) => ({ dim, sizes: HEAD_SIZES }));

function thriceIn({ form, configs }: SpecializedAttention, consumers: Name): GluonKernel["thrice"] {
  const heads = askedHeads(form.shape.slice(2), configs);
  return heads.length > 0 && configs.some((each) => each.consumers === 3) ? { heads, consumers } : undefined;
}

function askedHeads(heads: readonly Dim[], configs: Configs): readonly string[] {
  const known = new Set(configs.flatMap(({ config }) => Object.keys(config.values)));
  return [...new Set(heads)].filter((dim): dim is string => typeof dim === "string" && !known.has(dim));
}
