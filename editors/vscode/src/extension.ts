// The extension is thin: it starts the server, passes settings on, and shows what the server says.
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { TargetCode } from "./code";
import { Machines } from "./machines";
import { Previews } from "./preview";
import { Registers } from "./registers";
import { Reports } from "./report";
import { WorkspaceCheck } from "./workspace";
import { importCounts, instrumentFile, profileFunction } from "./profile";
import { LanguageClient, State, TransportKind, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

const LANGUAGES = ["cuda-cpp", "hlsl", "ptx", "musimd", "ia64", "sc140"];
const DOCUMENTATION = "lockstep-doc";

/** Those of documents that the server is told of: C only where a processor is named whose loops it is judged by. */
function languages(): string[] {
  const processor = vscode.workspace.getConfiguration("lockstep").get<string | null>("processor");
  return processor ? [...LANGUAGES, "c"] : LANGUAGES;
}

let client: LanguageClient | undefined;
const previews = new Previews(() => client);
let status: vscode.LanguageStatusItem;
let output: vscode.LogOutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel("Lockstep", { log: true });
  status = vscode.languages.createLanguageStatusItem("lockstep.status", LANGUAGES.map((language) => ({ language })));
  status.name = "Lockstep";
  status.command = { command: "lockstep.showOutput", title: "Show output" };
  context.subscriptions.push(
    output,
    status,
    vscode.commands.registerCommand("lockstep.restart", () => restart(context)),
    vscode.commands.registerCommand("lockstep.showOutput", () => output.show()),
    vscode.commands.registerCommand("lockstep.explain", explain),
    vscode.commands.registerCommand("lockstep.toggleHints", toggleHints),
    new TargetCode(() => client),
    previews,
    new Reports(() => client),
    new Registers(() => client),
    new Machines(() => client),
    new WorkspaceCheck(() => serverPath(context), output),
    vscode.commands.registerCommand("lockstep.profileFunction", () => profileFunction(client, output)),
    vscode.commands.registerCommand("lockstep.importCounts", () => importCounts(client)),
    vscode.commands.registerCommand("lockstep.instrumentFile", () => instrumentFile(client)),
    vscode.workspace.registerTextDocumentContentProvider(DOCUMENTATION, { provideTextDocumentContent: documentation }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      // The processor decides whether the server is told of C.
      const restarts = ["lockstep.server", "lockstep.processor"].some((key) => change.affectsConfiguration(key));
      if (restarts) void restart(context);
    }),
  );
  await start(context);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** The configured server, or the one that the package carries. */
function serverPath(context: vscode.ExtensionContext): string {
  const configured = vscode.workspace.getConfiguration("lockstep").get<string>("server.path", "").trim();
  if (configured !== "") {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
    return configured.replaceAll("${workspaceFolder}", folder);
  }
  const name = process.platform === "win32" ? "lockstep.exe" : "lockstep";
  return context.asAbsolutePath(path.join("server", name));
}

async function start(context: vscode.ExtensionContext): Promise<void> {
  const command = serverPath(context);
  if (!fs.existsSync(command)) {
    report(vscode.LanguageStatusSeverity.Error, "server not found", command);
    const choice = await vscode.window.showErrorMessage(
      `Lockstep: no server at ${command}. Set "lockstep.server.path" to a lockstep binary.`,
      "Open Settings",
    );
    if (choice !== undefined) await vscode.commands.executeCommand("workbench.action.openSettings", "lockstep.server.path");
    return;
  }
  const log = vscode.workspace.getConfiguration("lockstep").get<string>("server.log", "warn");
  const server: ServerOptions = {
    command,
    args: ["serve", "--stdio"],
    transport: TransportKind.stdio,
    options: { env: { ...process.env, LOCKSTEP_LOG: log } },
  };
  const options: LanguageClientOptions = {
    documentSelector: languages().flatMap((language) => [
      { scheme: "file", language },
      { scheme: "untitled", language },
      { scheme: "vscode-remote", language },
    ]).concat([
      { scheme: "file", pattern: "**/{lockstep.toml,*.machine.toml}" } as never,
      // HLSL or GLSL, which the server tells apart.
      { scheme: "file", pattern: "**/*.{comp,vert,frag,geom,tesc,tese,mesh,task,rgen,rchit,rahit,rmiss,rint,rcall}" } as never,
      // Headers with kernels, which the workbench takes for C++: the server tells them from others by what they hold.
      { scheme: "file", language: "cpp", pattern: "**/*.{h,hh,hpp,hxx,inl,inc}" } as never,
    ]),
    synchronize: {
      configurationSection: "lockstep",
      fileEvents: vscode.workspace.createFileSystemWatcher("**/{lockstep.toml,*.machine.toml,*.lockstep-profile.json,*.cu,*.cuh,*.h,*.hpp,*.inl,*.hlsl,*.hlsli,*.fxh,*.usf,*.ush,*.ptx,*.musimd}"),
    },
    outputChannel: output,
    middleware: {
      provideCodeActions: async (document, range, context, token, next) =>
        previews.previewed(document, range, await next(document, range, context, token)),
      // What is previewed gets its edit when it is accepted.
      resolveCodeAction: async (action, token, next) => (previews.isPreviewed(action) ? action : next(action, token)),
    },
    // `views`: pages of diagnostics, reports and previews are shown here.
    initializationOptions: { ...vscode.workspace.getConfiguration("lockstep"), views: true },
    markdown: { isTrusted: { enabledCommands: ["lockstep.explain"] } },
  };
  client = new LanguageClient("lockstep", "Lockstep", server, options);
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) {
      const version = client?.initializeResult?.serverInfo?.version ?? "";
      report(vscode.LanguageStatusSeverity.Information, `Lockstep ${version}`.trim(), command);
    } else if (newState === State.Starting) {
      report(vscode.LanguageStatusSeverity.Information, "Lockstep is starting", command, true);
    } else {
      report(vscode.LanguageStatusSeverity.Warning, "Lockstep has stopped", "Run “Lockstep: Restart Server”.");
    }
  });
  try {
    await client.start();
  } catch (error) {
    output.error(String(error));
    report(vscode.LanguageStatusSeverity.Error, "Lockstep could not start", String(error));
  }
}

async function restart(context: vscode.ExtensionContext): Promise<void> {
  const old = client;
  client = undefined;
  await old?.dispose().catch((error: unknown) => output.warn(String(error)));
  await start(context);
}

function report(severity: vscode.LanguageStatusSeverity, text: string, detail: string, busy = false): void {
  status.severity = severity;
  status.text = text;
  status.detail = detail;
  status.busy = busy;
}

/** The page of a diagnostic: from a link in a diagnostic or a hover, or chosen from the list. */
async function explain(code?: string): Promise<void> {
  const chosen = code ?? (await pickCode());
  if (chosen === undefined) return;
  const uri = vscode.Uri.from({ scheme: DOCUMENTATION, path: `/${chosen}.md` });
  await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
}

async function pickCode(): Promise<string | undefined> {
  const codes = await client?.sendRequest<string[]>("lockstep/codes");
  return codes && vscode.window.showQuickPick(codes, { placeHolder: "Which diagnostic?" });
}

async function documentation(uri: vscode.Uri): Promise<string> {
  const code = path.posix.basename(uri.path, ".md");
  return (await client?.sendRequest<string | null>("lockstep/explain", { code })) ?? `No page for “${code}”.`;
}

async function toggleHints(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("lockstep");
  await settings.update("hints.enabled", !settings.get<boolean>("hints.enabled", true), vscode.ConfigurationTarget.Global);
}
