/**
 * Invariants of the IR after each stage: after tracing, and after lowering. Each rule is a sentence with the function
 * that finds violations. Builds check the rules if TILESCRIPT_STAGES is set, as it is in tests. A violation is a bug in
 * TileScript.
 */
import { formatLocation } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  isFunction,
  isList,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  Value,
  type Variable,
} from "../ir/nodes.js";
import {
  argumentsOf,
  blocksOf,
  bodiesOf,
  resultsOf,
  valuesIn,
  walk,
  walkAll,
  typedArguments,
  typeOfArgument,
} from "../ir/walk.js";
import { showType, sameTypes } from "../types/types.js";
import { Message } from "../diagnostics/message.js";

export type Stage = "traced" | "lowered";

export interface StageRule {
  readonly invariant: string;
  /** Descriptions of the violations. */
  readonly violations: (ir: KernelIR) => readonly string[];
}

/** A rule about single ops. `why` returns undefined if the op satisfies it. */
function opRule(invariant: string, why: (statement: OpStatement, ir: KernelIR) => string | undefined): StageRule {
  return {
    invariant,
    violations: (ir) => {
      const violations: string[] = [];
      walkAll(ir, (statement) => {
        const reason = statement.kind === "op" ? why(statement, ir) : undefined;
        if (reason !== undefined) violations.push(withLocation(reason, statement));
      });
      return violations;
    },
  };
}

const withLocation = (reason: string, { location: at }: Statement): string =>
  at ? `${formatLocation(at)}: ${reason}` : reason;

const commonRules = (): readonly StageRule[] => [
  {
    invariant: "One statement makes each value.",
    violations: (ir) => {
      const defined = new Set<Value>(ir.params.map(({ value }) => value));
      const duplicates: string[] = [];
      for (const body of bodiesOf(ir))
        walk(body, (statement) => {
          for (const value of definedBy(statement)) {
            if (defined.has(value)) duplicates.push(withLocation(`%${value.id} is made twice`, statement));
            defined.add(value);
          }
        });
      return duplicates;
    },
  },
  {
    invariant:
      "A value is made before its use, in a block around it; what a constexpr branch makes may be used after it.",
    violations: (ir) => new VisibilityChecker(ir).violations(),
  },
  opRule(
    "An op has an argument for each of its operands, and no option that it does not know.",
    ({ op, ...statement }) => {
      const unknown = Object.keys(statement.options).filter((name) => !(name in op.options));
      if (unknown.length > 0) return `${op.name} has no option ${unknown.join()}`;
      const expected = Object.keys(op.operands).length;
      return statement.operands.length === expected
        ? undefined
        : `${op.name} has ${statement.operands.length} operands, not ${expected}`;
    },
  ),
  opRule("The results of an op have the types that its own rule gives.", retypingError),
];

const tracedRules = (): readonly StageRule[] => [
  opRule(
    "A view is the first operand of an access, or of an op that permutes its axes.",
    ({ op, operands, options }) => {
      const [first, ...others] = operands;
      const isMisplaced = [...others, ...Object.values(options)].some((argument) => containsView(argument));
      if (isMisplaced) return `${op.name} takes a view where no address stands`;
      if (!containsView(first) || op.effect !== "pure" || op.lowering?.permutes) return undefined;
      return `${op.name} computes with a view`;
    },
  ),
  {
    invariant: "Variables, loops, branches and results of helper functions hold no view.",
    violations: (ir) => {
      const violations: string[] = [];
      walkAll(ir, (statement) => {
        const carried = statement.kind === "op" ? [] : argumentsOf(statement);
        const yielded = blocksOf(statement).flatMap(({ yields }) => yields);
        if ([...carried, ...yielded].some(containsView))
          violations.push(withLocation(`${statement.kind} holds a view`, statement));
      });
      for (const { body } of ir.functions)
        if (body.yields.some(containsView)) violations.push("a helper function gives a view");
      return violations;
    },
  },
];

const loweredRules = (): readonly StageRule[] => [
  opRule("No view is left, and no op that only lowering knows.", ({ op, results }) =>
    op.spelling.form === "lowered" || results.some(({ type }) => type.kind === "view")
      ? `${op.name} is not lowered`
      : undefined,
  ),
  opRule("An op reaches memory by a pointer or a descriptor; no tensor is an argument.", (statement) => {
    const tensor = argumentsOf(statement).find((argument) => typeOfArgument(argument).kind === "tensor");
    if (tensor) return `${statement.op.name} takes a tensor`;
    if (statement.op.effect === "pure") return undefined;
    const addresses = Object.values(statement.op.operands).flatMap((kind, i) =>
      kind === "address" ? [statement.operands[i]] : [],
    );
    const isInvalid = addresses.some((address) => {
      const kind = address && typeOfArgument(address).kind;
      return kind !== "pointer" && kind !== "descriptor";
    });
    return isInvalid ? `${statement.op.name} has no pointer` : undefined;
  }),
  opRule("What masked lanes hold stands beside a mask.", ({ op, options }) =>
    "other" in options && !("mask" in options) ? `${op.name} has other and no mask` : undefined,
  ),
];

