/** The table of torch's functions: what references may call, by torch's names. */
import { activations } from "./torch-activation.js";
import { arithmetic } from "./torch-arithmetic.js";
import { casts } from "./torch-cast.js";
import { comparison } from "./torch-comparison.js";
import { convolutions } from "./torch-convolution.js";
import { creation } from "./torch-create.js";
import { indexing } from "./torch-index.js";
import { losses } from "./torch-loss.js";
import { normalizations } from "./torch-normalize.js";
import { NotEvaluated } from "./not-evaluated.js";
import type { TorchArgument, TorchCall } from "./torch-node.js";
import { ordering } from "./torch-order.js";
import { products } from "./torch-product.js";
import type { Place, TorchFunction } from "./torch-record.js";
import { reductions } from "./torch-reduce.js";
import { shapes } from "./torch-shape.js";

/** A record without the types of its places. */
export type Listed = TorchFunction & { readonly places: readonly Place[] };

export const torchFunctions: Readonly<Record<string, Listed>> = {
  ...arithmetic,
  ...comparison,
  ...reductions,
  ...casts,
  ...products,
  ...shapes,
  ...indexing,
  ...ordering,
  ...creation,
  ...activations,
  ...normalizations,
  ...losses,
  ...convolutions,
};

const FUNCTIONAL = "nn.functional.";

/** The record of what is called, if there is one for that place. */
export function recordOf({ kind, name }: TorchCall): Listed | undefined {
  const isFunctional = kind === "call" && name.startsWith(FUNCTIONAL);
  const place = kind === "method" ? "method" : isFunctional ? "functional" : "torch";
  const key = isFunctional ? name.slice(FUNCTIONAL.length) : name;
  const found = Object.hasOwn(torchFunctions, key) ? torchFunctions[key]! : undefined;
  return found?.places.includes(place) ? found : undefined;
}

/** What a call gives for each parameter. */
export type Bound = Readonly<Record<string, TorchArgument | undefined>>;

/** @throws NotEvaluated if the record does not have a parameter that the call gives. */
export function bound({ name, args, keywords }: TorchCall, { params, rest }: TorchFunction): Bound {
  const more = args.slice(params.length);
  if (rest === undefined && more.length > 0)
    throw new NotEvaluated(`the reference gives ${name} ${args.length} arguments, which cannot be evaluated here`);
  for (const keyword of Object.keys(keywords))
    if (!params.includes(keyword))
      throw new NotEvaluated(`the reference gives ${name} ${keyword}, which cannot be evaluated here`);
  const positional = params.map((param, i) => [param, args[i]] as const);
  return { ...Object.fromEntries(positional), ...(rest !== undefined && { [rest]: more }), ...keywords };
}
