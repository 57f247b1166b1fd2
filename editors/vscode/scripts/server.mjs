// Puts the server where the packed extension looks for it: the one that LOCKSTEP_BINARY names, else one that cargo builds.
// `--target PLATFORM` names another platform than this machine's; its server has to be built already.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { hostTarget, programName, targetsOf } from "./platform.mjs";

export const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const root = path.join(extension, "..", "..");

/** The reason why no package for the platform can be made of what is there, or undefined. Does nothing. */
export function refusal(target) {
  const binary = process.env.LOCKSTEP_BINARY;
  if (!binary) {
    return target === hostTarget() ? undefined : `LOCKSTEP_BINARY must name a server that is built for ${target}; only this machine's (${hostTarget()}) is built here.`;
  }
  if (!fs.existsSync(binary)) return `LOCKSTEP_BINARY: there is no file ${binary}.`;
  const found = targetsOf(binary);
  if (found.includes(target)) return undefined;
  return `LOCKSTEP_BINARY: ${binary} is ${found.length > 0 ? `a program for ${found.join(" and ")}` : "no program of a known platform"}, and the package is for ${target}.`;
}

export function placeServer(target) {
  const name = programName(target);
  let binary = process.env.LOCKSTEP_BINARY;
  if (!binary) {
    execFileSync("cargo", ["build", "--release", "--package", "lockstep-server"], { cwd: root, stdio: "inherit" });
    const folder = process.env.CARGO_TARGET_DIR ? path.resolve(root, process.env.CARGO_TARGET_DIR) : path.join(root, "target");
    binary = path.join(folder, "release", name);
  }
  // A package holds one server: that of another platform may lie there from before.
  fs.rmSync(path.join(extension, "server"), { recursive: true, force: true });
  fs.mkdirSync(path.join(extension, "server"));
  fs.copyFileSync(binary, path.join(extension, "server", name));
  fs.chmodSync(path.join(extension, "server", name), 0o755);
  console.log(`server for ${target}: ${binary}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = process.argv[2] === "--target" ? process.argv[3] : hostTarget();
  const reason = refusal(target);
  if (reason !== undefined) {
    console.error(`lockstep: ${reason}`);
    process.exit(1);
  }
  placeServer(target);
}
