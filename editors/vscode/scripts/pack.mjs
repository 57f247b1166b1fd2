// The steps of packing; package.mjs looks for the tools first.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { TARGETS, hostTarget } from "./platform.mjs";
import { extension, placeServer, refusal } from "./server.mjs";

/** Packs for the platform that the words of the command line name, or throws the reason why not. */
export function pack(words) {
  const named = namedTarget(words);
  const target = named ?? hostTarget();
  if (target === undefined) throw new Error(`no package is made for ${process.platform}-${process.arch}; --target names another platform.`);
  const reason = refusal(target);
  if (reason !== undefined) throw new Error(reason);
  const { version, repository } = JSON.parse(fs.readFileSync(path.join(extension, "package.json"), "utf8"));
  const file = named === undefined ? "lockstep.vsix" : `lockstep-${target}-${version}.vsix`;

  npm("install", "--no-audit", "--no-fund");
  npm("run", "check");
  npm("run", "bundle");
  placeServer(target);
  const vsce = path.join(extension, "node_modules", "@vscode", "vsce", "vsce");
  // The README's links and pictures are looked for at the top of the repository otherwise.
  const place = (kind) => `${repository.url.replace(/\.git$/, "")}/${kind}/HEAD/${repository.directory}`;
  run(process.execPath, [vsce, "package", "--no-dependencies", "--target", target, "--baseContentUrl", place("blob"), "--baseImagesUrl", place("raw"), "-o", file]);
}

function namedTarget(words) {
  let named;
  for (let index = 0; index < words.length; index++) {
    const word = words[index];
    if (word.startsWith("--target=")) named = word.slice("--target=".length);
    else if (word === "--target" && index + 1 < words.length) named = words[++index];
    else throw new Error(`unknown option ${word}; usage: npm run package -- [--target ${TARGETS.join("|")}]`);
  }
  if (named !== undefined && !TARGETS.includes(named)) throw new Error(`no platform ${named}; there are ${TARGETS.join(", ")}.`);
  return named;
}

function npm(...words) {
  run("npm", words, process.platform === "win32");
}

function run(program, words, shell = false) {
  const { error, status } = spawnSync(program, words, { cwd: extension, stdio: "inherit", shell });
  if (error) throw error;
  if (status !== 0) throw new Error(`${path.basename(program)} ${words.join(" ")} failed.`);
}
