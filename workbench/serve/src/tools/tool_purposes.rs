//! Purpose of each tool, for a model that selects one: what it answers about C#, and when it beats reading and grep.

/// Returns the description of a tool. A test checks that each tool has one.
pub fn purpose(tool: &str) -> &'static str {
    match tool {
        "search" => "Find C# types and members by part of a name; op grep finds a regex in sources, each hit with its member",
        "outline" => "Declarations of a type, or what a file, folder, namespace or project holds; a tenth of reading it",
        "source" => "Exact code of types, members, files, with line numbers",
        "usages" => "Who uses a C# symbol, exact where grep guesses; op: callers, implementers, dependencies, tests reached",
        "semantic" => "Written summary of a type's role and limits",
        "investigate" => "Have a model answer about the code, with evidence",
        "context" => "build: code that belongs to a task; live: a file and what changed since; end: which files the answer used",
        "pack_build" => "One text of what is known of types",
        "edit" => "Edit files, or C# symbols by name: saved at once, undoable, all or nothing",
        "rename" => "Rename a C# symbol everywhere, or say what hinders",
        "overlay" => "Try unsaved edits: put or apply, build, diff, merge",
        "node" => "Any build target: output, why stale, versions, cost",
        "status" => "State of index and projects; op doctor explains gaps",
        "work_next" => "Take prompts whose answers this workspace lacks",
        "work_submit" => "Hand in the answer to a prompt",
        _ => "",
    }
}
