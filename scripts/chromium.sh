# To be sourced: find_or_install_chromium sets `chromium`, to nothing where there is none; write_hostile FOLDER adds hostile names and texts to a copy of the fixture.

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
find_or_install_chromium() {
    chromium=$(find_chromium)
    if [ -z "$chromium" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || true
        chromium=$(find_chromium)
    fi
}

evil='</script><script>document.title="owned"</script><img src=x onerror="document.title=1"> '"\\\"'&"$'\u202e\u2066gnp'
write_hostile() {
    mkdir -p "$1/docs/<b onmouseover=document.title=3>"
    printf '%s\n\033[31m\001<!-- ]]>\n' "$evil" >"$1/docs/evil.md"
    printf 'one\n' >"$1/docs/<b onmouseover=document.title=3>/script><script>document.title='owned'<.md"
    printf 'one\n' >"$1/docs/"$'\u202e'"dm.md"
    cat >"$1/src/MemoTree.Core/Evil.cs" <<'CS'
namespace MemoTree.Core;
/// <summary>&lt;/script&gt;&lt;script&gt;document.title='owned'&lt;/script&gt;</summary>
public class Evil { public string Text() => "</script><script>document.title='owned'</script>"; public int Größe漢字; }
CS
    cat >>"$1/cortex.toml" <<'TOML'
[producer.evil]
uses = "command"
argv = ["sh", "-c", "cat \"$1\" >&2; exit 3", "</pre><script>document.title='owned'</script>", "{in.text}"]
[[rule]]
target = "//index:evil"
producer = "evil"
inputs = { text = "//files/docs/evil.md:bytes" }
TOML
}
