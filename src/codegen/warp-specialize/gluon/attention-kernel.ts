/** The `@gluon.jit` functions of warp-specialized attention. */
import { attentionPipeline } from "../pattern/pipeline.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import * as py from "../../syntax/py-build.js";
import type { Expression, FunctionDef, Name } from "../../syntax/py.js";
import { attentionConsumer, attentionProducer } from "./attention-partitions.js";
import type { BlockSizes, GluonConfig } from "./kernel.js";
import { type Emission, GluonEmitter } from "./emitter.js";
import type { AttentionNames, Staged } from "./partition-names.js";

export class AttentionEmitter extends GluonEmitter<AttentionNames> {
  readonly shared: AttentionNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedAttention,
  ) {
    super(emission, attentionPipeline);
    const { form, dims } = specialized;
    const [{ keys, values }] = form.loops as readonly [(typeof form.loops)[number]];
    const [queries, k, v] = [form.queries, keys.block, values.block].map((block) => this.stagedOf(block));
    const [q, ks, vs] = [form.queries, keys.block, values.block].map(({ tensor }) => tensor.name);
    this.shared = {
      queries: queries!,
      keys: k!,
      values: v!,
      outputs: this.stagedOutputs(form.stores.flatMap(({ block }) => block ?? [])),
      barriers: this.barrierNames({
        queriesFilled: `${q}_filled`,
        queriesEmptied: `${q}_emptied`,
        keysFilled: `${ks}_filled`,
        keysEmptied: `${ks}_emptied`,
        valuesFilled: `${vs}_filled`,
        valuesEmptied: `${vs}_emptied`,
        turnGiven: "turn_given",
      }),
      stages: this.takeName("STAGES"),
      consumers: this.takeName("CONSUMERS"),
      part: this.takeName("part"),
      rows: this.dimension(dims.rows) as Name,
      scoresLayout: this.takeName("scores_layout"),
      sumLayout: this.takeName("layout"),
    };
  }

  staged(): readonly Staged[] {
    const { queries, keys, values, outputs } = this.shared;
    return [queries, keys, values, ...outputs.values()];
  }

  constants(): readonly Name[] {
    return [this.shared.consumers, this.shared.stages];
  }

  configs(): readonly GluonConfig[] {
    const { shared } = this;
    return this.specialized.configs.map(({ config, consumers, stages }) => ({
      config,
      constants: { [shared.consumers.id]: consumers, [shared.stages.id]: stages },
    }));
  }

  functions(): readonly FunctionDef[] {
    const { names } = this.emission;
    const { specialized, shared } = this;
    const { dims } = specialized;
    const size = (dim: string | number) => this.dimension(dim);
    const producer = this.partFunction(`_${names.wrapper}_load`, attentionProducer(specialized, shared, size), []);
    const layouts = [
      this.productLayout(shared.scoresLayout, dims.columns),
      this.productLayout(shared.sumLayout, dims.width),
    ];
    const consumer = this.partFunction(
      `_${names.wrapper}_multiply`,
      attentionConsumer(specialized, shared, size),
      layouts,
    );
    const { consumers, stages, queries, keys, values, outputs } = shared;
    const kernel = this.kernelFunction([
      this.allocated(queries, consumers),
      this.allocated(keys, stages),
      this.allocated(values, stages),
      ...[...outputs.values()].map((each) => this.allocated(each, consumers)),
      ...this.barriers(),
      ...this.partitions(
        producer,
        consumer,
        specialized.configs.map((config) => config.consumers),
      ),
    ]);
    return [producer, consumer, kernel];
  }

  /** The block of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly (readonly [Staged, readonly Expression[]])[] {
    const { form } = this.specialized;
    const [rows, columns, inner, width] = form.shape;
    const [{ keys, values }] = form.loops as readonly [(typeof form.loops)[number]];
    const part = py.binary(dim(rows), "//", constant(this.shared.consumers));
    const swap = (block: readonly Expression[], isSwapped: boolean) => (isSwapped ? block.toReversed() : block);
    const given = [
      [part, dim(inner)],
      swap([dim(inner), dim(columns)], keys.swapped),
      swap([dim(columns), dim(width)], values.swapped),
    ];
    return this.staged().map((staged, i) => [staged, this.blockOf(staged, given[i] ?? [part, dim(width)])]);
  }
}
