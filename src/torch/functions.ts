/** The table of torch functions that references may call, by their torch names. */
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

/** A function without its types. */
export type ListedFunction = TorchFunction & { readonly places: readonly CallForm[] };

export const torchFunctions: Readonly<Record<string, ListedFunction>> = {
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
const FORM_OF_KIND = { method: "method", call: "torch" } as const;

/** The function of a call, if it is available in this call form. */
export function recordOf({ kind, name }: TorchCall): ListedFunction | undefined {
  const isFunctional = kind === "call" && name.startsWith(FUNCTIONAL);
  const callForm = isFunctional ? "functional" : FORM_OF_KIND[kind];
  const key = isFunctional ? name.slice(FUNCTIONAL.length) : name;
  const record = Object.hasOwn(torchFunctions, key) ? torchFunctions[key] : undefined;
  return record?.places.includes(callForm) ? record : undefined;
}

/** The arguments of a call by parameter. */
export type BoundArguments = Readonly<Record<string, TorchArgument | undefined>>;

/** @throws UnsupportedByEvaluator if the call has an argument without a known parameter. */
export function bindArguments(
  { name, args, keywords }: TorchCall,
  { params, variadic }: TorchFunction,
): BoundArguments {
  const extra = args.slice(params.length);
  if (variadic === undefined && extra.length > 0)
    throw new UnsupportedByEvaluator(
      `the reference gives ${name} ${args.length} arguments, which cannot be evaluated here`,
    );
  for (const keyword of Object.keys(keywords))
    if (!params.includes(keyword))
      throw new UnsupportedByEvaluator(`the reference gives ${name} ${keyword}, which cannot be evaluated here`);
  const positional = params.map((param, i) => [param, args[i]] as const);
  return { ...Object.fromEntries(positional), ...(variadic !== undefined && { [variadic]: extra }), ...keywords };
}
