#!/usr/bin/env bash
# Drives Helix in tmux with languages.toml and c.toml: LOCKSTEP_BINARY=target/release/lockstep editors/helix/test.sh
# Wants the diagnostic and the hover of CUDA, a diagnostic of IA-64 assembly, and one of C where the project has c.toml, and
# no server for C where it has not. HX names another program than `hx`. Waits for what the screen shows, all together for 110 seconds.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
server=$(realpath -e "$(command -v "${LOCKSTEP_BINARY:-lockstep}")" 2>/dev/null) || { echo "FAILED: no server; LOCKSTEP_BINARY names one" >&2; exit 1; }
hx=$(command -v "${HX:-hx}") || { echo "FAILED: no Helix; HX names one" >&2; exit 1; }
run=$(mktemp -d)
passed=0

terminal() { TMUX_TMPDIR=$run tmux -u -f /dev/null "$@"; }
screen() { terminal capture-pane -p 2>/dev/null || true; }
trap 'terminal kill-server 2>/dev/null || true; rm -rf "$run"' EXIT
fail() {
  echo "FAILED: $*" >&2
  screen >&2
  exit 1
}
ok() {
  passed=$((passed + 1))
  echo "ok $1"
}
# The screen until it holds a text.
wait_for() {
  until screen | grep -q -- "$2"; do
    [ "$SECONDS" -lt 110 ] || fail "no $1"
    sleep 0.1
  done
  ok "$1"
}
# Opens a file in a fresh Helix; what it prints stays on the screen until the next.
edit() {
  terminal kill-session -t lockstep 2>/dev/null || true
  terminal new-session -d -s lockstep -x 140 -y 30 -c "$(dirname "$1")" \
    "env HOME='$run/home' XDG_CONFIG_HOME='$run/home/.config' XDG_CACHE_HOME='$run/home/.cache' PATH='$run/bin:$PATH' '$hx' '$1'; exec cat"
}

mkdir -p "$run/home/.config/helix" "$run/bin" "$run/plain" "$run/named/.helix"
# The session keeps the terminal's server alive between two files.
terminal new-session -d -s rest "exec cat"
ln -s "$server" "$run/bin/lockstep"
touch "$run/home/.config/helix/config.toml"
cp "$here/languages.toml" "$run/home/.config/helix/languages.toml"
cp "$here/c.toml" "$run/named/.helix/languages.toml"
echo 'processor = "itanium2"' >"$run/named/lockstep.toml"
cat >"$run/plain/kernel.cu" <<'C'
__global__ void k(float* out, const float* in, int n) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < n) __syncthreads();
  out[index] = in[index];
}
C
printf 'f:\n\tadds r8 = 1, r32\n\tadds r9 = 1, r8 ;;\n\tbr.ret.sptk.many b0 ;;\n' >"$run/plain/short.ia64.s"
cat >"$run/named/loop.c" <<'C'
double sum(long n, const double *restrict a) {
  double s = 0;
  for (long i = 0; i < n; ++i)
    s += a[i];
  return s;
}
C

# The servers that Helix has for a language in a folder.
servers() {
  (cd "$1" && HOME=$run/home XDG_CONFIG_HOME=$run/home/.config PATH=$run/bin:$PATH "$hx" --health "$2") | sed 's/\x1b\[[0-9;]*m//g'
}
for language in cuda hlsl ptx musimd ia64; do
  [[ $(servers "$run/plain" "$language") == *'✓ lockstep'* ]] || fail "hx --health $language does not find the server"
done
ok "hx --health finds the server"
[[ $(servers "$run/plain" c) != *lockstep* ]] || fail "C has the server without c.toml"
[[ $(servers "$run/named" c) == *'✓ lockstep'* ]] || fail "hx --health c does not find the server where c.toml is"
ok "C has the server where c.toml is, and nowhere else"

edit "$run/plain/kernel.cu"
wait_for "mark of a diagnostic" '^● *3'
terminal send-keys -t lockstep ']d'
wait_for "text of the diagnostic" 'is reached by only a part'
terminal send-keys -t lockstep '2gg' 'gs' 'fd' 'Space' 'k'
wait_for "hover that says affine" 'affine'

edit "$run/plain/short.ia64.s"
wait_for "mark of a diagnostic in assembly" '^● *3'
terminal send-keys -t lockstep ']d'
wait_for "text of the diagnostic in assembly" 'is read in the group'

edit "$run/named/loop.c"
wait_for "loop of C" '^●\|Trust this workspace'
# Newer versions ask before they read a project's own settings, and have the server when the file is opened again.
if screen | grep -q 'Trust this workspace'; then
  terminal send-keys -t lockstep Enter
  wait_for "trust in the project" 'Config refreshed'
  edit "$run/named/loop.c"
fi
wait_for "mark of a hint in C" '^● *[34]'
terminal send-keys -t lockstep ']d'
wait_for "text of the hint in C" 'an iteration waits here'
echo "helix: $passed passed, 0 failed"
