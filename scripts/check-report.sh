#!/usr/bin/env bash
# Opens a report in a real, headless Chromium: its script works, its policy holds, hostile texts stay texts, and it fits wide and narrow windows.
# Takes the Chromium that is there, or installs Debian's where it may; without either it says that it checked nothing. Needs python3.
# Usage: scripts/check-report.sh [FOLDER]    FOLDER keeps the pages and the screenshots. CORTEX names the program [default: it is built].
set -euo pipefail
# What is run here is what scripts/chromium.sh wrote.
export CORTEX_TRUST=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."

. scripts/chromium.sh
find_or_install_chromium
[ -n "$chromium" ] || { echo "check-report.sh: SKIPPED: there is no Chromium, and none could be installed" >&2; exit 0; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kept=${1:-$scratch/kept}
mkdir -p "$kept"
kept=$(cd "$kept" && pwd)
failed() { echo "check-report.sh: $1" >&2; exit 1; }

if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
export CORTEX_STORE=$scratch/store
work=$scratch/work
run() { "$CORTEX" -C "$work" "$@" >>"$scratch/log" 2>&1; }

# The fixture with hostile names and contents, three builds of it, and then an edit that was not built.
cp -r fixtures/memotree "$work"
rm -rf "$work/.cortex"
write_hostile "$work"
run build '//...' || true
sed -i 's/Nodes cannot be moved yet/Moving is for later/' "$work/src/MemoTree.Core/NodeStore.cs"
printf '%s\nmore\n' "$evil" >"$work/docs/evil.md"
run build '//...' || true
sed -i 's/one/two/' "$work/docs/"*.md
sed -i 's/Moving is for later/Never/' "$work/src/MemoTree.Core/NodeStore.cs"
page=$kept/report.html
run report "$page" --near //types/NodeStore:semantic || { cat "$scratch/log" >&2; failed "no report"; }
run report "$kept/evil.html" --near //docs/docs/evil.md:words || { cat "$scratch/log" >&2; failed "no report of hostile texts"; }

# browse LOG ARGUMENTS… : a profile of its own, no network, nothing asked.
browse() {
    local log=$1
    shift
    timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-extensions \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$(mktemp -d "$scratch/profile.XXXX")" \
        --virtual-time-budget=4000 --enable-logging=stderr "$@" 2>"$log"
}
said() { grep -E 'CONSOLE' "$1" || true; }

# As it is: nothing is refused, for nothing is asked for, and no hostile text became the page's.
for one in report evil; do
    browse "$scratch/err" --dump-dom "file://$kept/$one.html" >"$scratch/dom" || failed "$one.html could not be opened"
    [ -z "$(said "$scratch/err")" ] || { said "$scratch/err" >&2; failed "$one.html: the console is not empty"; }
    grep -q '<title>memotree – cortex report</title>' "$scratch/dom" || failed "$one.html: the title is not its own"
    ! grep -qE '<(img|b onmouseover)' "$scratch/dom" || failed "$one.html: a text became an element"
    grep -q 'id="find">' "$scratch/dom" || failed "$one.html: the script did not run"
done

# The policy: what somebody might slip in does not run and does not load.
python3 - "$page" "$scratch/slipped.html" <<'PY'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
slipped = "<script>document.title='owned'</script><p onclick=\"document.title='owned'\" id=slip style='color:red'>x</p><img src='https://example.org/x.png'><iframe src='data:text/html,x'></iframe>"
open(sys.argv[2], "w", encoding="utf-8").write(page.replace("<main", slipped + "<main", 1))
PY
browse "$scratch/err" --dump-dom "file://$scratch/slipped.html" >"$scratch/dom"
! grep -q '<title>owned' "$scratch/dom" || failed "a script that was slipped in ran"
[ "$(said "$scratch/err" | grep -cE 'Content Security Policy')" -ge 4 ] || { said "$scratch/err" >&2; failed "the policy does not hold"; }

# The script: a copy without the policy, driven from within.
python3 - "$page" "$scratch/driven.html" <<'PY'
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
driver = """<script>
const told = {}, rows = () => document.querySelectorAll("#rows tr").length;
const all = JSON.parse(document.getElementById("targets-data").textContent).rows.length;
told.many = all > 1000 && rows() === 200;
document.getElementById("more").click();
told.more = rows() === 400;
const search = document.getElementById("search");
search.value = "nodestore SEMANTIC"; search.dispatchEvent(new Event("input"));
told.search = rows() >= 1 && [...document.querySelectorAll("#rows code")].every((code) => /nodestore/i.test(code.textContent) && /semantic/i.test(code.textContent));
const before = rows();
for (const chip of document.querySelectorAll("[data-state]")) chip.click();
told.chips = before > 0 && rows() === 0;
for (const chip of document.querySelectorAll("[data-state]")) chip.click();
search.value = "zzz-no-such"; search.dispatchEvent(new Event("input"));
told.none = rows() === 0;
search.value = ""; search.dispatchEvent(new Event("input"));
const took = [...document.querySelectorAll(".targets th button")][5];
took.click();
const sizes = [...document.querySelectorAll("#rows .size")].map((cell) => cell.textContent);
told.sort = /KiB|MiB/.test(sizes[0]) && took.parentElement.getAttribute("aria-sort") === "descending";
const nodes = document.querySelectorAll("[data-node]");
told.drawn = nodes.length > 12 && nodes.length <= 120;
nodes[1].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
told.picked = !document.getElementById("picked").hidden && document.getElementById("picked").textContent.includes("reads");
nodes[0].focus();
told.lit = document.querySelectorAll(".edge.lit").length > 0 && document.activeElement === nodes[0];
document.dispatchEvent(new KeyboardEvent("keydown", { key: "/" }));
told.slash = document.activeElement === search;
told.fits = document.documentElement.scrollWidth <= innerWidth;
const wrong = Object.keys(told).filter((name) => !told[name]);
parent.postMessage(wrong.length ? "wrong: " + wrong.join(" ") + " at " + innerWidth + " (" + document.documentElement.scrollWidth + ");" : "well at " + innerWidth + ";", "*");
</script>"""
open(sys.argv[2], "w", encoding="utf-8").write(page.replace("</body>", driver + "</body>"))
PY
# A window has a least width; a frame has none.
cat >"$scratch/frames.html" <<'HTML'
<!doctype html><title></title><script>addEventListener("message", (event) => { document.title += event.data; });</script>
<iframe src="driven.html" width="1280" height="900"></iframe><iframe src="driven.html" width="390" height="900"></iframe>
HTML
browse "$scratch/err" --window-size=1400,2000 --dump-dom "file://$scratch/frames.html" >"$scratch/dom"
for width in 1280 390; do
    grep -q "<title>.*well at $width;" "$scratch/dom" || { said "$scratch/err" >&2; failed "$(grep -o '<title>[^<]*' "$scratch/dom" | head -1)"; }
done

# To be looked at.
if [ -n "${1:-}" ]; then
    for width in 1280 390; do
        echo "<!doctype html><style>body{margin:0}iframe{border:0}</style><iframe src=\"file://$page\" width=$width height=4200></iframe>" >"$scratch/frame.html"
        for scheme in light dark; do
            browse "$scratch/err" --blink-settings=preferredColorScheme=$([ $scheme = dark ] && echo 0 || echo 1) \
                --window-size=$((width > 500 ? width : 500)),4200 --screenshot="$kept/report-$width-$scheme.png" "file://$scratch/frame.html"
        done
    done
fi
echo "check-report.sh: $(basename "$chromium"): script, policy, hostile texts, windows of 1280 and 390 pixels: all as it must be"
