#!/usr/bin/env bash
# Runs `lockstep check`. Its status is an output, so that a later step can upload the findings before the job fails.
set -uo pipefail
words=()
add() {
  local word
  while IFS= read -r word; do
    word=${word%$'\r'}
    [ -z "$word" ] || words+=("${@:2}" "$word")
  done <<<"$1"
}
add "$OPTIONS"
add "$DENY" --deny
words+=(--)
add "$PATHS"

"$LOCKSTEP" check --format sarif "${words[@]}" >"$SARIF_FILE"
status=$?
written=false
if [ -s "$SARIF_FILE" ]; then
  written=true
  # GitHub wants paths as the repository has them.
  sed 's#^\( *"uri": "\)\./#\1#' "$SARIF_FILE" >"$SARIF_FILE.new" && mv "$SARIF_FILE.new" "$SARIF_FILE"
  [ "$UPLOAD" = true ] || "$LOCKSTEP" check --format github "${words[@]}" | sed 's#^\(::[a-z]* file=\)\./#\1#'
fi
{
  echo "status=$status"
  echo "written=$written"
} >>"$GITHUB_OUTPUT"
