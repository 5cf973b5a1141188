// The `tilescript` command in a process that stays: what bin/tilescript.js does, for one message after another.
const { runBinary } = await import("../../dist/runtime/cli/cli.js");
await import("../../dist/index.js");

process.on("message", async ({ cwd, env, args }) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  let [stdout, stderr] = ["", ""];
  const streams = { out: (text) => (stdout += text), err: (text) => (stderr += text), color: false };
  const exitCode = await runBinary(args, streams);
  process.exitCode = 0;
  process.send({ exitCode, stdout, stderr });
});
process.send("ready");
