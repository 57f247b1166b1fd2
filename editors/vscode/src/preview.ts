// What an action would do, before it does: the difference in the source when it is chosen, with the predicted saving; “Compare
// Code”: the difference in the function's code; of C what an action made of it, once it is applied, and what reducing its spills,
// or its profile, changes.
import * as vscode from "vscode";
import type { LanguageClient, WorkspaceEdit } from "vscode-languageclient/node";

const SCHEME = "lockstep-preview";
const PREVIEW = "lockstep.previewAction";

interface Offered {
  actions: { id: string; title: string; effect: string }[];
}

interface Code {
  text: string;
  refused: string | null;
  target: string;
}

interface Preview {
  title: string;
  item: string;
  before: Code | null;
  after: Code | null;
}

/** The code of a function in front of an edit, and where to ask for it behind. */
interface Change {
  uri: string;
  position: { line: number; character: number };
  title: string;
  name: string;
  before: Code;
}

/** Two codes of a function that the server has, and what they are called. */
interface Codes {
  request: string;
  nothing: string;
  names: [string, string];
  title: string;
}

/** The spills that the allocator asks for, and those reduced. */
const SPILLS: Codes = {
  request: "lockstep/spills",
  nothing: "reducing spills changes nothing in a function of C here.",
  names: ["spills-kept", "spills-reduced"],
  title: "spills as allocated ↔ reduced",
};

/** The function as it is, and as its profile has it transformed. */
const PROFILED: Codes = {
  request: "lockstep/profiledCode",
  nothing: "a profile changes nothing in a function of C here, or there is none.",
  names: ["as-it-is", "profiled"],
  title: "code as it is ↔ after its profile",
};

/** The place of a function; without one, that of the cursor. */
interface Place {
  uri: string;
  position: { line: number; character: number };
}

/** A rewrite that was chosen, and how the server finds it again. */
interface Chosen {
  uri: string;
  position: { line: number; character: number };
  title: string;
  data: unknown;
}

/** An action with its edit. */
interface Resolved {
  edit?: WorkspaceEdit;
}

/** A document's text after edits that do not overlap. */
function changed(document: vscode.TextDocument, edits: vscode.TextEdit[]): string {
  let text = document.getText();
  const last = [...edits].sort((a, b) => b.range.start.compareTo(a.range.start));
  for (const { range, newText } of last) {
    text = text.slice(0, document.offsetAt(range.start)) + newText + text.slice(document.offsetAt(range.end));
  }
  return text;
}

