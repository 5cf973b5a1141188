/** Mistakes in loops, branches, state and helper functions. */
import { duplicatePackageHint, defineCode } from "../message.js";
export const scopeEscape = defineCode("scope-escape", (value: string, scope: string) => [
  `${value} was made inside ${scope} and does not exist outside it`,
  `hold it in tl.mut(…) made before ${scope} and write its .value inside`,
]);

export const helperCapture = defineCode("helper-capture", {
  value: (value: string) => [
    `${value} was made outside the helper function, which Triton compiles on its own`,
    `pass it as an argument`,
  ],
  elements: (op: string) => [`${op}: Triton gives the function only elements`, `use its arguments and numbers only`],
  extern: (subject: string, value: string) => [
    `${subject}: evaluate looks at ${value} of the kernel`,
    `make it a parameter`,
  ],
});

export const helperArgument = defineCode("helper-argument", {
  kind: (subject: string) => [
    `${subject}: an argument is a tile, a pointer, a constexpr, a tensor or plain JavaScript`,
    `read state with .value`,
  ],
  extern: (subject: string) => `${subject}: an argument is a tile, a pointer, a constexpr, a dtype or a number`,
  view: (subject: string) => [
    `${subject}: a view cannot be passed`,
    `load it before the call, or give the tensor and the indices`,
  ],
  externView: (subject: string, kind: string) => [
    `${subject}: a ${kind} cannot be passed`,
    `load it before the call, or give its ptr`,
  ],
  tiles: () => ["mapElementwise: its arguments are tiles", "read state with .value, and write numbers in the function"],
  noinline: (type: string) => [
    `fn: a function that is not inlined takes and gives scalars, this is ${type}`,
    `leave noinline out`,
  ],
});

/** The remedy for a number that an arm or a helper function returns. */
export const GIVE_DTYPE = "return tl.full([], x, dtype)";

export const helperResult = defineCode("helper-result", {
  kind: (subject: string) => [
    `${subject}: a helper function gives nothing, a tile, or a list of tiles`,
    `return one of these`,
  ],
  number: (subject: string) => [`${subject}: a number has no dtype`, GIVE_DTYPE],
  address: (subject: string, kind: string) => [
    `${subject}: a helper function cannot give a ${kind}`,
    `return the tile that you load from it`,
  ],
  untyped: () => "fn: no type",
});

const STATE = "a JavaScript variable is not state of the kernel";
const HOLD_IT = "hold it in tl.mut(…)";

const GIVES_ANOTHER = "JavaScript behaves differently here when";

const FROM_ARGUMENTS = "compute it from its arguments";

export const changedState = defineCode("changed-state", {
  differs: (body: string) => [
    `${GIVES_ANOTHER} ${body} is traced a second time, or without the loops and branches in it: ${STATE}`,
    HOLD_IT,
  ],
  results: (body: string) => [`${body} returns something else when it is traced a second time: ${STATE}`, HOLD_IT],
  throws: (body: string, message: string) => [
    `JavaScript fails when ${body} is traced a second time (${message}): ${STATE}`,
    HOLD_IT,
  ],
  /** For code that runs before a launch, or in PyTorch, where `tl.mut` is not available. */
  outside: (body: string) => [
    `${GIVES_ANOTHER} ${body} is run a second time: it must not depend on changing JavaScript variables or random numbers`,
    FROM_ARGUMENTS,
  ],
  outsideResult: (body: string) => [
    `${body} returns something else when it is run a second time: it must not depend on changing JavaScript variables or random numbers`,
    FROM_ARGUMENTS,
  ],
});

export const helperFunction = defineCode("helper-function", {
  missing: () => ["fn: needs a function", "write tl.fn((x) => x.mul(2))"],
  name: (name: unknown) => [`fn: ${JSON.stringify(name)} cannot be a Python name`, `use letters, digits and _`],
  /** `length` is the number of tiles that are reduced together. */
  sides: (op: string, length: number) => {
    const formatSide = (letter: string) => Array.from({ length }, (_, i) => `${letter}${i}`).join(", ");
    return [
      `${op}: the function takes two lists, one for each side`,
      `write ([${formatSide("a")}], [${formatSide("b")}]) => […]`,
    ];
  },
  scalars: (op: string) => [`${op}: needs a function of scalars`, `write (a, b) => tl.maximum(a, b)`],
  order: (op: string) => [`${op}: the function runs in an order of Triton's own`, `load and store outside it`],
});

export const recursion = defineCode("recursion", (subject: string) => [
  `${subject}: a helper function cannot call itself`,
  `Triton has no recursion, use a loop`,
]);

