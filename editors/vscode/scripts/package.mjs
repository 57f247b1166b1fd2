// Packs the extension and its server into one file that VS Code installs.
//
//     npm run package                          lockstep.vsix, for this machine
//     npm run package -- --target linux-x64    lockstep-linux-x64-VERSION.vsix
//
// LOCKSTEP_BINARY names a server that is built already; without it cargo builds one, which it can for this machine alone.
// Here stands only the check of the tools, in words that a Node.js of long ago can read: Ubuntu 22.04 has Node.js 12.
import { spawnSync } from "child_process";

const NODE = 20;

function stop(message) {
  console.error("lockstep: " + message);
  process.exit(1);
}

if (Number(process.versions.node.split(".")[0]) < NODE) {
  stop("packing the extension needs Node.js " + NODE + " or later and npm; this is Node.js " + process.versions.node + ".");
}
// On Windows npm is a script, which only a shell starts.
if (spawnSync("npm", ["--version"], { shell: process.platform === "win32" }).status !== 0) {
  stop("packing the extension needs npm beside Node.js " + NODE + " or later; `npm` was not found.");
}
import("./pack.mjs").then(
  (module) => module.pack(process.argv.slice(2)),
  (error) => stop(String(error)),
).catch((error) => stop(error.message));
