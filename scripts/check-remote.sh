#!/usr/bin/env bash
# Shares results through real servers of the Remote Execution API: buildbox-casd, and BuildGrid, whose action cache files a result once; and through
# a bucket of moto, a server of S3.
# Then, with CORTEX naming a program, fills the first from one checkout and builds another beside it: nothing may run there. With
# CORTEX_WORKER, too (what scripts/static.sh builds), its workers compute, in sandboxes of bubblewrap, and it is killed in the middle.
# CORTEX_EXCHANGE names the example `exchange`; without it, it is compiled here.
# Needs python3 with venv and pip, openssl, and for workers bubblewrap; what it installs goes into a folder that is removed again. Two minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
servers=()
trap 'for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT

failed() { echo "check-remote.sh: $1" >&2; tail -n 20 "$scratch"/*.log >&2; exit 1; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Waits until somebody listens at a port.
await() {
    for _ in $(seq 1500); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.2
    done
    failed "nobody listens at port $1"
}

exchange=${CORTEX_EXCHANGE:-}
if [ -z "$exchange" ]; then
    # Beside the program, whose dependencies as they are serve both.
    cargo build --quiet --locked --workspace --bin cortex --example exchange
    exchange=${CARGO_TARGET_DIR:-target}/debug/examples/exchange
fi

casd=$(scripts/casd.sh "$scratch")
pip=("$scratch/python/bin/pip" --quiet --disable-pip-version-check)

echo "== buildbox-casd"
port=$(free_port)
"$casd" --bind="127.0.0.1:$port" --quota-high=2G "$scratch/casd" >"$scratch/casd.log" 2>&1 &
servers+=($!)
await "$port"
"$exchange" "{\"endpoint\": \"grpc://127.0.0.1:$port\"}" 1000 || failed "casd"

echo "== a bucket of S3 (moto)"
"${pip[@]}" install 'moto[server]>=5,<6'
bucket=$(free_port)
"$scratch/python/bin/moto_server" -H 127.0.0.1 -p "$bucket" >"$scratch/moto.log" 2>&1 &
servers+=($!)
await "$bucket"
python3 -c 'import sys, urllib.request as web; web.urlopen(web.Request(sys.argv[1], method="PUT"))' "http://127.0.0.1:$bucket/team-cache"
AWS_ENDPOINT_URL=http://127.0.0.1:$bucket AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret \
    "$exchange" '{"endpoint": "s3://team-cache/main"}' 200 || failed "moto"

echo "== BuildGrid"
"${pip[@]}" install buildgrid==0.4.4
grid=$(free_port)
cat >"$scratch/grid.yml" <<EOF
server:
  - !channel
    address: 127.0.0.1:$grid
    insecure-mode: true
description: a cache
instances:
  - name: main
    storages:
      - !lru-storage &storage
        size: 512M
    caches:
      - !lru-action-cache &results
        storage: *storage
        max-cached-refs: 10000
        allow-updates: true
        cache-failed-actions: false
      - !write-once-action-cache &once
        action-cache: *results
    services:
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
      - !action-cache
        cache: *once
thread-pool-size: 20
EOF
"$scratch/python/bin/bgd" server start "$scratch/grid.yml" >"$scratch/grid.log" 2>&1 &
servers+=($!)
await "$grid"
"$exchange" "{\"endpoint\": \"grpc://127.0.0.1:$grid\", \"instance\": \"main\"}" 100 || failed "BuildGrid"

[ -n "${CORTEX:-}" ] || exit 0

# A field of the JSON that comes in.
field() { python3 -c 'import json, sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$1"; }

echo "== a fresh checkout beside a warm cache"
touch "$scratch/before"
for name in one two; do
    cp -r fixtures/memotree "$scratch/$name"
    rm -rf "$scratch/$name/.cortex"
    printf '\n[remote]\nendpoint = "grpc://127.0.0.1:%s"\nwrite = "always"\nprefer = "fetch"\nrequired = true\n' "$port" >>"$scratch/$name/cortex.toml"
done
export CORTEX_STORE
CORTEX_TRUST=all CORTEX_STORE=$scratch/store-one "$CORTEX" -C "$scratch/one" remote ping || failed "ping"
CORTEX_TRUST=all CORTEX_STORE=$scratch/store-one "$CORTEX" -C "$scratch/one" warm --json '//...' >"$scratch/warm.json" || failed "warm"
CORTEX_TRUST=all CORTEX_STORE=$scratch/store-two "$CORTEX" -C "$scratch/two" --output json build '//...' >"$scratch/build.json" || failed "build"
python3 - "$scratch/warm.json" "$scratch/build.json" <<'PY' || failed "not as it must be"
import json, sys
warm, build = (json.load(open(path)) for path in sys.argv[1:])
assert warm["bundle"]["stored"] and warm["tally"]["ran"] > 0 and not warm["remote"]["lies"], warm["remote"]
assert build["tally"]["ran"] == 0 and build["tally"]["failed"] == 0 and build["remote"]["hits"] > 0, build["tally"]
print(f"{warm['bundle']['results']} results filed; {build['targets']} targets built of {build['remote']['hits']} question(s), nothing ran")
PY
CORTEX_STORE=$scratch/store-two "$CORTEX" -C "$scratch/two" remote stats | tee "$scratch/stats" | grep -q '^found    1 of 1 ' || failed "stats: $(cat "$scratch/stats")"
diff -r "$scratch/one/.cortex/out" "$scratch/two/.cortex/out" || failed "the files differ"
# With another endpoint of the same server, a comment and another order, in a third checkout, all of it is found, too.
cp -r fixtures/memotree "$scratch/other"
rm -rf "$scratch/other/.cortex"
{ printf '# a comment\n[remote]\nendpoint = "grpc://localhost:%s"\nread = true\nprefer = "fetch"\n\n' "$port"; cat fixtures/memotree/cortex.toml; } >"$scratch/other/cortex.toml"
ran=$(CORTEX_TRUST=all CORTEX_STORE=$scratch/store-other "$CORTEX" -C "$scratch/other" --json build '//...' | field '["tally"]["ran"]')
[ "$ran" = 0 ] || failed "beside another manifest that says the same of keys $ran ran"

echo "== a blob that goes bad in the server's storage"
# The largest that the checkout filed is a piece of a volume.
python3 - "$scratch/casd" "$scratch/before" <<'PY' || failed "there is no blob to spoil"
import pathlib, sys
casd, before = map(pathlib.Path, sys.argv[1:])
filed = [path for path in casd.rglob("objects/*/*") if path.stat().st_mtime_ns > before.stat().st_mtime_ns]
blob = max(filed, key=lambda path: path.stat().st_size)
blob.chmod(0o644)
blob.write_bytes(b"X" + blob.read_bytes()[1:])
PY
CORTEX_TRUST=all CORTEX_STORE=$scratch/store-one "$CORTEX" -C "$scratch/one" warm --json '//...' >"$scratch/bad.json" 2>"$scratch/bad.log" \
    || failed "exit code $? of what keeps wrong bytes: $(cat "$scratch/bad.log")"
python3 - "$scratch/bad.json" <<'PY' || failed "what keeps wrong bytes is not told: $(cat "$scratch/bad.log")"
import json, sys
remote = json.load(open(sys.argv[1]))["remote"]
print(f"{sum(remote['lies'].values())} wrong, {remote['healed']} healed, {len(remote['broken'])} kept wrong and filed under another name")
assert sum(remote["lies"].values()) == 1 and remote["healed"] + len(remote["broken"]) == 1
PY
# Whoever finds it is none the wiser for it, and nothing is missing.
ran=$(CORTEX_TRUST=all CORTEX_STORE=$scratch/store-bad "$CORTEX" -C "$scratch/two" --json build '//...' 2>"$scratch/bad.log" | field '["tally"]["ran"]')
[ "$ran" = 0 ] || failed "beside wrong bytes that were filed anew $ran ran"
diff -r "$scratch/one/.cortex/out" "$scratch/two/.cortex/out" || failed "the files differ beside wrong bytes"

echo "== a branch that edits a file"
cp -r fixtures/memotree "$scratch/edited"
rm -rf "$scratch/edited/.cortex"
printf '\n[remote]\nendpoint = "grpc://127.0.0.1:%s"\nprefer = "fetch"\n' "$port" >>"$scratch/edited/cortex.toml"
echo '// edited' >>"$scratch/edited/src/MemoTree.Core/NodeStore.cs"
ran=$(CORTEX_TRUST=all CORTEX_STORE=$scratch/store-edited "$CORTEX" -C "$scratch/edited" --json build '//...' | field '["tally"]["ran"]')
[ "$ran" -gt 0 ] && [ "$ran" -lt 60 ] || failed "of a tree with one edited file $ran ran"
echo "$ran ran"

echo "== looking again, and signatures"
openssl genpkey -algorithm ed25519 -out "$scratch/signs.pem" 2>/dev/null
three=$scratch/three
mkdir "$three"
for name in a b c; do echo "$name" >"$three/$name.txt"; done
# Writes a manifest whose program is $1 and whose table of the cache ends with the other arguments, one a line.
manifest() {
    cat >"$three/cortex.toml" <<EOF
[workspace]
name = "three"
[sources.texts]
include = ["*.txt"]
[producer.count]
uses = "command"
argv = $1
[[rule]]
target = "//texts/{text}:count"
each = { text = "sources:texts" }
producer = "count"
inputs = { text = "//files/{text}:bytes" }
[remote]
endpoint = "grpc://127.0.0.1:$port"
write = "always"
prefer = "fetch"
EOF
    printf '%s\n' "${@:2}" >>"$three/cortex.toml"
}
# Runs a command there with the store $1.
there() { CORTEX_TRUST=all CORTEX_STORE=$scratch/$1 "$CORTEX" -C "$three" --json "${@:2}" 2>>"$scratch/there.log"; }
count='["wc", "-c", "{in.text}"]'
manifest "$count"
verified=$(there store-a warm --verify-sample 50% '//...' | field '["verified"]')
[ "$verified" = 2 ] || failed "of three targets $verified were made again"
manifest '["date", "+%N"]'
code=0
there store-a warm --verify-sample 100% '//...' >"$scratch/clock.json" || code=$?
[ "$code" = 8 ] && [ "$(field '["bundle"]' <"$scratch/clock.json")" = None ] || failed "exit code $code of what looks at a clock"
manifest "$count" 'salt = "2"'
there store-b warm '//...' >/dev/null || failed "warm without a signature"
signing="signing_key_file = \"$scratch/signs.pem\""
manifest "$count" 'salt = "2"' "$signing"
public=$(there store-b remote ping | field '["signs_as"]')
trusting="trusted_keys = [\"$public\"]"
manifest "$count" 'salt = "2"' "$trusting"
ran=$(there store-c build '//...' | field '["tally"]["ran"]')
[ "$ran" = 3 ] || failed "of what nobody signed $((3 - ran)) were taken"
manifest "$count" 'salt = "3"' "$signing" "$trusting"
there store-d warm '//...' >/dev/null || failed "warm with a signature"
# The bundle is of this manifest, which another checkout has, too.
ran=$(there store-e build '//...' | field '["tally"]["ran"]')
[ "$ran" = 0 ] || failed "of what was signed $ran were not taken"
echo "two of three made again, a clock found out; what ${public:0:8}… signed is taken, and nothing else"

echo "== a server that asks who is there"
"$scratch/python/bin/python" scripts/check_credentials.py "$CORTEX" "$scratch" || failed "credentials"

[ -n "${CORTEX_WORKER:-}" ] || exit 0

echo "== workers in a sandbox"
CASD=$casd scripts/bench_execute.py 1000 "$CORTEX" "$CORTEX_WORKER" 1 || failed "workers"
