#!/bin/sh
# The C# compiler's facts about the fixtures: `scripts/oracle.sh setup`, `scripts/oracle.sh golden`; see scripts/oracle.py.
exec python3 "$(dirname "$0")/oracle.py" "$@"
