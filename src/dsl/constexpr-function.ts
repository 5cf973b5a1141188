/** What `constexpr.fn` gives to the body: a function that each launch or config chooses by name. */
import { builder } from "../ir/builder.js";
import { Handle } from "../ir/handle.js";
import { definitionOfHelper } from "../ops/fn.js";
import { when } from "./branches.js";

type AnyFunction = (...args: unknown[]) => unknown;
interface Name {
  eq(choice: string): unknown;
  ne(choice: string): unknown;
}
type Chain = Pick<ReturnType<typeof when>, "elseWhen" | "otherwise">;
const branch = when as (condition: unknown, body: () => unknown) => Chain;

/** A call is a branch on the name, with an arm for each function. Triton decides it when it compiles. */
export function chosenFunction(handle: Handle, functions: Readonly<Record<string, AnyFunction>>): AnyFunction & Name {
  const name = handle as unknown as Name;
  const names = Object.keys(functions);
  const last = names.at(-1)!;
  // The author's variable names the result of the whole branch.
  const unnamed = <T>(make: () => T): T => builder("constexpr.fn").unnamed(make);
  const is = (choice: string) => unnamed(() => name.eq(choice));
  const call = (...args: unknown[]): unknown => {
    const arm = (choice: string) => () => {
      const body = functions[choice]!;
      return definitionOfHelper(body) ? unnamed(() => body(...args)) : body(...args);
    };
    let chain: Chain | undefined;
    for (const choice of names.slice(0, -1))
      chain = chain ? chain.elseWhen(is(choice) as never, arm(choice) as never) : branch(is(choice), arm(choice));
    return chain ? chain.otherwise(arm(last) as never) : arm(last)();
  };
  return Object.assign(call, {
    eq: (choice: string) => name.eq(choice),
    ne: (choice: string) => name.ne(choice),
  });
}
