// Builds the server and puts it where the packed extension looks for it. LOCKSTEP_BINARY names one that is built already.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const extension = path.dirname(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname));
const root = path.join(extension, "..", "..");
const name = process.platform === "win32" ? "lockstep.exe" : "lockstep";
let binary = process.env.LOCKSTEP_BINARY;
if (!binary) {
  execFileSync("cargo", ["build", "--release", "--package", "lockstep-server"], { cwd: root, stdio: "inherit" });
  const target = process.env.CARGO_TARGET_DIR ? path.resolve(root, process.env.CARGO_TARGET_DIR) : path.join(root, "target");
  binary = path.join(target, "release", name);
}
fs.mkdirSync(path.join(extension, "server"), { recursive: true });
fs.copyFileSync(binary, path.join(extension, "server", name));
fs.chmodSync(path.join(extension, "server", name), 0o755);
console.log(`server: ${binary}`);
