// “Check Workspace”: the findings of all files of the workspace, open or not, among the problems until they are looked at again. The
// server's own command line does it, on all cores.
import * as path from "node:path";
import { spawn } from "node:child_process";
import * as vscode from "vscode";

interface Row {
  code: string;
  tier: "error" | "warning" | "information" | "hint";
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  message: string;
}

interface Checked {
  files: { file: string; diagnostics: Row[] }[];
}

const SEVERITY = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  information: vscode.DiagnosticSeverity.Information,
  hint: vscode.DiagnosticSeverity.Hint,
};

export class WorkspaceCheck implements vscode.Disposable {
  private readonly found = vscode.languages.createDiagnosticCollection("lockstep-workspace");
  private readonly disposables: vscode.Disposable[] = [];

  constructor(
    private readonly server: () => string,
    private readonly output: vscode.LogOutputChannel,
  ) {
    this.disposables.push(
      this.found,
      vscode.commands.registerCommand("lockstep.checkWorkspace", () => this.check()),
      // Of open files the server speaks itself.
      vscode.workspace.onDidOpenTextDocument((document) => this.found.delete(document.uri)),
      vscode.workspace.onDidChangeWorkspaceFolders(({ removed }) => {
        this.found.forEach((uri) => {
          if (removed.some((folder) => uri.path.startsWith(`${folder.uri.path}/`))) this.found.delete(uri);
        });
      }),
    );
  }

  dispose(): void {
    for (const one of this.disposables) one.dispose();
  }

  private async check(): Promise<void> {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file" || folder.uri.scheme === "vscode-remote");
    if (folders.length === 0) {
      void vscode.window.showInformationMessage("Lockstep: open a folder first.");
      return;
    }
    this.found.clear();
    const options = { location: vscode.ProgressLocation.Notification, title: "Lockstep: checking the workspace", cancellable: true };
    await vscode.window.withProgress(options, async (_, token) => {
      let count = 0;
      for (const folder of folders) {
        const checked = await this.of(folder.uri.fsPath, token);
        if (checked === undefined) return;
        for (const { file, diagnostics } of checked.files) {
          const uri = folder.uri.with({ path: vscode.Uri.file(path.resolve(folder.uri.fsPath, file)).path });
          const open = vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
          if (open) continue;
          const rows = diagnostics.filter((row) => row.tier !== "hint").map(diagnostic);
          count += rows.length;
          this.found.set(uri, rows);
        }
      }
      await vscode.commands.executeCommand("workbench.actions.view.problems");
      this.output.info(`checked the workspace: ${count} findings in files that are not open`);
    });
  }

  /** What `lockstep check` prints of a folder; nothing where it was cancelled or failed. */
  private of(folder: string, token: vscode.CancellationToken): Promise<Checked | undefined> {
    return new Promise((resolve) => {
      const child = spawn(this.server(), ["check", "--format", "json", "."], { cwd: folder });
      const parts: Buffer[] = [];
      const errors: Buffer[] = [];
      child.stdout.on("data", (part: Buffer) => parts.push(part));
      child.stderr.on("data", (part: Buffer) => errors.push(part));
      token.onCancellationRequested(() => child.kill());
      child.on("error", (error) => {
        void vscode.window.showErrorMessage(`Lockstep: ${error.message}`);
        resolve(undefined);
      });
      child.on("close", () => {
        if (token.isCancellationRequested) return resolve(undefined);
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString("utf8")) as Checked);
        } catch {
          this.output.error(Buffer.concat(errors).toString("utf8"));
          void vscode.window.showErrorMessage("Lockstep: the workspace could not be checked; see the output.");
          resolve(undefined);
        }
      });
    });
  }
}

function diagnostic(row: Row): vscode.Diagnostic {
  const range = new vscode.Range(row.line - 1, row.column - 1, row.end_line - 1, row.end_column - 1);
  const found = new vscode.Diagnostic(range, row.message, SEVERITY[row.tier]);
  found.source = "lockstep";
  found.code = { value: row.code, target: vscode.Uri.from({ scheme: "lockstep-doc", path: `/${row.code}.md` }) };
  return found;
}
