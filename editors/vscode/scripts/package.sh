#!/bin/sh
# `npm run package` with a clear word where Node.js or npm is missing: sh editors/vscode/scripts/package.sh [--target PLATFORM]
for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "lockstep: packing the extension needs Node.js 20 or later and npm; \`$program\` was not found." >&2
    exit 1
  fi
done
exec node "$(dirname -- "$0")/package.mjs" "$@"