export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, string>();
  private shown = 0;
  private readonly disposables: vscode.Disposable[] = [];

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables.push(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("lockstep.compareCode", () => this.compare()),
      vscode.commands.registerCommand("lockstep.showSpills", (place?: Place) => this.both(SPILLS, place)),
      vscode.commands.registerCommand("lockstep.showProfiledCode", (place?: Place) => this.both(PROFILED, place)),
      vscode.commands.registerCommand(PREVIEW, (chosen: Chosen) => this.preview(chosen)),
    );
  }

  dispose(): void {
    for (const one of this.disposables) one.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "";
  }

  private async compare(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const client = this.client();
    if (client === undefined || editor === undefined) return;
    const at = {
      textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(editor.document),
      range: client.code2ProtocolConverter.asRange(editor.selection),
    };
    const offered = await client.sendRequest<Offered | null>("lockstep/preview", at);
    const rows = offered?.actions ?? [];
    if (rows.length === 0) {
      void vscode.window.showInformationMessage("Lockstep: no action is offered here whose code could be compared.");
      return;
    }
    const items = rows.map((row) => ({ label: row.title, detail: row.effect, id: row.id }));
    const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: "Code after which action?" });
    if (chosen === undefined) return;
    const preview = await client.sendRequest<Preview | null>("lockstep/preview", { ...at, action: chosen.id });
    if (preview === null) return;
    const before = this.put("before", preview.item, preview.before);
    const after = this.put("after", preview.item, preview.after);
    const title = `${preview.item}: code before ↔ after “${preview.title}”`;
    await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: false });
  }

  /** Two codes of a function of C side by side, without an edit between them. */
  private async both(codes: Codes, chosen?: Place): Promise<void> {
    const client = this.client();
    const editor = vscode.window.activeTextEditor;
    if (client === undefined) return;
    let place = chosen;
    if (place === undefined && editor !== undefined) {
      const { document, selection } = editor;
      place = { uri: client.code2ProtocolConverter.asUri(document.uri), position: client.code2ProtocolConverter.asPosition(selection.active) };
    }
    if (place === undefined) return;
    const found = await client.sendRequest<Preview | null>(codes.request, { textDocument: { uri: place.uri }, position: place.position });
    if (found === null) {
      void vscode.window.showInformationMessage(`Lockstep: ${codes.nothing}`);
      return;
    }
    const before = this.put(codes.names[0], found.item, found.before);
    const after = this.put(codes.names[1], found.item, found.after);
    await vscode.commands.executeCommand("vscode.diff", before, after, `${found.item}: ${codes.title}, ${found.title}`, { preview: false });
  }

  /** Rewrites are shown as a difference, with what they are predicted to bring, before anything is written. */
  previewed(
    document: vscode.TextDocument,
    range: vscode.Range,
    found: (vscode.Command | vscode.CodeAction)[] | null | undefined,
  ): (vscode.Command | vscode.CodeAction)[] | null | undefined {
    const client = this.client();
    const wanted = vscode.workspace.getConfiguration("lockstep", document).get<boolean>("preview", true);
    if (!found || client === undefined || !wanted) return found;
    for (const one of found) {
      if (!(one instanceof vscode.CodeAction) || one.disabled !== undefined || one.command !== undefined) continue;
      if (one.kind === undefined || !vscode.CodeActionKind.RefactorRewrite.contains(one.kind)) continue;
      const action: Chosen = {
        uri: client.code2ProtocolConverter.asUri(document.uri),
        position: client.code2ProtocolConverter.asPosition(range.start),
        title: one.title,
        data: (one as { data?: unknown }).data,
      };
      one.edit = undefined;
      one.command = { command: PREVIEW, title: "Preview", arguments: [action] };
    }
    return found;
  }

  isPreviewed(action: vscode.CodeAction): boolean {
    return action.command?.command === PREVIEW;
  }

  private async preview(chosen: Chosen): Promise<void> {
    const client = this.client();
    if (client === undefined) return;
    const uri = client.protocol2CodeConverter.asUri(chosen.uri);
    const asked = { title: chosen.title, kind: "refactor.rewrite", data: chosen.data };
    const resolved = await client.sendRequest<Resolved>("codeAction/resolve", asked).catch(() => undefined);
    if (resolved?.edit === undefined) {
      void vscode.window.showInformationMessage("Lockstep: the text has changed since the action was offered.");
      return;
    }
    const edit = await client.protocol2CodeConverter.asWorkspaceEdit(resolved.edit as WorkspaceEdit);
    const document = await vscode.workspace.openTextDocument(uri);
    const version = document.version;
    const before = document.languageId === "c" ? await this.codeAt(chosen.uri, chosen.position) : null;
    const name = uri.path.split("/").pop() ?? "";
    const after = vscode.Uri.from({ scheme: SCHEME, path: `/${++this.shown}/${name}` });
    this.texts.set(after.path, changed(document, edit.get(uri)));
    await vscode.commands.executeCommand("vscode.diff", uri, after, `${name}: ${chosen.title}`, { preview: true });
    const effect = Object.values(resolved.edit.changeAnnotations ?? {})[0]?.description ?? "";
    const choice = await vscode.window.showInformationMessage(`${chosen.title}. ${effect}`.trim(), "Apply", "Discard");
    await this.close(after);
    if (choice !== "Apply") return;
    if (document.version !== version) {
      void vscode.window.showInformationMessage("Lockstep: the text has changed since; nothing was written.");
      return;
    }
    await vscode.workspace.applyEdit(edit);
    await vscode.window.showTextDocument(document);
    if (before !== null) {
      await this.showChange({ uri: chosen.uri, position: chosen.position, title: chosen.title, name: before.name, before });
    }
  }

  /** Closes the difference to a text. */
  private async close(after: vscode.Uri): Promise<void> {
    const isIt = (tab: vscode.Tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === after.toString();
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(isIt);
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs);
    this.texts.delete(after.path);
  }

  private async codeAt(uri: string, position: Change["position"]): Promise<(Code & { name: string }) | null> {
    const client = this.client();
    if (client === undefined) return null;
    try {
      return await client.sendRequest<(Code & { name: string }) | null>("lockstep/code", { textDocument: { uri }, position });
    } catch {
      // Cancelled, or the server is on its way out.
      return null;
    }
  }

  private async showChange(change: Change): Promise<void> {
    const code = await this.codeAt(change.uri, change.position);
    // A choice that is made anyway changes nothing.
    if (code === null || code.text === change.before.text) return;
    const before = this.put("before", change.name, change.before);
    const after = this.put("after", change.name, code);
    const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true };
    await vscode.commands.executeCommand("vscode.diff", before, after, `${change.name}: ${code.target} before ↔ after “${change.title}”`, options);
  }

  private put(side: string, item: string, code: Code | null): vscode.Uri {
    const gpu = code === null || code.target.startsWith("sm_");
    const ending = gpu ? "ptx" : code.target.startsWith("ia64") ? "ia64.s" : "sc140.asm";
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${side}/${item}.${ending}` });
    const text = code === null ? "// There is no code.\n" : code.refused === null ? code.text : `// No code: ${code.refused}.\n`;
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    return uri;
  }
}