const STAGE_RULES = { traced: tracedRules, lowered: loweredRules };

/** The rules of a stage, created on demand to free the memory if no stage is checked. */
export const rulesOf = (stage: Stage): readonly StageRule[] => [...commonRules(), ...STAGE_RULES[stage]()];

/** @throws Error that lists each rule the program violates. */
export function checkStage(ir: KernelIR, stage: Stage): void {
  const violations = rulesOf(stage).flatMap(({ invariant, violations }) =>
    violations(ir).map((why) => `internal: ${ir.name}, ${stage}: ${why}. ${invariant}`),
  );
  if (violations.length > 0) throw new Error(violations.join("\n"));
}

function containsView(argument: Argument | undefined): boolean {
  if (argument === undefined) return false;
  return isList(argument) ? argument.some(containsView) : typeOfArgument(argument).kind === "view";
}

function definedBy(statement: Statement): readonly Value[] {
  return statement.kind === "for" ? [statement.index] : resultsOf(statement);
}

function retypingError(statement: OpStatement): string | undefined {
  const { op, operands, results } = statement;
  // Another rule reports these.
  if (operands.length !== Object.keys(op.operands).length) return undefined;
  const inferred = op.infer(typedArguments(statement));
  if (inferred instanceof Message) return inferred.text;
  const types = [inferred].flat().filter(({ kind }) => kind !== "none");
  const resultTypes = results.map(({ type }) => type);
  if (sameTypes(resultTypes, types)) return undefined;
  return `${op.name} gives ${types.map(showType).join()}, its results are ${resultTypes.map(showType).join()}`;
}

/** Checks that each value is visible where it is used. */
class VisibilityChecker {
  readonly #violations: string[] = [];
  /** Parameters and values computed by the host. They are visible everywhere, also in helper functions. */
  readonly #shared: ReadonlySet<Value>;

  constructor(readonly ir: KernelIR) {
    this.#shared = new Set(
      ir.params
        .flatMap((param): readonly Argument[] => {
          const flags = "given" in param && param.given ? [param.given] : [];
          const strides = param.kind === "tensor" ? [param.pointer, ...param.strides] : [];
          return [param.value, ...flags, ...strides];
        })
        .filter(isValue),
    );
  }

  violations(): readonly string[] {
    const { functions, body } = this.ir;
    for (const helper of functions) this.#block(helper.body, new Set<Value | Variable>(helper.params));
    this.#block(body, new Set());
    return this.#violations;
  }

  /** Adds the block's definitions to `visible`, the values visible at its start. */
  #block({ statements, yields }: Block, visible: Set<Value | Variable>): void {
    for (const statement of statements) {
      for (const argument of argumentsOf(statement)) this.#use(argument, visible, statement);
      if ((statement.kind === "read" || statement.kind === "write") && !visible.has(statement.variable))
        this.#violations.push(withLocation(`variable @${statement.variable.id} is not visible here`, statement));
      this.#nestedBlocks(statement, visible);
      for (const value of resultsOf(statement)) visible.add(value);
      if (statement.kind === "let") visible.add(statement.variable);
    }
    for (const argument of yields) this.#use(argument, visible, undefined);
  }

  #nestedBlocks(statement: Statement, visible: Set<Value | Variable>): void {
    const isConstexpr = statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";
    let innerVisible = visible;
    for (const block of blocksOf(statement)) {
      // A while body sees the values of its condition, and Python keeps names that a constexpr branch assigns.
      if (!isConstexpr && (statement.kind !== "while" || innerVisible === visible)) innerVisible = new Set(visible);
      if (statement.kind === "for") innerVisible.add(statement.index);
      this.#block(block, innerVisible);
    }
  }

  #use(argument: Argument, visible: ReadonlySet<Value | Variable>, statement: Statement | undefined): void {
    if (isFunction(argument)) {
      if (!this.ir.functions.includes(argument.function))
        this.#violations.push("a helper function is not the kernel's");
      return;
    }
    for (const value of isList(argument) ? argument.flatMap(valuesIn) : valuesIn(argument)) {
      // A constexpr is emitted as its text, which helper functions can use as well.
      if (visible.has(value) || this.#shared.has(value) || value.type.kind === "constexpr") continue;
      const reason = `%${value.id} is not visible here`;
      this.#violations.push(statement ? withLocation(reason, statement) : reason);
    }
  }
}
