/** Names of other machines: what is read, what is refused, and that nothing of a name is an option or a shell's. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { parseDevice } from "../../../src/runtime/devices/device.js";
import { agentCommand, parseSshAddress, sshCommand } from "../../../src/runtime/remote/addresses.js";

describe("the address of a machine", () => {
  it.each([
    ["box", { host: "box" }],
    ["me@box", { host: "box", user: "me" }],
    ["me@box:2222", { host: "box", user: "me", port: 2222 }],
    ["me@example.com@box", { host: "box", user: "me@example.com" }],
    ["[::1]:22", { host: "::1", port: 22 }],
    ["[fe80::1%eth0]", { host: "fe80::1%eth0" }],
    ["grün.example", { host: "grün.example" }],
    ["box/opt/venv/bin/python", { host: "box", python: "/opt/venv/bin/python" }],
    ["box//usr/bin/python3", { host: "box", python: "/usr/bin/python3" }],
    ["box/~/my venv/bin/python", { host: "box", python: "~/my venv/bin/python" }],
    ["box:22/python3.12", { host: "box", port: 22, python: "python3.12" }],
    [`box/opt/it's "odd"/python`, { host: "box", python: `/opt/it's "odd"/python` }],
    ["box/opt/a@b:1/python", { host: "box", python: "/opt/a@b:1/python" }],
  ])("%s is read", (text, address) => {
    expect(parseSshAddress(text)).toEqual(address);
  });

  it.each([
    ["", /"" is no host/],
    ["-oProxyCommand=touch /tmp/x", /"-oProxyCommand=touch " is no host/],
    ["-oProxyCommand=touch", /is no host/],
    ["me@-oProxyCommand=x", /is no host/],
    ["-v", /"-v" is no host/],
    ["me@-v", /"-v" is no host/],
    ["-l@box", /"-l" is no user/],
    ["me;id@box", /"me;id" is no user/],
    ["$(id)@box", /is no user/],
    ["@box", /"" is no user/],
    ["two words", /"two words" is no host/],
    ["box;id", /"box;id" is no host/],
    ["`id`", /is no host/],
    ["$(id)", /is no host/],
    ["a'b", /is no host/],
    ['a"b', /is no host/],
    ["a\nb", /is no host/],
    ["box:", /"" is no port/],
    ["box:ssh", /"ssh" is no port/],
    ["box:0", /"0" is no port/],
    ["box:65536", /"65536" is no port/],
    ["box:22:23", /"22:23" is no port/],
    ["::1", /is no host/],
    ["box/", /no Python is named/],
    ["box/opt/a\nb", /no Python is named/],
  ])("%j is refused", (text, says) => {
    expect(() => parseSshAddress(text)).toThrow(says);
  });

  it("may be followed by a device there", () => {
    const ssh = { host: "box" };
    expect(parseDevice("ssh:box")).toEqual({ kind: "auto", ssh });
    expect(parseDevice("ssh:box#cuda:all")).toEqual({ kind: "cuda", gpus: "all", ssh });
    expect(parseDevice("ssh:box#cpu:2")).toEqual({ kind: "interpreter", workers: 2, ssh });
    expect(parseDevice("ssh:box/opt/c#/python")).toEqual({ kind: "auto", ssh: { ...ssh, python: "/opt/c#/python" } });
    expect(() => parseDevice("ssh:box#eval")).toThrow(/after "#" stands a device of that machine/);
    expect(() => parseDevice("ssh:box#ssh:other")).toThrow(/after "#" stands a device of that machine/);
    expect(() => parseDevice("ssh:box#tpu")).toThrow(/there is no device tpu/);
  });
});

describe("the command that starts the agent", () => {
  it("ends ssh's options before the host", () => {
    const command = sshCommand({ host: "box", user: "me", port: 22 }, "true");
    expect(command.slice(-3)).toEqual(["--", "box", "true"]);
    expect(command.join(" ")).toContain("-p 22 -l me -- box");
  });

  it.each(['/opt/it\'s "odd" $HOME `id` %s \\n/python', "/opt/$(id)/ü/python", "~/my venv/bin/python"])(
    "reaches the shell as one path: %s",
    (python) => {
      const command = agentCommand(python);
      // What fish, csh and their kin read in their own ways.
      expect(command.slice("sh -c '".length, -1)).not.toMatch(/['!\n]/);
      const shown = command.replace(/exec (".*") -c .*'$/, `printf %s $1'`);
      expect(shown).toContain("printf %s");
      const said = execFileSync("sh", ["-c", shown], { env: { ...process.env, HOME: "/home/me" }, encoding: "utf8" });
      expect(said).toBe(python.replace("~", "/home/me"));
    },
  );
});
