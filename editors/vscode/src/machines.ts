// "Show on Three Machines": a loop of C on a processor with groups, on one with execution sets, and as a thread's PTX, as a
// read-only page beside the source.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

const SCHEME = "lockstep-machines";

/** The loop of a code action; without one, that of the cursor. */
interface Wanted {
  uri: string;
  position: { line: number; character: number };
}

export class Machines implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly uri = vscode.Uri.from({ scheme: SCHEME, path: "/Three machines.md" });
  private readonly disposables: vscode.Disposable[];
  private text = "";

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("lockstep.showMachines", (wanted?: Wanted) => this.show(wanted)),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  private async show(wanted?: Wanted): Promise<void> {
    const client = this.client();
    const chosen = wanted ?? this.here(client);
    const page =
      chosen &&
      (await client?.sendRequest<string | null>("lockstep/machines", {
        textDocument: { uri: chosen.uri },
        position: chosen.position,
      }));
    if (!page) {
      void vscode.window.showInformationMessage("Lockstep: put the cursor into a loop of C first.");
      return;
    }
    this.text = page;
    this.changed.fire(this.uri);
    await vscode.commands.executeCommand("markdown.showPreviewToSide", this.uri);
  }

  private here(client: LanguageClient | undefined): Wanted | undefined {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "c" || client === undefined) return undefined;
    const { line, character } = editor.selection.active;
    return { uri: client.code2ProtocolConverter.asUri(editor.document.uri), position: { line, character } };
  }
}
