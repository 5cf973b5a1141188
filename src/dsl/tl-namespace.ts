/** The public `tl` object. Reading an unknown name throws an error with a suggestion. */
import type { foreignConstants, ForeignCalls, ForeignFacts, unsupportedFunctions } from "../types/unsupported-names.js";
import * as names from "./tl.js";
import { withNameSuggestions } from "./unknown-names.js";

type Names = typeof names;
/** Triton's language, and hints for names of Triton and PyTorch that it does not have. */
export interface Language
  extends Names, ForeignCalls<typeof unsupportedFunctions, "tl">, ForeignFacts<typeof foreignConstants, "tl"> {}

export const tl = withNameSuggestions(names) as Language;
