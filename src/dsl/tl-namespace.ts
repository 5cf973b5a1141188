/** `tl` as authors have it: it says what to write for a name that it does not have. */
import type { foreignConstants, ForeignCalls, ForeignFacts, unsupportedFunctions } from "../types/unsupported-names.js";
import * as names from "./tl.js";
import { withNameSuggestions } from "./unknown-names.js";

type Names = typeof names;
/** Triton's language, and what to write for names of Triton's and PyTorch's that it lacks. */
export interface Language
  extends Names, ForeignCalls<typeof unsupportedFunctions, "tl">, ForeignFacts<typeof foreignConstants, "tl"> {}

export const tl = withNameSuggestions(names) as Language;
