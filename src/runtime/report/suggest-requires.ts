/** For what a proof leaves open, a condition of a launch that closes it: with it in `requires`, the same rules show it. */
import type {
  Certificate,
  CompiledKernel,
  HostExpression,
  MissingPrecondition,
  Obligation,
} from "../../compiled/compiled-kernel.js";
import { callback, hostValue } from "../../import/host-text.js";
import { declaredShapes } from "../cases/shapes.js";
import { acceptedCase } from "../cases/valid-cases.js";

/** How many conditions are tried of a kernel: each costs a proof. */
const MOST_TRIED = 12;

const OPEN: ReadonlySet<string> = new Set(["unknown", "refuted"]);

type Thing = Pick<MissingPrecondition, "property" | "of">;

const keyOf = ({ property, of }: Thing): string => `${property} ${of}`;

/** The text of a `requires` for each thing that is open and that one condition closes. */
export function suggestRequires(
  kernel: CompiledKernel,
  { obligations }: Certificate,
): (obligation: Obligation) => string | undefined {
  const open = new Set(obligations.filter(({ verdict }) => OPEN.has(verdict.kind)).map(keyOf));
  const found = new Map<string, string>();
  const isLeft = (lack: MissingPrecondition): boolean => open.has(keyOf(lack)) && !found.has(keyOf(lack));
  const lacks = open.size === 0 ? [] : (kernel.suggestPreconditions?.() ?? []);
  const launches = lacks.some(isLeft) ? launchesOf(kernel) : [];
  const tried = new Set<string>();
  for (const lack of lacks) {
    for (const condition of lack.wanted) {
      const text = textOf(condition);
      if (!isLeft(lack) || tried.size >= MOST_TRIED) break;
      if (tried.has(text) || !isMet(condition, launches)) continue;
      tried.add(text);
      const still = kernel.suggestPreconditions?.([condition]);
      if (!still) continue;
      const rest = new Set(still.map(keyOf));
      for (const each of lacks) if (isLeft(each) && !rest.has(keyOf(each))) found.set(keyOf(each), text);
    }
  }
  return (obligation) => found.get(keyOf(obligation));
}

/** `({ N, BLOCK }) => [N.mod(BLOCK).eq(0)]` */
const textOf = (condition: HostExpression): string =>
  callback(
    [condition],
    (name) => ({ name }),
    ([text]) => `[${text}]`,
  )!;

/** What the kernel's own launches have by name: a condition that none of them meets would close anything. */
function launchesOf(kernel: CompiledKernel): readonly ReadonlyMap<string, number>[] {
  const shapes = declaredShapes(kernel);
  const selections = shapes.length > 0 ? shapes.map(({ sizes }) => ({ seed: 0, sizes })) : [{ seed: 0 }];
  return selections.flatMap((selection) => {
    const accepted = acceptedCase(kernel, 0, selection);
    if (!("at" in accepted)) return [];
    const { at } = accepted;
    const values = { ...kernel.sizes(at), ...kernel.constexprs(at), ...at.scalars };
    return [new Map(Object.entries(values).map(([name, value]) => [name, Number(value)] as const))];
  });
}

const isMet = (condition: HostExpression, launches: readonly ReadonlyMap<string, number>[]): boolean =>
  launches.length > 0 && launches.every((values) => hostValue(condition, values) === true);
