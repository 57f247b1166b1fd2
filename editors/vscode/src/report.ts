// The report of a kernel, shader stage or loop: the page that the server makes, in a panel beside the source. What is clicked in it
// is revealed in the source.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

/** What the lens above a function passes, and what the command is called with. */
interface Target {
  uri: string;
  item?: string;
}

interface Revealed {
  command?: string;
  line?: number;
  column?: number;
}

export class Reports implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: Target | undefined;
  private readonly disposables: vscode.Disposable[] = [];
  private asked = 0;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables.push(
      vscode.commands.registerCommand("lockstep.showReport", (target?: Target) => this.show(target)),
      vscode.workspace.onDidSaveTextDocument((document) => {
        if (this.shown !== undefined && document.uri.toString() === vscode.Uri.parse(this.shown.uri).toString()) void this.refresh();
      }),
    );
  }

  dispose(): void {
    this.panel?.dispose();
    for (const one of this.disposables) one.dispose();
  }

  private async show(target?: Target): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const client = this.client();
    if (client === undefined) return;
    if (target === undefined && editor === undefined) {
      void vscode.window.showInformationMessage("Lockstep: open a file first.");
      return;
    }
    this.shown = target ?? { uri: client.code2ProtocolConverter.asUri(editor!.document.uri) };
    if (this.panel === undefined) {
      this.panel = vscode.window.createWebviewPanel(
        "lockstep.report",
        "Report",
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] },
      );
      this.panel.onDidDispose(() => {
        this.panel = undefined;
        this.shown = undefined;
      });
      this.panel.webview.onDidReceiveMessage((message: Revealed) => this.reveal(message));
    }
    this.panel.reveal(undefined, true);
    await this.refresh();
  }

  private async refresh(): Promise<void> {
    const client = this.client();
    const { panel, shown } = this;
    if (client === undefined || panel === undefined || shown === undefined) return;
    const number = ++this.asked;
    const params = { textDocument: { uri: shown.uri }, item: shown.item };
    const page = await client.sendRequest<{ html: string } | null>("lockstep/report", params);
    // An answer that a newer question has overtaken is dropped.
    if (number !== this.asked || this.panel === undefined) return;
    const name = shown.item ?? vscode.Uri.parse(shown.uri).path.split("/").pop();
    panel.title = `Report: ${name}`;
    panel.webview.html = page?.html ?? "<p>There is nothing to report of this file.</p>";
  }

  private async reveal(message: Revealed): Promise<void> {
    if (message.command !== "reveal" || this.shown === undefined || message.line === undefined) return;
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(this.shown.uri));
    const at = new vscode.Position(Math.max(0, message.line - 1), Math.max(0, (message.column ?? 1) - 1));
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.One, selection: new vscode.Range(at, at) });
  }
}
