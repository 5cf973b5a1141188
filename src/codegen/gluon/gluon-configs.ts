/** The configs of a warp-specialised kernel: their sizes, and the hook that sets the blocks of their descriptors. */
import type { KernelIR } from "../../ir/nodes.js";
import { extentDim } from "../../specialise/block-index.js";
import type { RingConfig } from "../../specialise/ring-configs.js";
import { type KernelNames, parameterName } from "../names/kernel-names.js";
import * as py from "../python/py-build.js";
import type { Expression, FunctionDef } from "../python/py.js";
import { SET_BLOCK } from "./gluon-helpers.js";
import type { GluonKernel } from "./gluon-kernel.js";

/** The function that sets the blocks of a config's descriptors. */
export function blockHook(ir: KernelIR, kernel: GluonKernel, names: KernelNames, name: string): FunctionDef {
  const { form } = kernel.specialised;
  const arg = (key: string) => py.subscript(py.name("args"), py.string(key));
  const size = (dim: string | number): Expression =>
    typeof dim === "number" ? py.number(String(dim)) : arg(parameterName(ir, names, dim));
  const [rows, columns, inner] = form.shape;
  const part = py.binary(size(rows), "//", arg("CONSUMERS"));
  const described = kernel.takes.filter((each) => "blocks" in each);
  const body = described.map((staged, i) => {
    const swapped = form.operands[i]?.swapped ?? false;
    const store = form.stores.find(({ tensor }) => tensor === staged.tensor);
    const width = store && extentDim(store.axes[1]!.extent);
    const block =
      i === 0
        ? [part, size(inner)]
        : i === 1
          ? [size(inner), size(columns)]
          : [part, py.binary(size(width!), "//", arg("PIECES"))];
    const ordered = swapped ? block.toReversed() : block;
    return py.expression(py.call(SET_BLOCK, arg(staged.descriptor.id), py.list(...ordered)));
  });
  return {
    kind: "function",
    name,
    decorators: [],
    params: [{ name: "args" }],
    docstring: "Gives each descriptor the block of the config that is to run.",
    body,
  };
}

/** `@triton.autotune` over the configs that fit, each with the sizes of its ring. */
export function tuned(ir: KernelIR, names: KernelNames, configs: readonly RingConfig[], hook: string): Expression {
  const listed = configs.map(({ config, consumers, stages, pieces, depth }) => {
    const own = Object.entries(config.values).map(([name, value]) => ({
      key: py.string(parameterName(ir, names, name)),
      value: py.constant(value),
    }));
    const ring = Object.entries({ CONSUMERS: consumers, STAGES: stages, PIECES: pieces, DEPTH: depth }).map(
      ([name, value]) => ({
        key: py.string(name),
        value: py.number(String(value)),
      }),
    );
    const keywords = py.keywords({ num_warps: py.number("4"), pre_hook: py.name(hook) });
    return py.withOrigin(py.call("triton.Config", py.dict(...own, ...ring), ...keywords), config.at);
  });
  const key = (ir.tuning.key ?? []).map((name) => py.string(parameterName(ir, names, name)));
  return py.call("triton.autotune", ...py.keywords({ configs: py.list(...listed), key: py.list(...key) }));
}
