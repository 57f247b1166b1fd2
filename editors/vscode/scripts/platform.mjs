// The platforms that a package can be made for, by the names of `vsce package --target`, and the one that a program runs on.
import fs from "node:fs";

export const TARGETS = ["linux-x64", "linux-arm64", "alpine-x64", "alpine-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"];

/** The platform of this machine, or undefined if no package is made for it. */
export function hostTarget() {
  const system = process.platform === "linux" && fs.existsSync("/etc/alpine-release") ? "alpine" : process.platform;
  return TARGETS.find((target) => target === `${system}-${process.arch}`);
}

export function programName(target) {
  return target.startsWith("win32") ? "lockstep.exe" : "lockstep";
}

/** The platforms that a program runs on, read from its head; empty if it is no program of one that is known. */
export function targetsOf(file) {
  const bytes = head(file);
  if (bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f454c46) return elf(bytes);
  if (bytes.length >= 64 && bytes.toString("latin1", 0, 2) === "MZ") return portableExecutable(bytes);
  if (bytes.length >= 8 && bytes.readUInt32LE(0) === 0xfeedfacf) return named("darwin", [MACH[bytes.readUInt32LE(4)]]);
  if (bytes.length >= 8 && bytes.readUInt32BE(0) === 0xcafebabe) {
    const count = Math.min(bytes.readUInt32BE(4), 8);
    return named("darwin", Array.from({ length: count }, (_, index) => MACH[bytes.readUInt32BE(8 + 20 * index)]));
  }
  return [];
}

const MACH = { 0x01000007: "x64", 0x0100000c: "arm64" };
/** Bytes in which every format says what it is for. */
const HEAD = 1 << 16;

function head(file) {
  const bytes = Buffer.alloc(HEAD);
  const opened = fs.openSync(file, "r");
  try {
    return bytes.subarray(0, fs.readSync(opened, bytes, 0, HEAD, 0));
  } finally {
    fs.closeSync(opened);
  }
}

/** A program that names glibc's loader needs it; one that names musl's runs on Alpine alone; a static one runs on both. */
function elf(bytes) {
  const cpu = { 0x3e: "x64", 0xb7: "arm64" }[bytes.readUInt16LE(18)];
  const table = Number(bytes.readBigUInt64LE(32));
  const size = bytes.readUInt16LE(54);
  let loader = "";
  for (let index = 0; index < bytes.readUInt16LE(56); index++) {
    const at = table + index * size;
    if (at + 40 > bytes.length || bytes.readUInt32LE(at) !== 3) continue;
    const start = Number(bytes.readBigUInt64LE(at + 8));
    loader = bytes.toString("latin1", start, start + Number(bytes.readBigUInt64LE(at + 32)));
  }
  if (loader === "") return [...named("linux", [cpu]), ...named("alpine", [cpu])];
  return named(loader.includes("musl") ? "alpine" : "linux", [cpu]);
}

function portableExecutable(bytes) {
  const at = bytes.readUInt32LE(60);
  if (at + 6 > bytes.length || bytes.toString("latin1", at, at + 4) !== "PE\0\0") return [];
  return named("win32", [{ 0x8664: "x64", 0xaa64: "arm64" }[bytes.readUInt16LE(at + 4)]]);
}

function named(system, cpus) {
  return cpus.filter((cpu) => cpu !== undefined).map((cpu) => `${system}-${cpu}`);
}
