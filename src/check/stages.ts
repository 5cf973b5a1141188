/**
 * What may stand in a program at each stage: after tracing, and after lowering. Each rule is a sentence with the function
 * that finds what breaks it. Builds check the rules if TILESCRIPT_STAGES is set, as it is in tests: whatever breaks one is a
 * mistake of TileScript.
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
import { typedArguments, typeOfArgument } from "../ir/typed.js";
import { argumentsOf, blocksOf, bodiesOf, resultsOf, valuesIn, walk, walkAll } from "../ir/walk.js";
import { sameType, showType } from "../types/types.js";

export type Stage = "traced" | "lowered";

export interface StageRule {
  readonly says: string;
  /** What breaks it, in words; empty if it holds. */
  readonly broken: (ir: KernelIR) => readonly string[];
}

/** A rule about each op on its own; `why` is undefined where it holds. */
function ofOps(says: string, why: (statement: OpStatement, ir: KernelIR) => string | undefined): StageRule {
  return {
    says,
    broken: (ir) => {
      const found: string[] = [];
      walkAll(ir, (statement) => {
        const reason = statement.kind === "op" ? why(statement, ir) : undefined;
        if (reason !== undefined) found.push(placed(reason, statement));
      });
      return found;
    },
  };
}

const placed = (reason: string, { at }: Statement): string => (at ? `${formatLocation(at)}: ${reason}` : reason);

const always = (): readonly StageRule[] => [
  {
    says: "One statement makes each value.",
    broken: (ir) => {
      const made = new Set<Value>(ir.params.map(({ value }) => value));
      const twice: string[] = [];
      for (const body of bodiesOf(ir))
        walk(body, (statement) => {
          for (const value of madeBy(statement)) {
            if (made.has(value)) twice.push(placed(`%${value.id} is made twice`, statement));
            made.add(value);
          }
        });
      return twice;
    },
  },
  {
    says: "A value is made before its use, in a block around it; what a constexpr branch makes may be used after it.",
    broken: (ir) => new Visibility(ir).broken(),
  },
  ofOps("An op has an argument for each of its operands, and no option that it does not know.", ({ op, ...given }) => {
    const unknown = Object.keys(given.options).filter((name) => !(name in op.options));
    if (unknown.length > 0) return `${op.name} has no option ${unknown.join()}`;
    const expected = Object.keys(op.operands).length;
    return given.operands.length === expected
      ? undefined
      : `${op.name} has ${given.operands.length} operands, not ${expected}`;
  }),
  ofOps("The results of an op have the types that its own rule gives.", retyped),
];

const traced = (): readonly StageRule[] => [
  ofOps(
    "A view is the first operand of an access, or of an op that permutes its axes.",
    ({ op, operands, options }) => {
      const [first, ...others] = operands;
      const elsewhere = [...others, ...Object.values(options)].some((argument) => holdsView(argument));
      if (elsewhere) return `${op.name} takes a view where no address stands`;
      if (!holdsView(first) || op.effect !== "pure" || op.lowering?.permutes) return undefined;
      return `${op.name} computes with a view`;
    },
  ),
  {
    says: "Variables, loops, branches and results of helper functions hold no view.",
    broken: (ir) => {
      const found: string[] = [];
      walkAll(ir, (statement) => {
        const carried = statement.kind === "op" ? [] : argumentsOf(statement);
        const yielded = blocksOf(statement).flatMap(({ yields }) => yields);
        if ([...carried, ...yielded].some(holdsView)) found.push(placed(`${statement.kind} holds a view`, statement));
      });
      for (const { body } of ir.functions)
        if (body.yields.some(holdsView)) found.push("a helper function gives a view");
      return found;
    },
  },
];

const lowered = (): readonly StageRule[] => [
  ofOps("No view is left, and no op that only lowering knows.", ({ op, results }) =>
    op.spelling.form === "lowered" || results.some(({ type }) => type.kind === "view")
      ? `${op.name} is not lowered`
      : undefined,
  ),
  ofOps("An op reaches memory by a pointer or a descriptor; no tensor is an argument.", (statement) => {
    const tensor = argumentsOf(statement).find((argument) => typeOfArgument(argument).kind === "tensor");
    if (tensor) return `${statement.op.name} takes a tensor`;
    if (statement.op.effect === "pure") return undefined;
    const addresses = Object.values(statement.op.operands).flatMap((kind, i) =>
      kind === "address" ? [statement.operands[i]] : [],
    );
    const wrong = addresses.some((address) => {
      const kind = address && typeOfArgument(address).kind;
      return kind !== "pointer" && kind !== "descriptor";
    });
    return wrong ? `${statement.op.name} has no pointer` : undefined;
  }),
  ofOps("What masked lanes hold stands beside a mask.", ({ op, options }) =>
    "other" in options && !("mask" in options) ? `${op.name} has other and no mask` : undefined,
  ),
];

