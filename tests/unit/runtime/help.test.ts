/** The help of commands: what comes first, and examples that parse. */
import { Command } from "commander";
import { expect, test } from "vitest";
import { runBinary } from "../../../src/runtime/cli/cli.js";
import { headedCommands } from "../../../src/runtime/commands/index.js";

async function help(...args: readonly string[]): Promise<string> {
  let out = "";
  await runBinary([...args, "--help"], { out: (text) => (out += text), err: () => undefined, color: false });
  return out;
}

test("new, run and check come first, and each heading has an example", async () => {
  const text = await help();
  const names = [...text.matchAll(/^ {2}(\w+) \[options\]/gm)].map(([, name]) => name);
  expect(names.slice(0, 3)).toEqual(["new", "run", "check"]);
  expect(names).toHaveLength(headedCommands.length);
  for (const heading of new Set(headedCommands.map((each) => each.heading))) {
    expect(heading).toMatch(/, as in `tilescript .+`:$/);
    expect(text).toContain(heading);
  }
});

test.each(headedCommands.map(({ command }) => [command.name, command] as const))(
  "the example of %s parses, and its help shows it",
  async (name, command) => {
    const [first, ...args] = command.example.split(" ");
    expect(first).toBe(name);
    const program = new Command(name).exitOverride().argument("[names...]");
    for (const option of command.options) program.addOption(option);
    program.configureOutput({ writeErr: () => undefined });
    expect(() => program.parse(args, { from: "user" })).not.toThrow();
    expect(await help(name)).toContain(`Example:\n  tilescript ${command.example}\n`);
  },
);