const LOOP = "for (const i of tl.range(…))";

export const earlyExit = defineCode("early-exit", {
  left: (subject: string) => `${subject}: a traced loop was left early`,
  leftInside: () => "a traced loop inside this one was left early",
  leftHere: () => [
    "a traced loop cannot be left early: its body runs once, while the kernel is traced",
    "mask the work or put it in tl.when(…)",
  ],
  break: (keyword: string) => [
    `\`${keyword}\` leaves a traced loop while the kernel is traced`,
    `use tl.whileLoop(() => condition, () => …), or tl.when(condition, () => …) around the work`,
  ],
  continue: () => [
    "`continue` drops the rest of a traced loop's body from the kernel, not from one iteration",
    "put the rest in tl.when(condition, () => …), or in an `if` when JavaScript knows the condition",
  ],
  return: () => [
    "`return` leaves a traced loop while the kernel is traced",
    "hold the value in tl.mut(…) and return it after the loop",
  ],
  arm: () => ["`return` ends only this arm, which ends here anyway", "tl.exit() ends the kernel's program"],
  generator: () => [
    "a generator's body runs only while something iterates over it, so the kernel has none of it",
    "make it an ordinary function",
  ],
  collected: () => [`a traced loop yields one symbolic index and cannot be collected`, `write ${LOOP} { … }`],
});

export const misplacedExit = defineCode("misplaced-exit", {
  helper: () => ["exit: a helper function cannot end the kernel", "return a value and exit in the kernel"],
  loop: () => ["exit: Triton cannot return from inside a loop", "put the rest of the loop's body in tl.when(…)"],
  always: () => ["exit: nothing after this would ever run", "put it in tl.when(condition, () => tl.exit())"],
});

export const unreachable = defineCode("unreachable", () => [
  "this comes after tl.exit() and never runs",
  "move it before, or in another arm",
]);

export const outsideKernel = defineCode("outside-kernel", (subject: string) => [
  `${subject} was called outside a kernel`,
  `call it in the function given to kernel(…), or in a callback of its options${duplicatePackageHint()}`,
]);

export const STATIC_BOUNDS = "staticRange: bounds are constexprs or numbers";

export const loopBounds = defineCode("loop-bounds", {
  count: (loop: string) => `${loop}: takes an end, a start and an end, or a start, an end and a step`,
  optionsLast: (loop: string) => `${loop}: options come last`,
  static: () => [STATIC_BOUNDS, "use tl.range for a run-time one"],
  unused: () => [
    "nothing iterates over this, so the kernel has no such loop",
    "write for (const i of tl.range(…)) { … } (`for … in` asks for names of properties)",
  ],
});

export const endlessLoop = defineCode("endless-loop", {
  step: () => ["this loop has a step of 0 in this case, so it never ends", "give a step that is never 0"],
  iterations: (count: number) => [
    `this loop does not end within ${count} iterations`,
    `change a value that its condition reads, so that it becomes false`,
  ],
});

export const loopFunctions = defineCode("loop-functions", {
  condition: () => [
    "whileLoop: the condition is computed before each iteration",
    "give a function, () => i.value.lt(n)",
  ],
  body: () => ["whileLoop: the second argument is the body", "give a function"],
  result: () => ["whileLoop: the body gives nothing", "hold the loop's result in tl.mut(…)"],
});

export const loopOption = defineCode("loop-option", {
  constant: (loop: string, option: string, value: string) => [
    `${loop}: ${option} is ${value}`,
    `give a constant or a constexpr`,
  ],
  trips: (loop: string) => [`${loop}: most is an integer`, `give a number, a constexpr or a size`],
});

export const branchCondition = defineCode("branch-condition", {
  boolean: () => ["when: this is a JavaScript boolean, known while the kernel is traced", "use a JavaScript if"],
  arm: () => ["when: an arm is a function", "write tl.when(condition, () => { … })"],
});

export const branchOrder = defineCode("branch-order", (method: string) => [
  `${method} must follow its tl.when directly`,
  `write them as one chain`,
]);

// The type of the last arm says it, too.
export const STATE_IN_ARMS = "when: the arms return state, which has no common variable";
export const STATE_OUTSIDE = "make it before the branch, or take one arm's .value";

