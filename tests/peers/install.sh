#!/usr/bin/env bash
# Installs the peers when they are missing or the lock file has changed; says nothing and does nothing otherwise.
# The argument is a folder beside this file with a lock file of its own.
set -euo pipefail
cd "$(dirname "$0")/${1:-.}"

wanted="$(cksum package-lock.json package.json)"
[ -f node_modules/.installed ] && [ "$(cat node_modules/.installed)" = "$wanted" ] && exit 0

echo "installing the test peers (npm ci in tests/peers/${1:-})"
npm ci --no-progress
printf '%s\n' "$wanted" > node_modules/.installed
