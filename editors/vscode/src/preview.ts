// “Compare Code”: what an action at the cursor or the selection would make of the function's code, as a diff; of C what an
// action made of it, once it is applied.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

const SCHEME = "lockstep-preview";

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

export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, string>();
  private readonly disposables: vscode.Disposable[] = [];

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables.push(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("lockstep.compareCode", () => this.compare()),
      vscode.commands.registerCommand("lockstep.showChange", (change: Change) => this.showChange(change)),
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

  /** Rewrites of C show what they made of the code: asked for when the menu is opened, so that there is a before. */
  async withChange(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
    found: (vscode.Command | vscode.CodeAction)[] | null | undefined,
  ): Promise<(vscode.Command | vscode.CodeAction)[] | null | undefined> {
    const client = this.client();
    if (!found || client === undefined || document.languageId !== "c" || context.triggerKind !== vscode.CodeActionTriggerKind.Invoke) return found;
    const edits = found.filter((one): one is vscode.CodeAction => one instanceof vscode.CodeAction && one.edit !== undefined && one.command === undefined && one.disabled === undefined);
    const rewrites = edits.filter((one) => one.kind !== undefined && vscode.CodeActionKind.RefactorRewrite.contains(one.kind));
    if (rewrites.length === 0) return found;
    const uri = client.code2ProtocolConverter.asUri(document.uri);
    const position = client.code2ProtocolConverter.asPosition(range.start);
    const before = await this.codeAt(uri, position);
    if (before === null) return found;
    for (const one of rewrites) {
      const change: Change = { uri, position, title: one.title, name: before.name, before };
      one.command = { command: "lockstep.showChange", title: "Compare the code", arguments: [change] };
    }
    return found;
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
    const ending = code?.target.startsWith("ia64") ? "ia64.s" : "ptx";
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${side}/${item}.${ending}` });
    const text = code === null ? "// There is no code.\n" : code.refused === null ? code.text : `// No code: ${code.refused}.\n`;
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    return uri;
  }
}
