// “Profile Function”: runs the function at the cursor in the server's interpreter, on the inputs that a description
// beside the file tells of, and helps to write that description.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

interface Description {
  item: string;
  /** Where the description belongs. */
  path: string;
  text: string;
  /** The description that is there. */
  found: string | null;
}

interface Outcome {
  path: string;
  summary: string;
  /** Names that the description leaves out. */
  open: string[];
  notes: string[];
}

export async function profileFunction(client: LanguageClient | undefined, output: vscode.LogOutputChannel): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (client === undefined || editor === undefined) return;
  const at = {
    textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document),
    position: client.code2ProtocolConverter.asPosition(editor.selection.active),
  };
  const description = await client.sendRequest<Description | null>("lockstep/describe", at);
  if (description === null) {
    void vscode.window.showInformationMessage("Lockstep: there is no function here that can be run.");
    return;
  }
  if (description.found === null) {
    const describe = { label: "Describe its inputs", detail: `Creates ${vscode.workspace.asRelativePath(description.path)}, to be changed; then profile again` };
    const run = { label: "Run it on inputs chosen at random", detail: "Quick, but zeros are as likely as the random numbers make them" };
    const chosen = await vscode.window.showQuickPick([describe, run], { title: `What does “${description.item}” run on?` });
    if (chosen === undefined) return;
    if (chosen === describe) {
      await create(vscode.Uri.file(description.path).with({ scheme: editor.document.uri.scheme, authority: editor.document.uri.authority }), description.text);
      return;
    }
  }
  await run(client, { command: "lockstep.profile", arguments: [{ ...at, inputs: description.found }] }, description.item, output);
}

/** The arguments that name a file of counts, by the ending of its name. */
function source(path: string, map: string): Record<string, string> {
  if (path.endsWith(".csv")) return { table: path };
  if (/\.gcov(\.json)?(\.gz)?$/.test(path)) return { gcov: path };
  return path.endsWith(".json") ? { llvmCov: path } : { counters: path, map };
}

/** “Import Counts as a Profile”: a table, or the counters of an instrumented copy with its map. */
export async function importCounts(client: LanguageClient | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (client === undefined || editor === undefined) return;
  const picked = await vscode.window.showOpenDialog({ title: "Counts: a table name,line,executions,zeros (.csv), a report of gcov (.gcov, .gcov.json.gz) or llvm-cov export (.json), or the counters of an instrumented run", openLabel: "Import" });
  const file = picked?.[0];
  if (file === undefined) return;
  const textDocument = client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document);
  const own = editor.document.uri.fsPath;
  const map = own.endsWith(".ia64.s") ? own.replace(/\.ia64\.s$/, ".counted.ia64.map.json") : own.replace(/\.[^.]*$/, ".counted.map.json");
  const from = source(file.fsPath, map);
  await tell(async () => {
    const outcome = await client.sendRequest<{ path: string; items: number; lost: string[] }>("workspace/executeCommand", { command: "lockstep.importProfile", arguments: [{ textDocument, ...from }] });
    const lost = outcome.lost.length > 0 ? ` ${outcome.lost.length} counts were not found in the code.` : "";
    return `counts of ${outcome.items} functions are in ${vscode.workspace.asRelativePath(outcome.path)}.${lost}`;
  });
}

/** “Instrument File”: a copy that counts zeros on the device, and its map. */
export async function instrumentFile(client: LanguageClient | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (client === undefined || editor === undefined) return;
  const textDocument = client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document);
  await tell(async () => {
    const outcome = await client.sendRequest<{ path: string; places: number; counters: number; buffer: string; width: number; refused?: string[] }>("workspace/executeCommand", { command: "lockstep.instrument", arguments: [{ textDocument }] });
    await vscode.window.showTextDocument(vscode.Uri.file(outcome.path).with({ scheme: editor.document.uri.scheme, authority: editor.document.uri.authority }), { viewColumn: vscode.ViewColumn.Beside });
    const places = editor.document.languageId === "ia64" ? "functions" : "places";
    const without = outcome.refused?.length ? ` Without probes: ${outcome.refused.join(", ")}.` : "";
    return `${outcome.places} ${places} are counted in “${outcome.buffer}” (${outcome.counters} counters of ${outcome.width} bytes): clear it before the run, then import what it holds.${without}`;
  });
}

/** Says what came of something, or why nothing did. */
async function tell(work: () => Promise<string>): Promise<void> {
  try {
    void vscode.window.showInformationMessage(`Lockstep: ${await work()}`);
  } catch (error) {
    void vscode.window.showErrorMessage(`Lockstep: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function create(uri: vscode.Uri, text: string): Promise<void> {
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside });
}

async function run(client: LanguageClient, params: object, item: string, output: vscode.LogOutputChannel): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: `Lockstep: profiling ${item}`, cancellable: true };
  try {
    const outcome = await vscode.window.withProgress(options, (_, token) => client.sendRequest<Outcome | null>("workspace/executeCommand", params, token));
    if (outcome === null) return;
    output.info(outcome.summary);
    for (const note of outcome.notes) output.info(note);
    const open = outcome.open.length > 0 ? ` Chosen at random: ${outcome.open.join(", ")}.` : "";
    const show = await vscode.window.showInformationMessage(`Lockstep: ${outcome.summary}.${open}`, "Open Profile");
    if (show !== undefined) await vscode.window.showTextDocument(vscode.Uri.file(outcome.path));
  } catch (error) {
    if (error instanceof vscode.CancellationError || (error as { code?: number }).code === -32800) return;
    output.error(String(error));
    void vscode.window.showErrorMessage(`Lockstep: ${error instanceof Error ? error.message : String(error)}`);
  }
}