export const branchValues = defineCode("branch-values", {
  count: () => ["when: all arms return a value, or none does", "return the same number of values from each"],
  state: () => [STATE_IN_ARMS, STATE_OUTSIDE],
  chain: () => ["value: only the arm of tl.when itself has one", "end the chain with otherwise"],
  /** The condition is a constexpr. The last argument is the sizes of the axis on which the arms differ. */
  shapes: (firstType: string, otherType: string, [first, second]: readonly [size: unknown, other: unknown]) => [
    `when: one arm returns ${firstType}, another ${otherType}, and the result has one type`,
    `name the size, const W = tl.choose(condition, ${String(first)}, ${String(second)}), and reshape to it in each arm`,
  ],
  ranks: (firstType: string, otherType: string) => [
    `when: one arm returns ${firstType}, another ${otherType}, and the result has one rank`,
    `give the smaller one axes of size 1, with expandDims`,
  ],
});

export const deepProgram = defineCode("deep-program", {
  loops: (limit: number) => [
    `this loop is inside ${limit} others, and Python takes no more`,
    `count several of them in one loop, with .mod(…) and .floorDiv(…)`,
  ],
  branches: (limit: number) => [
    `more than ${limit} loops and arms of branches are nested or follow one another here, too many for Triton's compiler`,
    `load from a table, choose with tl.where(…), or move a part to a tl.fn`,
  ],
  calls: (limit: number) => [
    `more than ${limit} helper functions call one another, too many for Triton's compiler`,
    `write some of them as ordinary functions`,
  ],
  host: (limit: number) => [
    `this expression of the host has more than ${limit} ops once every value that it uses twice is written twice, as Python gets it`,
    `give a part of it a name, as a constexpr.launch(…) of its own`,
  ],
  constant: () => [
    "this constexpr is computed in too many steps that use a value twice",
    "give a part of it a name, as a constexpr() that the spec computes in heuristics, or compute it as a number of the program",
  ],
});

const MAYBE_TAKEN = "nothing uses this truth value, so JavaScript may have taken it for true";

const CHOOSE_OR_BRANCH = "choose with tl.where(condition, a, b), branch with tl.when(condition, () => …), or remove it";

const NO_RESULT = "no result depends on";

export const unusedValue = defineCode("unused-value", {
  truth: (op: string) => [`${op}: ${MAYBE_TAKEN}`, CHOOSE_OR_BRANCH],
  result: (op: string) => [`${op}: nothing uses its result`, `hold it, store it or return it, or remove it`],
  flag: (name: string) => [`${name}: nothing uses it`, `leave it out`],
  /** A flag, or a choice of strings, that the author's code reads. */
  parameter: (name: string, isWord: boolean) =>
    isWord
      ? [
          `${name}: nothing uses it, and JavaScript's === is always false for it`,
          `ask ${name}.eq("…") in tl.when, or leave it out`,
        ]
      : [`${name}: ${MAYBE_TAKEN}`, CHOOSE_OR_BRANCH],
  recordedTruth: (name: string) => [
    `reference: ${NO_RESULT} ${name}, so JavaScript may have taken it for true`,
    `write condition.choose(a, b) of numbers, torch.where(condition, a, b) of tensors, or remove it`,
  ],
  recorded: (name: string) => [`reference: ${NO_RESULT} ${name}`, `use its result, or remove it`],
});

export const stateType = defineCode("state-type", (sentence: string) => sentence);

export const notGiven = defineCode("not-given", (tensor: string) => [
  `${tensor} may be absent here`,
  `use it inside tl.when(${tensor}.given, () => { … })`,
]);

const SEQUENTIAL = "pass { numStages: 1 } to tl.range, or call tl.debugBarrier() between the store and the load";

export const pipelinedLoad = defineCode("pipelined-load", {
  stale: (kernel: string, tensor: string, distance: number) => [
    `${kernel}: this load of ${tensor} reads what the store of ${iterationBefore(distance)} writes, and Triton's pipeliner executes the load first`,
    SEQUENTIAL,
  ],
  unproved: (kernel: string, tensor: string) => [
    `${kernel}: nothing shows that this load of ${tensor} reads no element that the loop has just stored, and Triton's pipeliner executes the load first`,
    SEQUENTIAL,
  ],
  overlap: (kernel: string, read: string, written: string) => [
    `${kernel}: nothing shows that ${read} and ${written} do not overlap, and Triton's pipeliner executes this load of ${read} before stores that precede it`,
    `declare the numel of both pointers, so that the wrapper checks it`,
  ],
});

export const operandBuffer = defineCode("operand-buffer", (kernel: string) => [
  `${kernel}: this tile is an operand of a product and is also used without one, and in a pipelined loop Triton for sm_90 overwrites it while the product still reads it`,
  "pass { numStages: 1 } to tl.range, or move the other use to a loop of its own",
]);

function iterationBefore(distance: number): string {
  if (distance === 0) return "the same iteration";
  return distance === 1 ? "the iteration before" : `${distance} iterations before`;
}
