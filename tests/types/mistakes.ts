/** Mistakes that the editor must refuse, and those that only the build can see. */
import { type Chapter, type Mistake, mistake } from "./mistake.js";
import { firstLines } from "./first-contact.js";
import { habitLines } from "./first-habits.js";
import { followedLines, specs } from "./first-specs.js";
import { triedLines } from "./first-tries.js";
import { calls } from "./mistakes-calls.js";
import { lineChapters } from "./mistakes-lines.js";
import { operators } from "./mistakes-operators.js";
import { signatures } from "./mistakes-signatures.js";

const first: Chapter = {
  title: "What Triton's and PyTorch's authors write first",
  of: "lines",
  mistakes: [...firstLines, ...habitLines, ...triedLines, ...followedLines],
};

export const chapters: readonly Chapter[] = [first, specs, ...lineChapters, signatures, calls, operators];

/** What the checker has no way to see, or no words for: the build refuses these. A line here that fails is good news. */
export const unseen: readonly Mistake[] = [
  mistake("a JavaScript ||", "const either = inside || rm.gt(0);", "const either = inside.or(rm.gt(0));"),
  mistake("a JavaScript !", "const not = !inside;", "const not = inside.not();"),
  mistake("a JavaScript while", "while (M.gt(0)) break;", "for (const k of tl.range(0, M)) k;"),
  mistake(
    "a JavaScript if whose body uses the condition",
    "if (inside) tl.store(p.add(rm), inside.to(tl.float32));",
    "tl.store(p.add(rm), 1, { mask: inside });",
  ),
  mistake("a comparison of two tiles by identity", "const same = rm === rm.add(0);", "const same = rm.eq(rm.add(0));"),
  mistake("a tile in a template", "const text = `${f}`;", 'const text = "f";'),
  mistake("a fraction carried in integers", "tl.mut(rm).value = 0.5;", "tl.mut(rm.to(tl.float32)).value = 0.5;"),
  mistake("a number that its dtype cannot hold", "u.add(300);", "u.to(tl.int32).add(300);"),
  mistake("a number that needs 64 bits", "tl.mut(3000000000);", "tl.mut(tl.full([], 3000000000, tl.int64));"),
  mistake("a range that starts below 0", "tl.arange(-4, 4);", "tl.arange(0, 8).sub(4);"),
  mistake("two numbers that span no power of two", "tl.arange(8, 56);", "tl.arange(8, 72);"),
  mistake("a tile of too many elements", "tl.zeros([2048, 1024], tl.int8);", "tl.zeros([1024, 1024], tl.int8);"),
];
