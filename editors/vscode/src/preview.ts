// “Compare GPU Code”: what an action at the cursor or the selection would make of the function's GPU code, as a diff.
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
    const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: "GPU code after which action?" });
    if (chosen === undefined) return;
    const preview = await client.sendRequest<Preview | null>("lockstep/preview", { ...at, action: chosen.id });
    if (preview === null) return;
    const before = this.put("before", preview.item, preview.before);
    const after = this.put("after", preview.item, preview.after);
    const title = `${preview.item}: GPU code before ↔ after “${preview.title}”`;
    await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: false });
  }

  private put(side: string, item: string, code: Code | null): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${side}/${item}.ptx` });
    const text = code === null ? "// There is no code.\n" : code.refused === null ? code.text : `// No code: ${code.refused}.\n`;
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    return uri;
  }
}
