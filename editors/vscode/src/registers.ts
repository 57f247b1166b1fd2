// "Show Registers": the tables of `lockstep registers` as a read-only document beside the source, made anew after each edit.
// A row is a link to the line of the source that it speaks of.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

const SCHEME = "lockstep-registers";
const LANGUAGES = new Set(["cuda-cpp", "hlsl", "ptx"]);
/** Idle time before the text is asked for again, in milliseconds. */
const DELAY = 300;

interface Panel {
  text: string;
  /** Lines of the text and of the source that belong together, from 0. */
  lines: [number, number][];
}

export class Registers implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly uri = vscode.Uri.from({ scheme: SCHEME, path: "/Registers" });
  private readonly disposables: vscode.Disposable[];
  private source: vscode.Uri | undefined;
  private panel: Panel | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
      vscode.commands.registerCommand("lockstep.showRegisters", () => this.show()),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document.uri.toString() !== this.source?.toString()) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.refresh(), DELAY);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document.uri.scheme === SCHEME) this.source = undefined;
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async show(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || !LANGUAGES.has(editor.document.languageId)) {
      void vscode.window.showInformationMessage("Lockstep: open a CUDA, HLSL or PTX file first.");
      return;
    }
    this.source = editor.document.uri;
    await this.refresh();
    const document = await vscode.workspace.openTextDocument(this.uri);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  private async refresh(): Promise<void> {
    const client = this.client();
    if (this.source === undefined || client === undefined) return;
    const number = ++this.asked;
    const params = { textDocument: { uri: this.source.toString() } };
    const panel = await client.sendRequest<Panel | null>("lockstep/registers", params);
    // What was asked before the last edit is of no use any more.
    if (number !== this.asked) return;
    this.panel = panel ?? undefined;
    this.changed.fire(this.uri);
  }

  provideTextDocumentContent(): string {
    return this.panel?.text ?? "No kernel here.\n";
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const { source } = this;
    if (source === undefined) return [];
    const links = [];
    for (const [line, at] of this.panel?.lines ?? []) {
      if (line >= document.lineCount) continue;
      const text = document.lineAt(line).text;
      // Of a kernel its name, of a row the variable behind the number of its registers.
      const named = /^(\s*\d+\s+)(.+?)(?=\s{2}|$)/.exec(text) ?? /^()(.+?)(?=:)/.exec(text);
      if (named === null) continue;
      const range = new vscode.Range(line, named[1].length, line, named[0].length);
      links.push(new vscode.DocumentLink(range, source.with({ fragment: `L${at + 1}` })));
    }
    return links;
  }
}
