/** Mistakes in host expressions, computed before a launch: grids, derived sizes, heuristics, requirements. */
import { defineCode } from "../message.js";

export const gridAxes = defineCode("grid-axes", {
  axes: (count: number) => [`grid: has ${count} axes`, `give one, two or three`],
  notInteger: () => "grid: an axis is a number of programs, an integer",
  empty: (programs: unknown) => [`grid: ${String(programs)} programs compute nothing`, `give 1 or more`],
});

export const hostOnly = defineCode("host-only", {
  notOnHost: (op: string) => [
    `${op} does not exist on the host`,
    `compute sizes with integer arithmetic, tl.cdiv and similar functions`,
  ],
  onHostOnly: (op: string) => [`${op} exists on the host only`, `use it in constexpr.launch(…), the grid or requires`],
  extern: (subject: string) => [`${subject}: runs on the GPU`, `it cannot run before a launch`],
});

export const hostResult = defineCode("host-result", {
  nothing: () => ["this callback returns nothing", "write return before its result, or leave the braces out"],
  notAValue: () => ["this callback returns something other than sizes, constexprs and numbers", "compute it from them"],
  requirement: (kernel: string, value: string) => [
    `${kernel}: requires gives ${value}, which is no condition of a call`,
    `write one, such as N.gt(0)`,
  ],
  noSize: (kernel: string, name: string) => [
    `${kernel}: dims computes ${name}, which is no size of a tensor`,
    `write it among a tensor's dims, or leave it out`,
  ],
  wrongKind: (kernel: string, param: string, expected: string, remedy: string) => [
    `${kernel}: what computes ${param} must give ${expected}`,
    remedy,
  ],
});

export const hostValue = defineCode("host-value", {
  zeroDivision: (kernel: string, values: string) => [
    `${kernel}: this divides by zero at ${values}, where Python raises ZeroDivisionError`,
    `divide by a number that is never 0, such as tl.maximum(1, …), or ask for it in requires`,
  ],
  negative: (name: string, value: number, values: string) => [
    `dims: ${name} is ${value} at ${values}, and a size is 0 or more`,
    `compute it with tl.maximum(0, …), or ask for sizes that allow it in requires`,
  ],
});

const NAME_ITS_INPUTS = "name the params that it is computed from";

export const computedLater = defineCode("computed-later", {
  /** A size or a launch-time constexpr. */
  config: (kernel: string, name: string, config: string, isConstexpr: boolean) => [
    `${kernel}: ${name} is computed before a config is chosen, and names ${config} of the configs`,
    isConstexpr ? `compute ${name} in heuristics` : "",
  ],
  heuristic: (kernel: string, name: string, heuristic: string) => [
    `${kernel}: ${name} names ${heuristic}, which a heuristic computes later`,
    NAME_ITS_INPUTS,
  ],
  itself: (kernel: string, name: string) => [
    `${kernel}: ${name} is computed from itself`,
    `compute it from sizes, scalars and properties of the device`,
  ],
  device: (kernel: string, name: string) => [
    `${kernel}: ${name} is computed where the device is not known`,
    `its properties are for grid, config, requires and constexpr.launch`,
  ],
  order: (kernel: string, name: string, later: string) => [
    `${kernel}: the heuristic of ${name} names ${later}`,
    `list ${later} before it in params`,
  ],
});

export const heuristicTarget = defineCode(
  "heuristic-target",
  (kernel: string, name: string) =>
    `${kernel}: heuristics names ${name}, which is neither a constexpr() nor a constexpr.bool() of params`,
);

export const specializedNames = defineCode(
  "specialized-names",
  (kernel: string, option: string, name: string, names: readonly string[]) => [
    `${kernel}: ${option} names ${name}`,
    `it may name ${names.join(", ") || "nothing here"}`,
  ],
);

export const launchOption = defineCode("launch-option", (kernel: string, name: string, names: readonly string[]) => [
  `${kernel}: launch: no option ${name}`,
  `it has ${names.join(", ")}, and configs have the others`,
]);
