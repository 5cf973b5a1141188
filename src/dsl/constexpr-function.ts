/** The value of a `constexpr.fn` param in the body: a function that each launch or config chooses by name. */
import { builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import { definitionOfHelper } from "../ops/helper.js";
import { when } from "./branches.js";

type AnyFunction = (...args: unknown[]) => unknown;
interface NameHandle {
  eq(choice: string): unknown;
  ne(choice: string): unknown;
}
type WhenChain = Pick<ReturnType<typeof when>, "elseWhen" | "otherwise">;
const untypedWhen = when as (condition: unknown, body: () => unknown) => WhenChain;

/** A call becomes a branch on the name with one arm for each function. Triton resolves it at compile time. */
export function chosenFunction(
  handle: Handle,
  functions: Readonly<Record<string, AnyFunction>>,
): AnyFunction & NameHandle {
  const name = handle as unknown as NameHandle;
  const choices = Object.entries(functions);
  // The author's variable names the result of the whole branch.
  const unnamed = <T>(compute: () => T): T => builder("constexpr.fn").withoutNames(compute);
  const nameEquals = (choice: string) => unnamed(() => name.eq(choice));
  const call = (...args: unknown[]): unknown => {
    const arm = (body: AnyFunction) => () => (definitionOfHelper(body) ? unnamed(() => body(...args)) : body(...args));
    let chain: WhenChain | undefined;
    for (const [i, [choice, body]] of choices.entries()) {
      const isLast = i === choices.length - 1;
      if (isLast) return chain ? chain.otherwise(arm(body) as never) : arm(body)();
      chain = chain
        ? chain.elseWhen(nameEquals(choice) as never, arm(body) as never)
        : untypedWhen(nameEquals(choice), arm(body));
    }
    return undefined;
  };
  return Object.assign(call, {
    eq: (choice: string) => name.eq(choice),
    ne: (choice: string) => name.ne(choice),
  });
}
