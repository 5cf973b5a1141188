/** The table of torch's functions: what references may call, by torch's names. */
import { activations } from "./activation.js";
import { arithmetic } from "./arithmetic.js";
import { casts } from "./cast.js";
import { comparison } from "./comparison.js";
import { convolutions } from "./convolution.js";
import { creation } from "./create.js";
import { indexing } from "./indexing.js";
import { losses } from "./loss.js";
import { normalizations } from "./normalization.js";
import { UnsupportedByEvaluator } from "./errors.js";
import type { TorchArgument, TorchCall } from "./node.js";
import { ordering } from "./order.js";
import { products } from "./product.js";
import type { CallForm, TorchFunction } from "./record.js";
import { reductions } from "./reduce.js";
import { shapes } from "./shape.js";

/** A record without the types of its places. */
export type Listed = TorchFunction & { readonly places: readonly CallForm[] };

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
    throw new UnsupportedByEvaluator(
      `the reference gives ${name} ${args.length} arguments, which cannot be evaluated here`,
    );
  for (const keyword of Object.keys(keywords))
    if (!params.includes(keyword))
      throw new UnsupportedByEvaluator(`the reference gives ${name} ${keyword}, which cannot be evaluated here`);
  const positional = params.map((param, i) => [param, args[i]] as const);
  return { ...Object.fromEntries(positional), ...(rest !== undefined && { [rest]: more }), ...keywords };
}
