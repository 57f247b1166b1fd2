#!/usr/bin/env bash
# Finds the server that BINARY names, or loads the release VERSION of this runner's platform from RELEASES.
set -euo pipefail
fail() { echo "::error::Lockstep: $*"; exit 1; }
loaded() { echo "binary=$1" >>"$GITHUB_OUTPUT"; "$1" --version; }

if [ -n "$BINARY" ]; then
  found=$(command -v -- "$BINARY") || fail "there is no program $BINARY."
  loaded "$found"
  exit
fi

case $RUNNER_OS-$RUNNER_ARCH in
  Linux-X64) if [ -e /etc/alpine-release ]; then target=alpine-x64; else target=linux-x64; fi ;;
  Linux-ARM64) target=linux-arm64 ;;
  macOS-X64) target=darwin-x64 ;;
  macOS-ARM64) target=darwin-arm64 ;;
  Windows-X64) target=win32-x64 ;;
  *) fail "there is no release for $RUNNER_OS on $RUNNER_ARCH; give a binary." ;;
esac
get() { curl --fail --silent --show-error --location --retry 3 "$@"; }
release=${VERSION#v}
if [ "$release" = latest ]; then
  # The page of the latest release is at the address of its tag.
  page=$(get --head --output /dev/null --write-out '%{url_effective}' "$RELEASES/latest") || fail "no release was found at $RELEASES."
  release=${page##*/v}
fi
name=lockstep-$target-$release
case $target in win32-*) archive=$name.zip program=lockstep.exe ;; *) archive=$name.tar.gz program=lockstep ;; esac

folder=$RUNNER_TEMP/lockstep-$release
mkdir -p "$folder"
cd "$folder"
for file in "$archive" SHA256SUMS; do
  get --output "$file" "$RELEASES/download/v$release/$file" || fail "$file of release $release could not be loaded."
done
grep " [ *]$archive\$" SHA256SUMS >sum || fail "SHA256SUMS does not name $archive."
if command -v sha256sum >/dev/null; then sha256sum --check --quiet sum; else shasum -a 256 --check --quiet sum; fi || fail "$archive is not what SHA256SUMS says."
case $archive in *.zip) unzip -qo "$archive" ;; *) tar -xzf "$archive" ;; esac
loaded "$folder/$name/$program"
