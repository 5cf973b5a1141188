/** What a run says of a kernel so far: a color, a sentence and its details. */
import type { Mark, Reply } from "./protocol.js";
import { isLastStage, LIMIT, type Stage } from "./runs.js";

/** The replies of one run. */
export type Replies = {
  readonly [Name in Exclude<Reply["stage"], "ready">]?: Extract<Reply, { stage: Name }>;
} & { readonly stopped?: Stage };

export interface Verdict {
  /** Green, amber, red; `busy` while later stages may still change it. */
  readonly tone: "good" | "open" | "bad" | "busy";
  readonly headline: string;
  readonly details: readonly string[];
}

export const placed = ({ at, message }: Mark): string => (at ? `Line ${at.line}: ${message}` : message);

export function verdictOf(replies: Replies): Verdict {
  const { failed, evaluated, refused, proved, compared, stopped } = replies;
  if (failed) return { tone: "bad", headline: "It does not build", details: failed.marks.map(placed) };
  const duration = `the ${stopped} took longer than ${LIMIT / 1000} s`;
  if (stopped !== undefined && !isLastStage(stopped))
    return { tone: "open", headline: "Stopped", details: [`${duration}.`] };
  if (refused) return { tone: "open", headline: "It cannot be launched like this", details: [refused.why] };
  const details = evaluated?.unchecked.map((text) => `Unchecked: ${text}.`) ?? [];
  const fault = evaluated && faultOf(evaluated);
  if (fault) return { ...fault, details: [...fault.details, ...details] };
  const refuted = [...(proved?.marks ?? []), ...(compared?.marks ?? [])].filter(({ kind }) => kind === "refuted");
  if (refuted.length > 0) return { tone: "bad", headline: "Refuted", details: [...new Set(refuted.map(placed))] };
  const agrees = evaluated?.comparison ? "It agrees with its reference" : "No finding";
  if (!evaluated) return { tone: "busy", headline: "Running…", details: [] };
  if (stopped === "proof")
    return { tone: "open", headline: `${agrees}, not proved: ${duration}`, details: ["`tilescript check` has time."] };
  if (!proved) return { tone: "busy", headline: `${agrees}. Proving…`, details };
  const gaps = proved.marks.map(placed);
  const lines = [...gaps, ...(compared?.lines.map((line) => `${line}.`) ?? []), ...details];
  if (gaps.length > 0) return { tone: "open", headline: `${agrees}, but ${proved.summary}`, details: lines };
  const isPartial = !evaluated.comparison || evaluated.unchecked.length > 0;
  return { tone: isPartial ? "open" : "good", headline: `${agrees}; ${proved.summary}`, details: lines };
}

/** A finding, or elements that differ from the reference. */
function faultOf({ marks, comparison }: Extract<Reply, { stage: "evaluated" }>): Verdict | undefined {
  const [first] = marks;
  if (first) {
    const others = marks.length > 1 ? [`And ${marks.length - 1} more.`] : [];
    return { tone: "bad", headline: `Wrong: ${first.code}`, details: [placed(first), ...others] };
  }
  if (!comparison || comparison.correct) return undefined;
  const { worst, wrong, total } = comparison;
  const element = worst && `${worst.output}[${worst.index.join(", ")}] is ${worst.got}, not ${worst.expected}.`;
  return {
    tone: "bad",
    headline: `Wrong: ${wrong} of ${total} elements differ from the reference`,
    details: element === undefined ? [] : [element],
  };
}

/** Shows a verdict in an element of the page. */
export function showVerdict(element: HTMLElement, { tone, headline, details }: Verdict): void {
  element.dataset["tone"] = tone;
  const title = document.createElement("strong");
  title.textContent = headline;
  const list = document.createElement("ul");
  list.append(
    ...details.map((detail) => {
      const item = document.createElement("li");
      item.textContent = detail;
      return item;
    }),
  );
  element.replaceChildren(title, ...(details.length > 0 ? [list] : []));
}
