/** Codes of type rules. The texts stand beside the rules, in `src/types` and `src/rules`. */
import { Message } from "../message.js";
import { tileSize } from "./config-codes.js";
import { kernelCall, operatorGradient, operatorResult } from "./operator-codes.js";
import { paramDims, paramKind } from "./param-codes.js";
import { branchCondition, branchValues, helperResult, loopBounds, stateType } from "./control-codes.js";

/** Makes the messages of one kind of mistake. The message's type has the text's type. */
type Mistake<Code extends string> = <const Problem extends string, const Remedy extends string = "">(
  problem: Problem,
  remedy?: Remedy,
) => Message<Code, Problem, Remedy>;

function mistake<const Code extends string>({ code }: { readonly code: Code }): Mistake<Code> {
  return (problem, remedy) => new Message(code, problem, remedy ?? ("" as NonNullable<typeof remedy>));
}
/** A mistake that only type rules find. */
function ruleMistake<const Code extends string>(code: Code): Mistake<Code> & { readonly code: Code } {
  return Object.assign(mistake({ code }), { code });
}

export const stateAsValue = ruleMistake("state-as-value");
export const tensorAsValue = ruleMistake("tensor-as-value");
export const addressAsValue = ruleMistake("address-as-value");
export const needsAddress = ruleMistake("needs-address");
export const readOnly = ruleMistake("read-only");
export const truthValue = ruleMistake("truth-value");
export const dotOperands = ruleMistake("dot-operands");
export const needsConstexpr = ruleMistake("needs-constexpr");
export const numberType = ruleMistake("number-type");
export const dtypeMismatch = ruleMistake("dtype-mismatch");
export const dtypeUnsupported = ruleMistake("dtype-unsupported");
export const shapeMismatch = ruleMistake("shape-mismatch");
export const wrongAxis = ruleMistake("wrong-axis");
export const optionValue = ruleMistake("option-value");
export const operandKind = ruleMistake("operand-kind");

// Mistakes that type rules and other checks find. Their codes belong to other parts of the catalog.
export const wrongTileSize = mistake(tileSize);
export const wrongCondition = mistake(branchCondition);
export const wrongBranchValues = mistake(branchValues);
export const wrongLoopBounds = mistake(loopBounds);
export const wrongStateType = mistake(stateType);
export const wrongHelperResult = mistake(helperResult);
export const wrongDims = mistake(paramDims);
export const wrongParam = mistake(paramKind);
export const wrongCall = mistake(kernelCall);
export const wrongOperatorResult = mistake(operatorResult);
export const wrongGradient = mistake(operatorGradient);

/** The codes of type rules. */
export type RuleCode = ReturnType<
  | typeof stateAsValue
  | typeof tensorAsValue
  | typeof addressAsValue
  | typeof needsAddress
  | typeof readOnly
  | typeof truthValue
  | typeof dotOperands
  | typeof needsConstexpr
  | typeof numberType
  | typeof dtypeMismatch
  | typeof dtypeUnsupported
  | typeof shapeMismatch
  | typeof wrongAxis
  | typeof optionValue
  | typeof operandKind
  | typeof wrongTileSize
  | typeof wrongCondition
  | typeof wrongBranchValues
  | typeof wrongLoopBounds
  | typeof wrongStateType
  | typeof wrongHelperResult
  | typeof wrongDims
>["code"];
