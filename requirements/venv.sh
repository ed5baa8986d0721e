#!/usr/bin/env bash
# Make the virtual environment $1 with the newest Python from 3.11 on that is found here.
set -eu
venv=$1
check='import sys; sys.exit(sys.version_info < (3, 11))'
if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c "$check"; then
    exit 0
fi
for name in python3.13 python3.12 python3.11 python3; do
    if command -v "$name" >/dev/null && "$name" -c "$check" 2>/dev/null; then
        found=$name
        break
    fi
done
if [ -z "${found:-}" ]; then
    echo "Sightline needs Python 3.11 or newer; none was found (tried python3.13, python3.12, python3.11 and python3)." >&2
    exit 1
fi
if ! "$found" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "$found has no venv module; on Debian or Ubuntu: apt-get install python3-venv." >&2
    exit 1
fi
echo "Making $venv with $("$found" --version)"
"$found" -m venv --clear --without-pip "$venv"  # install.py brings the pinned pip
