/** The language server: its connection to an editor, and its answers. */
import { Writable } from "node:stream";
import {
  type CancellationToken,
  CodeActionKind,
  CodeActionRequest,
  createProtocolConnection,
  DidChangeConfigurationNotification,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ErrorCodes,
  ExecuteCommandRequest,
  ExitNotification,
  HoverRequest,
  InitializeRequest,
  type InitializeResult,
  InlayHintRefreshRequest,
  InlayHintRequest,
  LSPErrorCodes,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  ResponseError,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentSyncKind,
} from "vscode-languageserver-protocol/node";
import { exitCodes } from "../system/errors.js";
import { version } from "../system/files.js";
import type { Streams } from "../system/streams.js";
import { Documents } from "./documents.js";
import { codeActions, FIX_ALL, inlayHints, hoverOf, toDiagnostics } from "./answers.js";
import type { AnalysisOutcome, KernelAnalysis } from "./file-analysis.js";
/** The command that returns the emitted modules of a document, given its URI. */
const SHOW_PYTHON = "tilescript.showPython";

const initializeResult: InitializeResult = {
  serverInfo: { name: "tilescript", version },
  capabilities: {
    textDocumentSync: TextDocumentSyncKind.Full,
    codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, FIX_ALL] },
    hoverProvider: true,
    inlayHintProvider: true,
    executeCommandProvider: { commands: [SHOW_PYTHON] },
  },
};

/** Settings of the editor, by the names in its configuration below `tilescript`. */
interface Settings {
  readonly inlayHints?: { readonly shapes?: boolean };
}

/** Serves until the editor ends the connection; returns the exit code. */
export async function serve(streams: Streams): Promise<number> {
  const connection = createProtocolConnection(
    new StreamMessageReader(process.stdin),
    new StreamMessageWriter(outputOf(streams)),
  );
  const documents = new Documents((document, outcome) => {
    const diagnostics = outcome ? toDiagnostics(document, outcome) : [];
    const { uri, version: textVersion } = document;
    void connection.sendNotification(PublishDiagnosticsNotification.type, { uri, version: textVersion, diagnostics });
  }, streams.err);
  let settings: Settings = {};
  synchronize(connection, documents);
  answerRequests(connection, documents, () => settings);
  let canRefresh = false;
  connection.onRequest(InitializeRequest.type, async ({ initializationOptions, capabilities: { workspace } }) => {
    canRefresh = workspace?.inlayHint?.refreshSupport === true;
    settings = Object(initializationOptions) as Settings;
    await documents.prepare();
    return initializeResult;
  });
  connection.onNotification(DidChangeConfigurationNotification.type, ({ settings: changed }) => {
    settings = Object(Object(changed).tilescript) as Settings;
    if (canRefresh) void connection.sendRequest(InlayHintRefreshRequest.type);
  });
  const exitCode = await exitOf(connection);
  connection.dispose();
  await documents.end();
  return exitCode;
}

/** Kernel files cannot write to this stream. */
function outputOf({ out }: Streams): Writable {
  return new Writable({
    write(chunk, _, done) {
      out(String(chunk));
      done();
    },
  });
}

function synchronize(connection: ProtocolConnection, documents: Documents): void {
  connection.onNotification(DidOpenTextDocumentNotification.type, ({ textDocument: { uri, version, text } }) =>
    documents.open(uri, version, text),
  );
  connection.onNotification(DidChangeTextDocumentNotification.type, ({ textDocument, contentChanges }) => {
    const text = contentChanges.at(-1)?.text;
    if (text !== undefined) documents.change(textDocument.uri, textDocument.version, text);
  });
  connection.onNotification(DidCloseTextDocumentNotification.type, ({ textDocument: { uri } }) => documents.close(uri));
}

/** Answers requests about the newest text of a document. */
function answerRequests(connection: ProtocolConnection, documents: Documents, settings: () => Settings): void {
  const current = (uri: string, token: CancellationToken): ReturnType<Documents["current"]> =>
    new Promise((resolve, reject) => {
      const cancel = (): void => reject(new ResponseError(LSPErrorCodes.RequestCancelled, "cancelled"));
      // A request that is cancelled before its handler starts has a token without events.
      if (token.isCancellationRequested) return cancel();
      token.onCancellationRequested(cancel);
      documents.current(uri).then(resolve, reject);
    });
  connection.onRequest(CodeActionRequest.type, async ({ textDocument: { uri }, ...context }, token) => {
    const result = await current(uri, token);
    return result ? codeActions(result.document, result.outcome, context) : [];
  });
  connection.onRequest(HoverRequest.type, async ({ textDocument: { uri }, position }, token) => {
    const result = await current(uri, token);
    return result ? hoverOf(kernelsOf(result.outcome), result.document.path, position.line + 1) : null;
  });
  connection.onRequest(InlayHintRequest.type, async ({ textDocument: { uri }, range }, token) => {
    const result = settings().inlayHints?.shapes ? await current(uri, token) : undefined;
    const tiles = result ? kernelsOf(result.outcome).flatMap((kernel) => kernel.tiles) : [];
    return result ? inlayHints(result.document, tiles, range) : [];
  });
  connection.onRequest(ExecuteCommandRequest.type, async ({ command, arguments: [uri] = [] }, token) => {
    if (command !== SHOW_PYTHON || typeof uri !== "string")
      throw new ResponseError(ErrorCodes.InvalidParams, `the command is ${SHOW_PYTHON}, with the URI of a document`);
    const result = await current(uri, token);
    return result ? kernelsOf(result.outcome).map(({ kernel, file, python }) => ({ kernel, file, python })) : [];
  });
}

const kernelsOf = (outcome: AnalysisOutcome): readonly KernelAnalysis[] =>
  "kernels" in outcome ? outcome.kernels : [];

/** Resolves when the editor sends `exit`, or has ended. */
function exitOf(connection: ProtocolConnection): Promise<number> {
  return new Promise((resolve) => {
    let isShutDown = false;
    connection.onRequest(ShutdownRequest.type, () => void (isShutDown = true));
    connection.onNotification(ExitNotification.type, () => resolve(isShutDown ? exitCodes.ok : exitCodes.failed));
    connection.onClose(() => resolve(exitCodes.failed));
    connection.listen();
  });
}
