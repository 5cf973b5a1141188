/** The real functions that torch's functions compute. A function without a rule ends the comparison. */
import { elementwiseRules } from "./torch-elementwise.js";
import { foldRules } from "./torch-folds.js";
import { shapeRules } from "./torch-shapes.js";
import type { TorchSymbol } from "./torch-tensor.js";

/** The arguments of a call by parameter; those that are absent or None are undefined. */
export type TorchArguments = Readonly<Record<string, TorchSymbol>>;
export type TorchRule = (args: TorchArguments) => TorchSymbol;

export const torchRules: Readonly<Record<string, TorchRule>> = { ...elementwiseRules, ...shapeRules, ...foldRules };
