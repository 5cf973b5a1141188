/** A function that each launch, or each config, chooses by name: what `constexpr.fn` gives to the body. */
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

/** What the author's call is bound to is the branch, not what this makes on the way. */
function unnamed<T>(make: () => T): T {
  const recorder = builder("constexpr.fn");
  const outer = recorder.anonymous;
  recorder.anonymous = true;
  const made = make();
  recorder.anonymous = outer;
  return made;
}

/** Calling it is a branch on the name, which Triton decides when it compiles: one arm for each function. */
export function chosenFunction(handle: Handle, functions: Readonly<Record<string, AnyFunction>>): AnyFunction & Name {
  const name = handle as unknown as Name;
  const names = Object.keys(functions);
  const last = names.at(-1)!;
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
