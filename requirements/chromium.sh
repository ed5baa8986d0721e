#!/usr/bin/env bash
# Find a Chromium for the browser tests; as root on Debian or Ubuntu, install it when there is none.
set -eu
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Chromium for the browser tests"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
if [ -n "${CI:-}" ]; then
    echo "The browser tests need Chromium, and it could not be installed." >&2
    exit 1
fi
echo "No Chromium was found: the browser tests are skipped. On Debian or Ubuntu: apt-get install chromium." >&2
