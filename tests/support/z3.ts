/** z3 on SMT-LIB scripts of obligations. */
import { execa } from "execa";

/**
 * The answer of z3 to a script, compared with the proof: `open` if z3 ran out of time, `shown` and `undecided` if the
 * proof is open.
 */
export type Agreement = "agreed" | "disagreed" | "open" | "shown" | "undecided";

export async function agreementOf(z3: string, script: string, seconds: number): Promise<Agreement> {
  const { stdout } = await execa(z3, ["-in", `-T:${seconds}`], { input: script, reject: false });
  const [answer = ""] = String(stdout).split("\n");
  if (/^(unknown|timeout)$/.test(answer)) return "open";
  if (answer !== "sat" && answer !== "unsat") throw new Error(`${z3} answers ${stdout || "nothing"}`);
  const [, status] = /:status (\w+)/.exec(script) ?? [];
  if (status === "unknown") return answer === "unsat" ? "shown" : "undecided";
  return answer === status ? "agreed" : "disagreed";
}
