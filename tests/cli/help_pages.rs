//! Pages generated from the flags: help, manual pages, completions.

use crate::bench::Bench;

#[test]
fn pages_made_from_the_flags() {
    let bench = Bench::empty();
    insta::assert_snapshot!(bench.run(&["--help"]).all(), @"
    exit 0
    Builds code knowledge: outlines, hashes, type graphs and summaries as cached build targets.

    Exit codes: 0 ok, 1 a target failed, 2 usage, manifest or label, 3 store damaged, 4 busy, 5 I/O or
    no space, 6 no sandbox, 7 no remote cache, 8 not reproducible, 9 a limit was reached, 10 internal
    error, 130 interrupted.

    Usage: cortex [OPTIONS] [COMMAND]

    Commands:
      build            Build targets: those of the patterns, or the default set of the workspace
      show             Print the output of a target, building it first
      init             Write a manifest for this folder
      resolve          Show which types or members a name means. Builds only the index of names
      search           Find types and members by a part of their names: whole, beginning, humps (NS for
                       NodeStore), middle, pattern; similar spellings if nothing else matches
      grep             Find lines of sources that match a regular expression, each with its type or
                       member
      duplicates       List pairs of types with nearly equal declarations, documentation and code, most
                       similar first. Needs the ruleset embeddings
      outline          Outline types, members, files, folders, namespaces or projects: their members or
                       contents
      source           Print the source of types, members and files, exactly, with line numbers
      usages           List the places that use a type or a member
      implementations  List the types that implement or derive from a type, or the members that
                       implement or override a member
      hierarchy        List what a type or member derives from, implements or overrides, and its heirs
      impact           List what a change of a member reaches: its users over several steps, its heirs,
                       and the tests among these
      callers          List the members that use a member, with the places of these uses
      callees          List the members that a member uses, with the places of these uses
      deps             List the types that a type depends on; with --reverse those that depend on it
      rdeps            List the types that depend on a type
      semantic         Print the summary of a type: its role, life cycle, edge cases, limitations
      investigate      Answer a question about the code from outlines and summaries
      operation        Show the progress of a background operation
      context          Show the code for a task, or the present state of one document
      pack             Bundle what is known of chosen types in one text
      window           Manage the text of this checkout for models
      edit             Edit a text file of the workspace: exactly, as a whole or not at all, with undo
      rename           Rename a type or a member everywhere: declarations, overrides, implementations,
                       uses, using directives and references in documentation
      overlay          Try edits beside the workspace: build with them, compare, merge or drop them
      node             Print the output of any target of the graph
      explain          Explain why a target is in its state, or how two builds differ. Builds nothing
      query            Query the graph. Runs nothing
      ls               List targets of a pattern or a type, or the kinds of targets. Runs nothing
      history          List the versions of a target with their times, inputs and costs
      diff             Show the differences between two versions of a target, and between their inputs
      cost             Sum up the costs of models in this checkout, and the savings by stored answers
      prompt           Print the prompt for a target without sending it
      invalidate       Mark targets for rebuilding, although results are stored under their present
                       keys. Prints the price; builds nothing
      pin-version      Keep a version of a target: neither History nor gc removes it
      unpin-version    Remove the pin of a version
      log              List the builds of this checkout, with their work, time and cost
      status           Show the state of the workspace: sources, targets, summaries, store, service.
                       Runs nothing
      doctor           Diagnose the workspace, with remedies: projects and their references, unevaluated
                       parts, loose files, duplicates, unbound names, watch limits, store, trust, remote
                       cache. Changes nothing
      check            Check `cortex.toml` and report all mistakes. Builds nothing
      fmt              Format `cortex.toml`: spaces and blank lines. Comments and the order of keys stay
      trust            Trust the programs, key addresses and remote cache of this workspace. Review them
                       first (`--list`)
      rules            List or print the built-in rulesets
      report           Write one page of HTML about this checkout: builds, graph, versions, targets.
                       Runs nothing
      export           Write an index of the code for other programs
      clean            Delete the files below `.cortex/out`. Their results stay in the store: the next
                       build writes the files again
      gc               Evict results that no checkout of the store needs, and shorten its file
      store            Verify, count, export and migrate the store
      work             Answer as the language model: take prompts, submit summaries
      regenerate       Get a new answer although one is cached
      edit-output      Correct an output of a model by hand
      watch            Report changes of the sources as they happen, and build after each batch
      serve            Answer methods by JSON-RPC 2.0, and cache the answers in memory
      mcp              Serve the methods to language models by the Model Context Protocol
      chat             Talk about the code of the workspace with a model, in the terminal
      warm             Build targets and store them in the remote cache, for other machines
      remote           Check the remote cache of cortex.toml, or show its use
      completions      Print the script that completes commands, flags, labels, targets and names in a
                       shell
      man              Print the manual page (roff), of cortex or of one of its commands
      help             Print the help of a command, or a page of the book

    Options:
      -C <DIR>
              Run as if started in DIR; all relative paths, including CORTEX_STORE, are resolved against
              it
              
              [default: .]

          --store <DIR>
              Keep the store in DIR instead of the user's cache folder [env: CORTEX_STORE]

          --no-store
              Use no store: everything works, but no result is kept

          --overlay <NAME>
              Read, or build in, this overlay or edit session instead of the workspace; for `build` and
              commands that only read

          --output <FORM>
              Output format

              Possible values:
              - text:    For people
              - json:    For machines: one JSON document on standard output
              - dot:     Answers of `query` for Graphviz
              - mermaid: Answers of `query` as a Mermaid flowchart
              
              [default: text]

          --json
              The same as --output json

          --color <WHEN>
              When to use colours; NO_COLOR is honoured

              Possible values:
              - auto:   On a terminal
              - always: Always
              - never:  Never
              
              [default: auto]

          --offline
              Do not use the network: targets that need a model fail
              
              [env: CORTEX_OFFLINE=]

          --lock-timeout <SECONDS>
              Seconds to wait for the lock of a store or a checkout
              
              [default: 600]

          --no-wait
              Do not wait for the lock of a store or a checkout: the same as --lock-timeout 0

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version
    ");
    for args in [&["man"][..], &["man", "query"], &["rules", "show", "csharp"]] {
        let ran = bench.run(args);
        assert!(ran.code == 0 && ran.out.len() > 1_000, "{args:?} {}", ran.code);
    }
    assert_eq!(
        bench.run(&["rules"]).out,
        "csharp\nembeddings\ngrammars\npython\nscip\ntypescript\n"
    );
    insta::assert_snapshot!(bench.run(&["rules", "show", "csharb"]).all(), @"
    exit 2
    error[E_NO_RULESET]: there is no such built-in ruleset
      found: csharb
      help: did you mean csharp?
    ");
    let parsed = Bench::memotree().run(&["dev", "parse-only", ".", "-j2"]).json();
    assert_eq!(parsed["files"], 49, "{parsed}");
}
