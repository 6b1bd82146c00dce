#!/usr/bin/env bash
# Asks a real llama.cpp server over both wire formats, streaming and not, its answers shaped by a grammar (scripts/llm-server.py).
# Needs python3 with venv and pip; what it installs goes into a folder that is removed again. About a minute, most of it compiling.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" install --quiet --disable-pip-version-check xllamacpp gguf
cargo build --quiet --locked -p producers --example ask
ask=${CARGO_TARGET_DIR:-target}/debug/examples/ask

export LLM_KEY=key-of-this-run-only
"$scratch/python/bin/python" scripts/llm-server.py --key "$LLM_KEY" >"$scratch/url" 2>"$scratch/log" &
server=$!
for _ in $(seq 100); do
    [ -s "$scratch/url" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$scratch/log" >&2; echo "check-llm.sh: the server did not start" >&2; exit 1; }
    sleep 0.2
done
url=$(head -n 1 "$scratch/url")

# model API STREAM [KEY VARIABLE]
model() {
    python3 - "$1" "$2" "${3:-LLM_KEY}" "$url" <<'PY'
import json, sys
api, stream, key, url = sys.argv[1:]
grammar = 'root ::= "ROLE:\\n" item item\nitem ::= "- " [a-z]{4,16} "\\n"'
print(json.dumps({"api": api, "name": "tiny", "base_url": url + ("/v1" if api == "openai" else ""), "api_key_env": key,
                  "stream": stream == "stream", "temperature": 0.5, "params": {"grammar": grammar, "seed": 1}}))
PY
}

failed() { echo "check-llm.sh: $1" >&2; tail -n 20 "$scratch/log" >&2; exit 1; }

for api in openai anthropic; do
    for stream in stream whole; do
        answer=$(echo "What is it?" | "$ask" "$(model $api $stream)") || failed "$api, $stream: $answer"
        python3 - "$answer" <<'PY' || failed "$api, $stream: not as it must be: $answer"
import json, re, sys
answer = json.loads(sys.argv[1])
spent = answer["spent"]
assert re.fullmatch(r"ROLE:\n(- [a-z]{4,16}\n){2}", answer["text"]), "text"
assert not answer["cut"] and not spent["estimated"], "counts"
assert spent["calls"] == 1 and spent["input_tokens"] > 10 and spent["output_tokens"] > 10, "tokens"
PY
        cut=$(echo "What is it?" | "$ask" "$(model $api $stream)" 4) || failed "$api, $stream, cut: $cut"
        grep -q '"cut":true' <<<"$cut" || failed "$api, $stream: an answer of 4 tokens was not cut: $cut"
    done
    long=$(head -c 3000 /dev/zero | tr '\0' x)
    why=$("$ask" "$(model $api stream)" <<<"$long") && failed "$api: too long a question was answered"
    grep -q '"code":"E_CONTEXT".* tokens, and 1024 fit' <<<"$why" || failed "$api: $why"
    why=$(LLM_OTHER=not-the-key-at-all "$ask" "$(model $api stream LLM_OTHER)" <<<"x") && failed "$api: any key will do"
    grep -q '"code":"E_KEY".*LLM_OTHER' <<<"$why" || failed "$api: $why"
    ! grep -q not-the-key-at-all <<<"$why" || failed "$api: a key was shown"
done

kill "$server"
for _ in $(seq 50); do
    kill -0 "$server" 2>/dev/null || { server=; break; }
    sleep 0.1
done
[ -z "$server" ] || failed "the server did not end when told"
echo "check-llm.sh: openai and anthropic, streaming and whole, against llama.cpp: all as it must be"
