/** An editor for the language server: a client of the protocol over standard input and output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import {
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializeRequest,
  type InitializeResult,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { binary } from "./installed.js";

export class LspClient {
  readonly connection: ProtocolConnection;
  readonly child: ChildProcess;
  stderr = "";
  readonly published: PublishDiagnosticsParams[] = [];
  #listeners = new Set<() => void>();
  #version = 0;

  /** `program` is the executable of the package. */
  constructor(cwd: string, env: NodeJS.ProcessEnv = process.env, program = binary) {
    const child = spawn(process.execPath, [program, "lsp", "--stdio"], { cwd, env });
    this.child = child;
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (this.stderr += chunk));
    this.connection = createProtocolConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    this.connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
      this.published.push(params);
      for (const listener of this.#listeners) listener();
    });
    this.connection.listen();
  }

  initialize(initializationOptions: object = {}): Promise<InitializeResult> {
    const params = { processId: process.pid, rootUri: null, capabilities: {}, initializationOptions };
    return this.connection.sendRequest(InitializeRequest.type, params);
  }

  /** Opens a document and returns the version of its text. */
  open(file: string, text: string): number {
    const version = ++this.#version;
    const uri = pathToFileURL(file).href;
    const textDocument = { uri, languageId: "typescript", version, text };
    void this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
    return version;
  }

  change(file: string, text: string): number {
    const version = ++this.#version;
    const textDocument = { uri: pathToFileURL(file).href, version };
    void this.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument,
      contentChanges: [{ text }],
    });
    return version;
  }

  close(file: string): void {
    const textDocument = { uri: pathToFileURL(file).href };
    void this.connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument });
  }

  /** The diagnostics of this version of the text, once they are there. */
  async diagnostics(version: number): Promise<readonly Diagnostic[]> {
    for (;;) {
      const params = this.published.find((each) => each.version === version);
      if (params) return params.diagnostics;
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  /** Ends the server as an editor does; returns its exit code. */
  async end(): Promise<number | null> {
    const exit = once(this.child, "exit");
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification(ExitNotification.type);
    const [code] = await exit;
    return code;
  }
}