const ofStage = { traced, lowered };

/** The rules of a stage: made when they are asked for, so that nothing of them stays where nobody asks. */
export const rulesOf = (stage: Stage): readonly StageRule[] => [...always(), ...ofStage[stage]()];

/** @throws Error with every rule that the program breaks. */
export function checkStage(ir: KernelIR, stage: Stage): void {
  const broken = rulesOf(stage).flatMap(({ says, broken }) =>
    broken(ir).map((why) => `internal: ${ir.name}, ${stage}: ${why}. ${says}`),
  );
  if (broken.length > 0) throw new Error(broken.join("\n"));
}

function holdsView(argument: Argument | undefined): boolean {
  if (argument === undefined) return false;
  return isList(argument) ? argument.some(holdsView) : typeOfArgument(argument).kind === "view";
}

function madeBy(statement: Statement): readonly Value[] {
  return statement.kind === "for" ? [statement.index] : resultsOf(statement);
}

function retyped(statement: OpStatement): string | undefined {
  const { op, operands, results } = statement;
  // Another rule tells of those.
  if (operands.length !== Object.keys(op.operands).length) return undefined;
  const answer = op.infer(typedArguments(statement));
  if (typeof answer === "string") return answer;
  const types = "kind" in answer ? (answer.kind === "none" ? [] : [answer]) : answer;
  const isSame = types.length === results.length && results.every(({ type }, i) => sameType(type, types[i]!));
  if (isSame) return undefined;
  return `${op.name} gives ${types.map(showType).join()}, its results are ${results.map(({ type }) => showType(type)).join()}`;
}

/** What can be seen at each place of a program. */
class Visibility {
  readonly #found: string[] = [];
  /** Parameters, and what the host computes: visible everywhere, in helper functions too. */
  readonly #shared: ReadonlySet<Value>;

  constructor(readonly ir: KernelIR) {
    this.#shared = new Set(
      ir.params
        .flatMap((param): readonly Argument[] => {
          const given = "given" in param && param.given ? [param.given] : [];
          const strides = param.kind === "tensor" ? [param.pointer, ...param.strides] : [];
          return [param.value, ...given, ...strides];
        })
        .filter(isValue),
    );
  }

  broken(): readonly string[] {
    const { functions, body } = this.ir;
    for (const helper of functions) this.#block(helper.body, new Set<Value | Variable>(helper.params));
    this.#block(body, new Set());
    return this.#found;
  }

  /** Adds what the block makes to `seen`, which is what is visible at its start. */
  #block({ statements, yields }: Block, seen: Set<Value | Variable>): void {
    for (const statement of statements) {
      for (const argument of argumentsOf(statement)) this.#use(argument, seen, statement);
      if ((statement.kind === "read" || statement.kind === "write") && !seen.has(statement.variable))
        this.#found.push(placed(`variable @${statement.variable.id} is not visible here`, statement));
      this.#inner(statement, seen);
      for (const value of resultsOf(statement)) seen.add(value);
      if (statement.kind === "let") seen.add(statement.variable);
    }
    for (const argument of yields) this.#use(argument, seen, undefined);
  }

  #inner(statement: Statement, seen: Set<Value | Variable>): void {
    const isConstexpr = statement.kind === "if" && typeOfArgument(statement.condition).kind === "constexpr";
    let inside = seen;
    for (const block of blocksOf(statement)) {
      // A body follows its condition, and Python keeps what a constexpr branch makes.
      if (!isConstexpr && (statement.kind !== "while" || inside === seen)) inside = new Set(seen);
      if (statement.kind === "for") inside.add(statement.index);
      this.#block(block, inside);
    }
  }

  #use(argument: Argument, seen: ReadonlySet<Value | Variable>, statement: Statement | undefined): void {
    if (isFunction(argument)) {
      if (!this.ir.functions.includes(argument.function)) this.#found.push("a helper function is not the kernel's");
      return;
    }
    for (const value of isList(argument) ? argument.flatMap(valuesIn) : valuesIn(argument)) {
      // A constexpr is its text, which a helper function may look at too.
      if (seen.has(value) || this.#shared.has(value) || value.type.kind === "constexpr") continue;
      const reason = `%${value.id} is not visible here`;
      this.#found.push(statement ? placed(reason, statement) : reason);
    }
  }
}
