#!/usr/bin/env bash
# Asks a real llama.cpp server over both wire formats, streaming and not, its answers shaped by a grammar (scripts/llm-server.py).
# CORTEX_ASK names the example `ask`; without it, it is compiled here. Needs python3 with venv and pip; what it installs goes into a folder that is
# removed again.
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT

failed() { echo "check-llm.sh: $1" >&2; tail -n 20 "$scratch/log" >&2; exit 1; }

# Arguments are those of the server; sets `url`.
start_server() {
    : >"$scratch/url"
    "$scratch/python/bin/python" scripts/llm-server.py --key "$LLM_KEY" "$@" >"$scratch/url" 2>"$scratch/log" &
    server=$!
    for _ in $(seq 1500); do
        [ -s "$scratch/url" ] && break
        kill -0 "$server" 2>/dev/null || failed "the server did not start"
        sleep 0.2
    done
    url=$(head -n 1 "$scratch/url")
}

stop_server() {
    kill "$server"
    for _ in $(seq 1200); do
        kill -0 "$server" 2>/dev/null || { server=; return; }
        sleep 0.1
    done
    failed "the server did not end when told"
}

python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" install --quiet --disable-pip-version-check xllamacpp gguf
ask=${CORTEX_ASK:-}
if [ -z "$ask" ]; then
    # Beside the program, whose dependencies as they are serve both.
    cargo build --quiet --locked --workspace --bin cortex --example ask
    ask=${CARGO_TARGET_DIR:-target}/debug/examples/ask
fi

export LLM_KEY=key-of-this-run-only
# llama.cpp takes a grammar of a request in OpenAI's format only; answers to the others have the server's own.
form() { printf 'root ::= "%s:\\n" item item\nitem ::= "- " [a-z]{4,16} "\\n"' "$1"; }
start_server --grammar "$(form ROLE)"

# model API STREAM [KEY VARIABLE]
model() {
    python3 - "$1" "$2" "${3:-LLM_KEY}" "$url" "$(form LIMITATIONS)" <<'PY'
import json, sys
api, stream, key, url, grammar = sys.argv[1:]
params = {"grammar": grammar} if api == "openai" else {"top_p": 0.9}
print(json.dumps({"api": api, "name": "tiny", "base_url": url + ("/v1" if api == "openai" else ""), "api_key_env": key,
                  "stream": stream == "stream", "temperature": 0.5, "params": params}))
PY
}

for api in openai anthropic; do
    for stream in stream whole; do
        answer=$(echo "What is it?" | "$ask" "$(model $api $stream)") || failed "$api, $stream: $answer"
        python3 - "$api" "$answer" <<'PY' || failed "$api, $stream: not as it must be: $answer"
import json, re, sys
api, answer = sys.argv[1], json.loads(sys.argv[2])
section = "LIMITATIONS" if api == "openai" else "ROLE"
spent = answer["spent"]
assert re.fullmatch(section + r":\n(- [a-z]{4,16}\n){2}", answer["text"]), "text"
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

stop_server

if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked --workspace
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
cortex=$(realpath "$CORTEX")

# Embeddings: the numbers of equal texts are equal, those of others are not; and the vectors of the fixture.
start_server --embeddings
vector() { "$ask" "$(model openai whole)" vector <<<"$1" | python3 -c 'import json, sys; answer = json.load(sys.stdin); assert answer["spent"]["input_tokens"] > 0, answer; print(json.loads(answer["text"]))'; }
one=$(vector "class A") || failed "no embedding"
[ "$one" = "$(vector "class A")" ] && [ "$one" != "$(vector "a queue")" ] || failed "embeddings: not as they must be: $one"
cp -r fixtures/memotree "$scratch/vectors"
rm -rf "$scratch/vectors/.cortex"
sed -i 's/^rulesets = .*/rulesets = ["csharp", "embeddings"]/' "$scratch/vectors/cortex.toml"
cat >>"$scratch/vectors/cortex.toml" <<TOML
[model.vectors]
api = "openai"
name = "tiny"
base_url = "$url/v1"
api_key_env = "LLM_KEY"
[producer.embedding]
params = { model = "vectors", most_tokens = 100 }
TOML
run() { CORTEX_STORE=$scratch/vectors.store "$cortex" -C "$scratch/vectors" "$@" 2>>"$scratch/log"; }
run build //index:vectors || failed "the vectors of the fixture"
run --output json build //index:vectors | grep -q '"ran":0[,}]' || failed "vectors: the second build ran something"
[ "$(run search --semantic "where is a file written" --limit 3 | grep -c '\.cs')" -ge 3 ] || failed "search by meaning"
stop_server

# The whole way: summaries of the fixture, their form kept by the server.
start_server --context 32768 --grammar 'root ::= "ROLE:\n" item "LIFECYCLE:\n" item "EDGE_CASES:\n" item "LIMITATIONS:\n" item "RECOMMENDATIONS:\n" item
item ::= "- " [a-z]{4,16} "\n"'
type=//types/MemoTree.Core.NodeId:semantic
for api in openai anthropic; do
    cp -r fixtures/memotree "$scratch/$api"
    rm -rf "$scratch/$api/.cortex"
    base=$url
    [ $api = anthropic ] || base=$url/v1
    cat >>"$scratch/$api/cortex.toml" <<TOML
[model.tiny]
api = "$api"
name = "tiny"
base_url = "$base"
api_key_env = "LLM_KEY"
context_tokens = 32000
[producer.semantic]
params = { model = "tiny", evidence = false, structures = false }
TOML
    run() { CORTEX_STORE=$scratch/$api.store "$cortex" -C "$scratch/$api" "$@"; }
    run show "$type" >"$scratch/first" 2>"$scratch/log" || failed "$api: no summary"
    [ "$(grep -cE '^(ROLE|LIFECYCLE|EDGE_CASES|LIMITATIONS|RECOMMENDATIONS):$' "$scratch/first")" = 5 ] || failed "$api: sections are missing"
    run --output json build "$type" | grep -q '"ran":0[,}]' || failed "$api: the second build ran something"
    run cost --json | grep -q '"estimated": false' || failed "$api: tokens were not counted by the server"
    ! grep -rqF "$LLM_KEY" "$scratch/$api" "$scratch/$api.store" "$scratch/first" "$scratch/log" || failed "$api: the key was written down"
done
stop_server
echo "check-llm.sh: openai and anthropic, streaming and whole, against llama.cpp, vectors and summaries of the fixture: all as it must be"
