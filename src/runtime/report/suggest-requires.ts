/**
 * Suggests launch conditions for gaps of a proof: with the condition in `requires`, the same rules prove the
 * obligation.
 */
import type {
  Certificate,
  CompiledKernel,
  HostExpression,
  MissingPrecondition,
  Obligation,
} from "../../compiled/compiled-kernel.js";
import { callbackText, hostValue } from "../../import/host-text.js";
import { declaredShapes } from "../cases/shapes.js";
import { acceptedCase } from "../cases/valid-cases.js";

/** The maximum number of conditions to try per kernel. Each one needs a proof. */
const MAX_TRIES = 12;

const GAP_VERDICTS: ReadonlySet<string> = new Set(["unknown", "refuted"]);

type ObligationKey = Pick<MissingPrecondition, "property" | "of">;

const keyOf = ({ property, of: subject }: ObligationKey): string => `${property} ${subject}`;

/** A condition for `requires`. */
export interface SuggestedRequirement {
  /** `({ N, BLOCK }) => [N.mod(BLOCK).eq(0)]` */
  readonly callback: string;
  /** The names that the condition uses, and the condition without them. */
  readonly names: readonly string[];
  readonly condition: string;
}

/** Returns a function from an obligation to the `requires` that closes its gap with a single condition. */
export function suggestRequires(
  kernel: CompiledKernel,
  { obligations }: Certificate,
): (obligation: Obligation) => SuggestedRequirement | undefined {
  const gaps = new Set(obligations.filter(({ verdict }) => GAP_VERDICTS.has(verdict.kind)).map(keyOf));
  const suggestions = new Map<string, SuggestedRequirement>();
  const isUnresolved = (precondition: MissingPrecondition): boolean =>
    gaps.has(keyOf(precondition)) && !suggestions.has(keyOf(precondition));
  const preconditions = gaps.size === 0 ? [] : (kernel.suggestPreconditions?.() ?? []);
  const launches = preconditions.some(isUnresolved) ? launchesOf(kernel) : [];
  const triedKeys = new Set<string>();
  for (const precondition of preconditions) {
    for (const condition of precondition.wanted) {
      const suggestion = suggestionOf(condition);
      const { callback } = suggestion;
      if (!isUnresolved(precondition) || triedKeys.size >= MAX_TRIES) break;
      if (triedKeys.has(callback) || !isSatisfied(condition, launches)) continue;
      triedKeys.add(callback);
      const remainingGaps = kernel.suggestPreconditions?.([condition]);
      if (!remainingGaps) continue;
      const remainingKeys = new Set(remainingGaps.map(keyOf));
      for (const candidate of preconditions)
        if (isUnresolved(candidate) && !remainingKeys.has(keyOf(candidate)))
          suggestions.set(keyOf(candidate), suggestion);
    }
  }
  return (obligation) => suggestions.get(keyOf(obligation));
}

function suggestionOf(tree: HostExpression): SuggestedRequirement {
  const names = new Set<string>();
  let condition = "";
  const callback = callbackText(
    [tree],
    (name) => {
      names.add(name);
      return { name };
    },
    ([text = ""]) => {
      condition = text;
      return `[${text}]`;
    },
  )!;
  return { callback, names: [...names], condition };
}

/**
 * The values of the kernel's declared launches. A condition that none of them satisfies would close any gap vacuously.
 */
function launchesOf(kernel: CompiledKernel): readonly ReadonlyMap<string, number>[] {
  const shapes = declaredShapes(kernel);
  const selections = shapes.length > 0 ? shapes.map(({ sizes }) => ({ seed: 0, sizes })) : [{ seed: 0 }];
  return selections.flatMap((selection) => {
    const accepted = acceptedCase(kernel, 0, selection);
    if (!("at" in accepted)) return [];
    const { at: testCase } = accepted;
    const values = { ...kernel.sizes(testCase), ...kernel.constexprs(testCase), ...testCase.scalars };
    return [new Map(Object.entries(values).map(([name, value]) => [name, Number(value)] as const))];
  });
}

const isSatisfied = (condition: HostExpression, launches: readonly ReadonlyMap<string, number>[]): boolean =>
  launches.length > 0 && launches.every((values) => hostValue(condition, values) === true);
