/** What broke in our own code is told apart from what an author's code threw, with what a report needs. */
import { expect, test } from "vitest";
import { formatList } from "../../../src/diagnostics/message.js";
import { thrownDiagnostics } from "../../../src/runtime/cli/cli.js";
import { version } from "../../../src/runtime/system/files.js";

function thrownBy(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

test("an error of ours names the version, the place and what to do", () => {
  const [said] = thrownDiagnostics(thrownBy(() => formatList(null as never)));
  expect(said!.message).toMatch(/^TileScript .* failed at src\/diagnostics\/message\.ts:\d+:\d+: please report this /);
  expect(said!.message).toContain(`TileScript ${version} failed`);
  expect(said!.message).toMatch(/\(TypeError: Cannot read .*\); TILESCRIPT_DEBUG=1 shows the stack$/);
});

test.each([
  ["TypeError", () => (null as never as { name: string }).name],
  ["Error", () => JSON.parse("{") as unknown],
])("%s of an author stays one at its line", (_, action) => {
  const [said] = thrownDiagnostics(thrownBy(action));
  expect(said!.message).not.toContain("please report");
  expect(said!.at?.file).toBe(import.meta.filename);
});
