/** The extension for Visual Studio Code. It starts `tilescript lsp` from the workspace, and shows the emitted Python. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient } from "vscode-languageclient/node";

const SHOW_PYTHON = "tilescript.showPython";

/** The scheme of documents with emitted Python. Their query is the URI of the kernel file. */
const PYTHON_SCHEME = "tilescript-python";

/** What the server returns for a kernel. */
interface EmittedModule {
  readonly python: string;
}

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = findServer();
  if (!server) return;
  const changes = new vscode.EventEmitter<vscode.Uri>();
  client = createClient(server, changes);
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changes.event,
    provideTextDocumentContent: ({ query }) => emittedPython(query),
  };
  context.subscriptions.push(changes, vscode.workspace.registerTextDocumentContentProvider(PYTHON_SCHEME, provider));
  await client.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

interface Server {
  readonly executable: string;
  readonly folder: string;
}

/** The executable of the first workspace folder in which TileScript is installed. */
function findServer(): Server | undefined {
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
    const folder = uri.fsPath;
    try {
      const manifest = createRequire(join(folder, "package.json")).resolve("tilescript/package.json");
      return { executable: join(dirname(manifest), "bin/tilescript.js"), folder };
    } catch {
      // TileScript is not installed there.
    }
  }
  return undefined;
}

function createClient({ executable, folder }: Server, changes: vscode.EventEmitter<vscode.Uri>): LanguageClient {
  const settings = vscode.workspace.getConfiguration("tilescript");
  const serverOptions = {
    command: settings.get("node", "node"),
    args: [executable, "lsp"],
    options: { cwd: folder },
  };
  return new LanguageClient("tilescript", "TileScript", serverOptions, {
    documentSelector: [{ scheme: "file", language: "typescript" }],
    initializationOptions: { inlayHints: { shapes: settings.get("inlayHints.shapes", false) } },
    synchronize: { configurationSection: "tilescript" },
    middleware: {
      handleDiagnostics(uri, diagnostics, next) {
        next(uri, diagnostics);
        changes.fire(pythonUri(uri));
      },
      async executeCommand(command, args, next) {
        if (command === SHOW_PYTHON) await showPython();
        else await next(command, args);
      },
    },
  });
}

/** Opens the Python of the active kernel file beside it. */
async function showPython(): Promise<void> {
  const kernel = vscode.window.activeTextEditor?.document.uri;
  if (!kernel) return;
  const document = await vscode.workspace.openTextDocument(pythonUri(kernel));
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
}

const pythonUri = (kernel: vscode.Uri): vscode.Uri =>
  vscode.Uri.from({ scheme: PYTHON_SCHEME, path: kernel.path.replace(/\.[cm]?ts$/, ".py"), query: kernel.toString() });

async function emittedPython(kernel: string): Promise<string> {
  const params = { command: SHOW_PYTHON, arguments: [kernel] };
  const modules: readonly EmittedModule[] = (await client?.sendRequest(ExecuteCommandRequest.type, params)) ?? [];
  return modules.map(({ python }) => python).join("\n\n") || "# The kernels do not build; the editor shows why.\n";
}
