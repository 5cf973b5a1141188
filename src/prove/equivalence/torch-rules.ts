/** The real functions that torch's functions compute. A function without a rule ends the comparison. */
import { elementwiseRules } from "./torch-elementwise.js";
import { foldRules } from "./torch-folds.js";
import { shapeRules } from "./torch-shapes.js";
import type { TorchRule } from "./torch-tensor.js";

export const torchRules: Readonly<Record<string, TorchRule>> = { ...elementwiseRules, ...shapeRules, ...foldRules };
