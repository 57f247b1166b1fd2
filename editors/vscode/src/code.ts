// “Show GPU Code”, of C “Show Machine Code”: a read-only document beside the source that follows the cursor and the typing, with the lines that
// belong together highlighted in both.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

const SCHEME = "lockstep-code";
const LANGUAGES = new Set(["cuda-cpp", "hlsl", "ptx", "c"]);
/** Whether a processor is named, without which C is left alone: asks for one. */
async function named(): Promise<boolean> {
  const settings = vscode.workspace.getConfiguration("lockstep");
  if (settings.get<string | null>("processor")) return true;
  const uses = ["itanium2", "sc140"];
  const answer = await vscode.window.showInformationMessage(
    "Lockstep leaves C alone until a processor is named (lockstep.processor).",
    ...uses.map((processor) => `Use ${processor}`),
  );
  const chosen = uses.find((processor) => answer === `Use ${processor}`);
  if (chosen !== undefined) {
    const target = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
    await settings.update("processor", chosen, target);
  }
  // The server starts anew; what it finds stands at the loops.
  return false;
}

/** Idle time before the code is asked for again, in milliseconds. */
const DELAY = 120;

/** The languages of code, by whose names the workbench colours it: the comments of each, and the document that shows it. */
const SHOWN = {
  ptx: { comment: "//", path: "/GPU code.ptx" },
  ia64: { comment: "//", path: "/IA-64 code.ia64.s" },
  sc140: { comment: ";", path: "/SC140 code.sc140.asm" },
};

interface Code {
  name: string;
  target: string;
  text: string;
  /** Lines of the text and of the source that they come from, from 0. */
  lines: [number, number][];
  externals: string[];
  refused: string | null;
  summary: string | null;
  ptxasError: string | null;
}

export class TargetCode implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly related = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.rangeHighlightForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  private readonly disposables: vscode.Disposable[] = [];
  /** The source whose code is shown, by the document that shows it. */
  private source: vscode.Uri | undefined;
  /** Whether the source is C, whose code is a processor's. */
  private explicit = false;
  private language: keyof typeof SHOWN = "ptx";
  private position = new vscode.Position(0, 0);
  private code: Code | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.disposables.push(
      this.changed,
      this.related,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("lockstep.showCode", () => this.show()),
      vscode.commands.registerCommand("lockstep.showMachineCode", () => this.show()),
      vscode.window.onDidChangeTextEditorSelection((event) => this.select(event.textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => editor && this.select(editor)),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document.uri.toString() === this.source?.toString()) this.later();
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document.uri.scheme === SCHEME) this.source = undefined;
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.disposables) one.dispose();
  }

  private async show(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || !LANGUAGES.has(editor.document.languageId)) {
      void vscode.window.showInformationMessage("Lockstep: open a CUDA, HLSL, PTX or C file first.");
      return;
    }
    if (editor.document.languageId === "c" && !(await named())) return;
    this.source = editor.document.uri;
    this.explicit = editor.document.languageId === "c";
    this.position = editor.selection.active;
    await this.refresh();
    const document = await vscode.workspace.openTextDocument(this.document());
    await vscode.languages.setTextDocumentLanguage(document, this.language);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
    this.highlight(editor);
  }

  private document(): vscode.Uri {
    return vscode.Uri.from({ scheme: SCHEME, path: SHOWN[this.language].path });
  }

  provideTextDocumentContent(): string {
    const code = this.code;
    const { comment } = SHOWN[this.language];
    if (code === undefined) return `${comment} No function here has code.\n`;
    if (code.refused !== null) return `${comment} No code for ${code.name}: ${code.refused}.\n`;
    return code.text;
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), DELAY);
  }

  private async refresh(): Promise<void> {
    const client = this.client();
    if (this.source === undefined || client === undefined) return;
    const number = ++this.asked;
    const settings = vscode.workspace.getConfiguration("lockstep");
    const params = {
      textDocument: { uri: client.code2ProtocolConverter.asUri(this.source) },
      position: { line: this.position.line, character: this.position.character },
      ptxas: settings.get<string>("ptxas.path", "").trim() || undefined,
      judge: settings.get<boolean>("ptxas.enabled", true),
    };
    try {
      const code = await client.sendRequest<Code | null>("lockstep/code", params);
      // An answer that a newer question has overtaken is dropped.
      if (number !== this.asked) return;
      this.code = code ?? undefined;
      const before = this.document();
      if (code) this.language = code.target.startsWith("sm_") ? "ptx" : code.target.startsWith("ia64:") ? "ia64" : "sc140";
      else if (!this.explicit) this.language = "ptx";
      if (code && code.refused === null) code.text = this.below(code, this.head(code));
      if (code?.summary) code.text = this.below(code, `// ${code.summary}`);
      else if (code?.ptxasError) code.text = this.below(code, `// ptxas: ${code.ptxasError.split("\n")[0]}`);
      this.changed.fire(this.document());
      if (before.toString() !== this.document().toString()) this.changed.fire(before);
      const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === this.source?.toString());
      if (editor) setTimeout(() => this.highlight(editor), 30);
    } catch {
      // Cancelled, or the server is on its way out: the next change asks again.
    }
  }

  /** Whose code it is, and of what. */
  private head(code: Code): string {
    const file = this.source?.path.split("/").pop() ?? "";
    return `${SHOWN[this.language].comment} ${code.name} of ${file} for ${code.target}: Lockstep's own code, not the compiler's of the project`;
  }

  /** The text with a first line of its own; what comes from where moves with it. */
  private below(code: Code, line: string): string {
    code.lines = code.lines.map(([shown, source]) => [shown + 1, source]);
    return `${line}\n${code.text}`;
  }

  private select(editor: vscode.TextEditor): void {
    if (this.source === undefined) return;
    const isSource = editor.document.uri.toString() === this.source.toString();
    const alike = LANGUAGES.has(editor.document.languageId) && (editor.document.languageId === "c") === this.explicit;
    if (!isSource && editor.document.uri.scheme !== SCHEME && alike) {
      // Another file: its code from now on.
      this.source = editor.document.uri;
      this.position = editor.selection.active;
      this.later();
    } else if (isSource) {
      this.position = editor.selection.active;
      this.later();
      this.highlight(editor);
    } else if (editor.document.uri.scheme === SCHEME) {
      this.highlight(editor);
    }
  }

  /** Marks what belongs to the line of the cursor, in the other document. */
  private highlight(from: vscode.TextEditor): void {
    const inCode = from.document.uri.scheme === SCHEME;
    const other = vscode.window.visibleTextEditors.find((one) =>
      inCode ? one.document.uri.toString() === this.source?.toString() : one.document.uri.scheme === SCHEME,
    );
    if (other === undefined || this.code === undefined) return;
    const at = from.selection.active.line;
    const lines = this.code.lines
      .filter(([shown, source]) => (inCode ? shown : source) === at)
      .map(([shown, source]) => (inCode ? source : shown))
      .filter((line) => line < other.document.lineCount);
    const ranges = [...new Set(lines)].map((line) => new vscode.Range(line, 0, line, 0));
    from.setDecorations(this.related, []);
    other.setDecorations(this.related, ranges);
    const first = ranges[0];
    if (first !== undefined) other.revealRange(first, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}
