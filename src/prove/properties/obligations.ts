/** What must hold of a kernel, as a question to a model of it. */
import type { ProofProperty } from "../../compiled/compiled-kernel.js";
import type { Location } from "../../diagnostics/diagnostic.js";
import type { FactScopes } from "../model/fact-scopes.js";
import type { SymbolicModel } from "../model/model.js";
import type { RefutationQuery } from "../counterexample.js";

/** A model with what is known in it. */
export interface ProofContext {
  readonly model: SymbolicModel;
  readonly contexts: FactScopes;
}

/** Where something stands open: what would show it wrong, if a case can, and what a proof lacks. */
export interface ProofGap {
  readonly question: RefutationQuery | undefined;
  readonly missing: string;
}

/** Something that must hold in each model of a kernel. */
export interface ProofObligation {
  readonly property: ProofProperty;
  /** What it is about: `the store to c`. */
  readonly of: string;
  readonly at: Location | undefined;
  /** Why the author says that it holds, where nothing shows it. */
  readonly waived?: string | undefined;
  /** What is open of it in a model; undefined where it is proved. */
  prove(stand: ProofContext): ProofGap | undefined;
}

/** All of one property that must hold of a kernel. The models differ in constexprs, which may hide statements. */
export type ObligationGenerator = (models: readonly SymbolicModel[]) => readonly ProofObligation[];
