//! Codes of errors, warnings and notes, each with meaning and remedy. `docs/errors.md` and `cortex help CODE` are generated from this table.
//!
//! `E_` is an error, `W_` a warning, `N_` a note. `CS-` refers to C# sources and projects. Codes in one word are those of the methods for programs
//! (seed 000 §10). A code never changes its meaning.

use std::fmt;

macro_rules! codes {
    ($($name:ident $text:literal, $meaning:literal, $remedy:literal;)*) => {
        /// Subject of a message, as a stable word for programs and searches.
        #[allow(non_camel_case_types, reason = "a variant is spelled as its code, so that one search finds both")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($name,)*
        }

        impl ErrorCode {
            /// All codes, by name.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the code's text.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Returns its meaning, in one or two sentences without the last full stop.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }

            /// Returns what to do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

codes! {
    AccessDenied "AccessDenied", "The path is one that may not be read or written here", "name a file of a source set";
    AmbiguousSymbol "AmbiguousSymbol", "Several types or members have the name", "write more of the name, or one of the candidates";
    Busy "Busy", "The service is at work for another request and cannot answer now", "ask again after a moment";
    CS_DECLARED_TWICE "CS-DECLARED-TWICE", "A type is declared several times in one project, or in files that no project compiles, without `partial`. Its parts were merged", "leave copies out of the source set: `[sources.csharp] exclude`";
    CS_FILE_BINARY "CS-FILE-BINARY", "A source file is binary and was not read", "leave the file out of the source set";
    CS_FILE_ENCODING "CS-FILE-ENCODING", "A source file is not valid UTF-8 or UTF-16. It was read as Windows-1252, or broken characters were replaced", "save the file as UTF-8";
    CS_FILE_LARGE "CS-FILE-LARGE", "A source file is larger than the parser reads", "leave the file out of the source set, or split it";
    CS_ID_WIDENED "CS-ID-WIDENED", "Two short identifiers of types were equal, so both were lengthened", "nothing; `//index:conflicts` lists them";
    CS_LEFT_OUT "CS-LEFT-OUT", "No project compiles these files of the source set, though projects compile others", "add files that a project compiles to it: `include` below `[producer.project.params.projects.\"PATH\"]`; exclude what no project compiles: `[sources.csharp] exclude`";
    CS_PACK_BUDGET "CS-PACK-BUDGET", "The budget of a pack is smaller than its first type", "give the pack more tokens";
    CS_PACK_EMPTY "CS-PACK-EMPTY", "The filter of a pack selects no type", "correct the filter; `cortex show //index:types` lists the types";
    CS_PACK_NOTHING "CS-PACK-NOTHING", "A name in a pack selects no type", "correct the name; the message suggests one";
    CS_PARSE_PARTIAL "CS-PARSE-PARTIAL", "A file has a syntax error. What could be parsed is used", "correct the file";
    CS_PREPROCESSOR "CS-PREPROCESSOR", "A preprocessor directive cannot be read", "correct the directive";
    CS_PROJECT_CONDITION "CS-PROJECT-CONDITION", "A condition in a project file cannot be evaluated and counts as false", "set the properties that it uses with `params.properties`";
    CS_PROJECT_ELEMENT "CS-PROJECT-ELEMENT", "An element of a project file is unknown and was skipped", "nothing, unless it adds source files or references";
    CS_PROJECT_EXISTS "CS-PROJECT-EXISTS", "A condition refers to a file outside of the workspace. It counts as absent", "set what depends on it with `params.properties`";
    CS_PROJECT_FUNCTION "CS-PROJECT-FUNCTION", "A property function cannot be evaluated here and counts as empty", "set the property with `params.properties`";
    CS_PROJECT_IMPORT "CS-PROJECT-IMPORT", "An imported project file is missing, lies outside of the workspace or imports itself. The import was skipped", "add the file to the source set of projects";
    CS_PROJECT_ITEM "CS-PROJECT-ITEM", "An item of a project cannot be evaluated and was skipped", "give the project its files with `params.projects`";
    CS_PROJECT_LANGUAGE "CS-PROJECT-LANGUAGE", "A project references a project of another language. Names that it declares are not known", "nothing; code that uses such names is listed among possible uses";
    CS_PROJECT_LIMIT "CS-PROJECT-LIMIT", "A project file exceeds a limit of imports, nesting, length or items. Some of it is missing", "simplify the file, or give the project its files with `params.projects`";
    CS_PROJECT_MORE "CS-PROJECT-MORE", "A project has more constructs of this kind that cannot be evaluated than are listed", "see the other messages about the project";
    CS_PROJECT_OUTSIDE "CS-PROJECT-OUTSIDE", "A project names a file outside of the workspace. It was skipped", "move the file into the workspace";
    CS_PROJECT_PARAMS "CS-PROJECT-PARAMS", "`params.projects` of the producer `project` names a file that is not a project of the workspace", "write the path of the project file, relative to the workspace";
    CS_PROJECT_PROPERTY "CS-PROJECT-PROPERTY", "Project files use a property that nothing defines", "set it with `params.properties`";
    CS_PROJECT_REFERENCE "CS-PROJECT-REFERENCE", "A project reference leads to no project of the workspace, or there are no projects at all", "add the project to the source set of projects";
    CS_PROJECT_SDK "CS-PROJECT-SDK", "A project uses an unknown SDK. Its settings are unknown", "set what matters with `params.properties`";
    CS_PROJECT_TFM "CS-PROJECT-TFM", "A project names no target framework that can be read", "set `TargetFramework` with `params.properties`";
    CS_PROJECT_XML "CS-PROJECT-XML", "A project or solution file is not well-formed, or too large. It counts as empty", "correct the file";
    CS_SAME_SYMBOL "CS-SAME-SYMBOL", "Several projects or files declare a type of the same full name. Each is a type of its own, written with `@` and its project or file, or `@loose`", "nothing, or exclude copies from the source set: `[sources.csharp] exclude`";
    CS_SOLUTION "CS-SOLUTION", "A line of a solution cannot be read, or leads to no project", "correct the solution";
    CS_VARIANTS "CS-VARIANTS", "A file has more combinations of preprocessor symbols than are read", "nothing; declarations under the other combinations are not listed";
    E_AGENT "E_AGENT", "A producer's model is an agent, which cannot answer this kind of question", "set `params.model` of the producer to another model";
    E_AMBIGUOUS "E_AMBIGUOUS", "A name matches several targets", "write more of the name, or a whole label";
    E_ANSWER "E_ANSWER", "A model's answer cannot be used, or a stored answer cannot be read", "ask again with `--fresh`; `cortex show --rejected LABEL` shows the answer";
    E_BATCH "E_BATCH", "A batch at the provider failed or its notes cannot be kept", "build again with `--batch`, or without it to ask one by one";
    E_BINARY "E_BINARY", "A file or an output is not text", "use `--raw` and send it to a file or a program";
    E_BUSY "E_BUSY", "Another process works on this checkout or store, or no service runs", "wait for it, or raise `--lock-timeout`";
    E_CANCELLED "E_CANCELLED", "A request was cancelled, or the command was stopped, before there was a result", "run the command again";
    E_CHANGED "E_CHANGED", "A file changed while the build read it", "run the command again";
    E_CIRCUIT "E_CIRCUIT", "A provider failed several times in a row and is not asked again in this build", "build again later";
    E_CLIENT "E_CLIENT", "The configuration of a client of MCP cannot be read or written", "correct the file, or write the lines that the message shows by hand";
    E_COLLECTED "E_COLLECTED", "The version was removed by `cortex gc`", "choose a version that `cortex history` lists";
    E_COMMAND "E_COMMAND", "A program that serves as a producer failed", "read its message; run it by hand with the same input";
    E_CONTEXT "E_CONTEXT", "A question does not fit into the model's context", "set `context_tokens` of the model, or use a model with more";
    E_CONVERSATION "E_CONVERSATION", "The conversation is unknown, or its file is damaged", "start one with `--conversation new`";
    E_CORRECTION "E_CORRECTION", "A corrected text is not in the form of the output", "correct the text; the message says what is missing";
    E_CURSOR "E_CURSOR", "A cursor does not belong to this search", "search again without the cursor";
    E_CYCLE "E_CYCLE", "A target needs its own output", "remove one of the inputs in the cycle";
    E_DUPLICATE "E_DUPLICATE", "Something is defined twice", "remove one of the two";
    E_EDITOR "E_EDITOR", "The editor failed, or the text it wrote is too long", "set `EDITOR`, or shorten the text";
    E_ENCODING "E_ENCODING", "A file or an argument is not UTF-8 text", "convert it to UTF-8";
    E_EXISTS "E_EXISTS", "A file or folder of that name exists", "choose another name, or replace it with `--force` if the command has it";
    E_FACTS "E_FACTS", "A command needs an index that is not built", "run `cortex build '//...'`";
    E_FAILED "E_FAILED", "A method gave no answer", "see the log of the service";
    E_FOREIGN "E_FOREIGN", "The workspace belongs to another user, who can change its programs", "review it with `cortex trust --list`; trust it with `cortex trust --foreign`";
    E_GLOB "E_GLOB", "A glob cannot be read, or includes nothing", "write for instance `**/*.cs`";
    E_GROUP "E_GROUP", "A summary of a group cannot be corrected", "correct the summary of one of its types";
    E_INPUTS "E_INPUTS", "The inputs of a target cannot be listed", "make `each`, `row` and `field` of the rule fit the output of the node";
    E_INTERNAL "E_INTERNAL", "The program met a state that its authors ruled out", "report it with the command that leads there";
    E_IN_THE_WAY "E_IN_THE_WAY", "An edit was refused. The message lists the obstacles", "remove the obstacles first";
    E_IO "E_IO", "A file cannot be read or written", "check the disk and the permissions";
    E_KEY "E_KEY", "A provider refuses the key, or the key is not set", "export the variable that `api_key_env` names";
    E_LABEL "E_LABEL", "A text is not a label, or a label of the wrong kind", "write `//package:target`";
    E_LAYOUT "E_LAYOUT", "An output cannot be laid out as a file", "change the rule's `out`, or remove the obstacle";
    E_LIMIT "E_LIMIT", "A limit of calls, tokens or cost was reached", "build again with a higher limit";
    E_MAX_SIZE "E_MAX_SIZE", "A size limit of the store cannot be read or reached", "write for instance `--max-size 2GiB`";
    E_MISSING "E_MISSING", "A required key is missing", "add the key";
    E_MODEL "E_MODEL", "The table of a model is wrong", "correct it; `cortex.toml.example` shows one";
    E_MODULE "E_MODULE", "A WebAssembly producer cannot be loaded, or exceeds its limits", "compile it for wasm32-unknown-unknown; raise `params.fuel` or `params.memory`";
    E_MORE "E_MORE", "There are more errors than are listed", "correct the listed ones and run the command again";
    E_MOVED "E_MOVED", "The code changed after an agent took its question", "take the new question with `cortex work next`";
    E_NAME "E_NAME", "A name has characters that are not allowed, or is reserved", "choose another name";
    E_NOTHING_SHOWN "E_NOTHING_SHOWN", "The scope of a question contains no type", "name a namespace or a type: `--scope NAME`";
    E_NOT_PAID "E_NOT_PAID", "The output is not from a model", "use `cortex build`";
    E_NOT_REPRODUCIBLE "E_NOT_REPRODUCIBLE", "A target was rebuilt from equal inputs with a different output", "find out what the producer reads besides its inputs";
    E_NOT_RESULTS "E_NOT_RESULTS", "A file was not written by `cortex store export`", "pass a file that it wrote";
    E_NO_AGENT "E_NO_AGENT", "No model of this workspace is an agent", "write `[model.agent] api = \"agent\"` into cortex.toml";
    E_NO_BUILD "E_NO_BUILD", "The log has no build of this number", "see `cortex log`";
    E_NO_COMMAND "E_NO_COMMAND", "There is no command of this name", "see `cortex help`";
    E_NO_FILE "E_NO_FILE", "A source file does not exist, or no source set includes it", "check the path and the source sets";
    E_NO_JSON "E_NO_JSON", "The command has no JSON form", "omit `--output json`";
    E_NO_LAST_GOOD "E_NO_LAST_GOOD", "No version from before the syntax error is stored", "correct the file";
    E_NO_OPERATION "E_NO_OPERATION", "There is no operation of this identifier", "use the identifier from `investigate`";
    E_NO_OUTPUT "E_NO_OUTPUT", "The target has no output yet", "build it";
    E_NO_OVERLAY "E_NO_OVERLAY", "There is no overlay of this name", "see `cortex overlay list`";
    E_NO_PACK "E_NO_PACK", "There is no pack of this name", "see `cortex pack list`";
    E_NO_PROMPT "E_NO_PROMPT", "The target would ask no model", "use `--full` for the prompt of a new answer";
    E_NO_QUESTION "E_NO_QUESTION", "No agent took a question of this number", "take one with `cortex work next`";
    E_NO_REMOTE "E_NO_REMOTE", "cortex.toml names no remote cache", "write a `[remote]` table with an `endpoint`";
    E_NO_RULE "E_NO_RULE", "No rule declares this label", "see `cortex ls` for the kinds of targets";
    E_NO_RULESET "E_NO_RULESET", "There is no built-in ruleset of this name", "take one that the message lists";
    E_NO_SET "E_NO_SET", "The manifest declares no such source set", "define `[sources.NAME]`";
    E_NO_SPACE "E_NO_SPACE", "The disk is full", "free some space, then run the command again; earlier results are intact";
    E_NO_STORE "E_NO_STORE", "There is no store at this place, or the command needs one", "name the folder that holds store.redb, or omit `--no-store`";
    E_NO_TARGET "E_NO_TARGET", "No target matches the pattern", "see `cortex ls` for the kinds of targets";
    E_NO_TREE "E_NO_TREE", "The output is one file, not a folder", "use `--raw`";
    E_NO_VERSION "E_NO_VERSION", "This version of the output is not stored", "see `cortex history LABEL`";
    E_NO_WORKSPACE "E_NO_WORKSPACE", "There is no cortex.toml here or in a folder above", "go to a workspace, name one with `-C DIR`, or run `cortex init`";
    E_OFFLINE "E_OFFLINE", "`--offline` forbids asking the model", "omit `--offline`, or use a model that answers without a network";
    E_ORIGIN "E_ORIGIN", "A text is not an origin of a web page", "write a scheme, a name and a port";
    E_OUTPUT "E_OUTPUT", "The files of a program cannot be an output", "change the program to write plain files and folders";
    E_OVERLAY "E_OVERLAY", "The command does not work in an overlay, or the overlay is damaged", "omit `--overlay`, or open the overlay again";
    E_PACK "E_PACK", "The pack is defined in cortex.toml and cannot be changed by a command", "choose another name, or edit cortex.toml";
    E_PARAM "E_PARAM", "A parameter is unknown, or its value does not fit", "correct the parameter; the message says what is expected";
    E_PATCH "E_PATCH", "A patch does not apply", "read the file again and write a new patch";
    E_PATH "E_PATH", "A path leaves the workspace or has a form that is not allowed", "write a path relative to the workspace, without `..`";
    E_PATTERN "E_PATTERN", "A search pattern is empty or cannot be read", "correct the pattern";
    E_PERSONAL "E_PERSONAL", "A manifest sets the location of a store or a secret", "use your own configuration, `--store` or `CORTEX_STORE`";
    E_PRICE "E_PRICE", "`--max-cost` is set and the model has no price", "write `price` in the table of the model, or use `--max-tokens`";
    E_PRODUCER "E_PRODUCER", "A producer failed", "see its message";
    E_PROVIDER "E_PROVIDER", "A provider answered with an error or with something that is not an answer", "check `base_url` and the model's name";
    E_QUERY "E_QUERY", "A query cannot be read", "correct it; `cortex help query` has the language";
    E_QUOTA "E_QUOTA", "The account of a provider's key has no credit left", "add credit";
    E_READ "E_READ", "A file cannot be read", "check the path and its permissions";
    E_REFUSED "E_REFUSED", "A model refused to answer", "build again, or choose another model";
    E_REMOTE "E_REMOTE", "The table `[remote]` is wrong, or the remote cache failed", "correct the table; `cortex remote ping` tries the server";
    E_REMOTE_WRITE "E_REMOTE_WRITE", "`write` in `[remote]` forbids to upload results here", "set `write = \"always\"`, or run in CI with `write = \"ci\"`";
    E_RENAME "E_RENAME", "A rename was refused. The message lists the obstacles", "choose another name, or remove the obstacles";
    E_REPLAY "E_REPLAY", "A recording has no answer to a question, or cannot be read", "record one: set `record` on a real model and build once";
    E_SANDBOX "E_SANDBOX", "The sandbox that a program needs is not available", "allow user namespaces, or write `sandbox = \"best-effort\"`";
    E_SCIP "E_SCIP", "An index of another program cannot be read", "run its indexer again; `[scip.NAME] index` names the file";
    E_SECRET "E_SECRET", "A manifest contains text that looks like a key", "name a variable of the environment with `api_key_env`";
    E_SERVE "E_SERVE", "A service cannot start, continue or stop", "see the reason in the message";
    E_SESSION "E_SESSION", "There is no edit session of this handle", "see `cortex edit list`";
    E_SET "E_SET", "A set of items cannot be read", "correct `each`; the message lists the forms";
    E_SEVERAL "E_SEVERAL", "The command takes one target, and the pattern matches several", "name one label with its `:target`";
    E_SHARD "E_SHARD", "A part of a build for a worker is damaged or of another version", "rebuild the program that `worker` in `[remote]` names";
    E_SIZE "E_SIZE", "The manifest is too large", "move long lists into files";
    E_STORE_DAMAGED "E_STORE_DAMAGED", "The store is damaged", "run `cortex store verify --repair`";
    E_STORE_FOREIGN "E_STORE_FOREIGN", "The store's folder belongs to another user", "name a folder of your own with `--store`";
    E_STORE_IO "E_STORE_IO", "The store cannot be read or written", "check the folder's permissions and the disk, or move the store with `--store`";
    E_STORE_NEWER "E_STORE_NEWER", "A newer version of cortex wrote the store", "update cortex, or use another store";
    E_STORE_PLACE "E_STORE_PLACE", "There is no place for a store, because neither HOME nor XDG_CACHE_HOME is set", "name one with `--store` or `CORTEX_STORE`";
    E_SYMBOL "E_SYMBOL", "A text is not the name of a type or member", "write a name or a part of one";
    E_SYNTAX "E_SYNTAX", "The manifest is not valid TOML", "correct the line; https://toml.io describes the language";
    E_TEMPLATE "E_TEMPLATE", "A template cannot be read", "correct it; the message says where";
    E_TIMEOUT "E_TIMEOUT", "A program exceeded its time limit", "raise the producer's `timeout`";
    E_TMPDIR "E_TMPDIR", "No folder for temporary files can be created", "set `TMPDIR` to a writable folder";
    E_TOKEN "E_TOKEN", "The token of the service cannot be used", "remove its file; the next server writes a new one";
    E_TOOL "E_TOOL", "A program that a producer runs is missing or changed", "install it, or correct the path";
    E_TOO_LARGE "E_TOO_LARGE", "A text or file is larger than the limit", "pass a shorter one";
    E_TOO_LONG "E_TOO_LONG", "An answer is too long even when shortened", "request less at once";
    E_TRUST "E_TRUST", "The trust in a workspace cannot be stored", "set XDG_STATE_HOME or HOME to a writable folder";
    E_TYPE "E_TYPE", "A value has the wrong type", "write the type that the message names";
    E_UNCONFIRMED "E_UNCONFIRMED", "Nothing was written, because the change was not confirmed", "run the command at a terminal, or with `--yes`";
    E_UNKNOWN_KEY "E_UNKNOWN_KEY", "There is no key of this name", "remove it, or take the suggestion";
    E_UNKNOWN_LABEL "E_UNKNOWN_LABEL", "No rule declares an input", "write a rule with this target; a file's bytes are `//files/PATH:bytes`";
    E_UNKNOWN_MODEL "E_UNKNOWN_MODEL", "There is no model of this name", "define `[model.NAME]`";
    E_UNKNOWN_PRODUCER "E_UNKNOWN_PRODUCER", "There is no producer of this name", "define `[producer.NAME]`";
    E_UNKNOWN_RULESET "E_UNKNOWN_RULESET", "There is no ruleset of this name", "take one that the message lists";
    E_UNKNOWN_SOURCES "E_UNKNOWN_SOURCES", "There is no source set of this name", "define `[sources.NAME]`";
    E_UNTRUSTED "E_UNTRUSTED", "The workspace runs programs or sends keys, and is not trusted yet", "review it with `cortex trust --list`, then trust it with `cortex trust`";
    E_USAGE "E_USAGE", "The command line is wrong", "see `cortex help COMMAND`";
    E_VALUE "E_VALUE", "A value is out of range or cannot be stored", "choose another value";
    E_VARIABLE "E_VARIABLE", "A rule uses a variable that it does not bind, or binds one that it does not use", "correct `each` or the template";
    E_VERSION "E_VERSION", "There is no such version", "take one that the answer lists";
    E_WATCH "E_WATCH", "The file watcher cannot start or continue", "raise the system's limit of watches, or build without it";
    E_WORK "E_WORK", "The notes of an agent's work cannot be read or written", "check `.cortex/work` and the disk";
    E_WORKERS "E_WORKERS", "The remote workers cannot be used", "try them with `cortex remote ping`";
    E_WRITE "E_WRITE", "A file cannot be written", "check the folder, its permissions and the disk";
    Exception "Exception", "An edit failed, or is not allowed now", "see the reason in the message; `cortex edit list` lists the sessions";
    ExternalConflict "ExternalConflict", "Another program changed the file after the edit session read it", "read the file again and repeat the edit; `cortex edit refresh` loads the change into the session";
    InternalError "InternalError", "The program met a state that its authors ruled out", "report it with the command that leads there";
    InvalidFilter "InvalidFilter", "A filter or pattern cannot be read", "correct it; the message says where";
    MultiMatch "MultiMatch", "The text to replace occurs in several places of the file", "write more of the text around it, or choose one with `cortex edit replace_selection`";
    N_BUSY "N_BUSY", "Another process builds this checkout, so nothing was built after a batch of edits", "nothing; the next batch is built";
    N_COLLECTED "N_COLLECTED", "The results that an automatic collection of the store evicted", "nothing";
    N_DEFERRED "N_DEFERRED", "A question waits for a batch or an agent", "ask again later";
    N_EDITS "N_EDITS", "Edits that a kill interrupted were repaired", "nothing";
    N_EMPTY "N_EMPTY", "A query found nothing, and some inputs are known only in part", "build them, and ask again";
    N_EVIDENCE "N_EVIDENCE", "A summary names evidence that does not exist. The evidence was dropped", "nothing";
    N_GONE "N_GONE", "The target no longer exists. A stored version is shown", "see `cortex history LABEL`";
    N_GROUP "N_GROUP", "A prompt depends on other answers that do not exist yet", "build those first";
    N_INCOMPLETE "N_INCOMPLETE", "The answer may be incomplete", "see the message: it says what is missing and how to get it";
    N_IN_THE_WAY "N_IN_THE_WAY", "An obstacle for a rename or an edit by symbol", "see the error beside it";
    N_LAST_GOOD "N_LAST_GOOD", "The file has a syntax error. A version from before it is shown", "correct the file";
    N_NOT_FILED "N_NOT_FILED", "The store cannot be written, so results are not kept", "use a writable store";
    N_NOT_WHOLE "N_NOT_WHOLE", "A file has a syntax error, so the answer may be incomplete", "correct the file; `--last-good` shows the version before";
    N_NOT_YET "N_NOT_YET", "Something that a prompt needs is not built yet", "build it";
    N_NO_SERVICE "N_NO_SERVICE", "No service runs for this checkout", "start one with `cortex serve`";
    N_RENAMED "N_RENAMED", "The type was renamed. Its present name is used", "use the present name";
    N_REPOSITORY "N_REPOSITORY", "There are remarks about the repository as a whole, which are not listed", "list them with `cortex doctor`";
    N_SAME "N_SAME", "A correction changes nothing", "nothing";
    N_STALE "N_STALE", "The version shown is not for the present code", "build the target";
    N_UNKNOWN_SET "N_UNKNOWN_SET", "The items of a set are not known before a build", "build, and ask again";
    N_UNSURE "N_UNSURE", "Part of a query's answer is known only as of the last build", "build, and ask again";
    N_WATCH "N_WATCH", "The file watcher works again", "nothing";
    NoMatch "NoMatch", "The text to replace does not occur in the file, or there is no edit to revert", "read the file again, and copy the text exactly";
    NoOp "NoOp", "There was nothing to do", "nothing";
    PersistFailure "PersistFailure", "An edit succeeded in its session, but its file could not be saved", "see the reason in the message, then `cortex edit commit`";
    Success "Success", "An edit succeeded", "nothing";
    SymbolNotFound "SymbolNotFound", "No type or member has the name", "use one of the suggestions, or try `cortex search`";
    W_ALIASES "W_ALIASES", "The file of renames could not be brought up to date", "see the reason in the message";
    W_CONTEXT "W_CONTEXT", "Parts of a prompt were omitted, because the model's context is small", "raise `context_tokens` of the model";
    W_CORRECTED "W_CORRECTED", "A person corrected the summary, and the code changed since", "read it again: `cortex diff LABEL`, `cortex edit-output LABEL`";
    W_EDITS "W_EDITS", "Edits that a kill interrupted cannot be repaired", "run any `cortex edit` command again";
    W_ENCODING "W_ENCODING", "An answer contained bytes that are not text. They were replaced", "nothing";
    W_IGNORE_RULE "W_IGNORE_RULE", "A line of an ignore file cannot be used", "correct the line, or remove it";
    W_ITEM "W_ITEM", "Items of a set give no label", "correct the names; the message lists them";
    W_MODULE "W_MODULE", "A WebAssembly producer wrote a warning", "see the message";
    W_NOTHING "W_NOTHING", "None of the requested targets is built, so the export is empty", "build the targets first";
    W_NOT_COMPACTED "W_NOT_COMPACTED", "The store's file could not be compacted", "see the reason; the store is intact";
    W_NO_RULES "W_NO_RULES", "The manifest has no rule", "name a ruleset: `[workspace] rulesets = [\"csharp\"]`";
    W_OPERATION "W_OPERATION", "Notes of an operation could not be kept", "see the reason in the message";
    W_OTHER_STORE "W_OTHER_STORE", "Files of this checkout were written with another store", "use one store for one checkout";
    W_PARSE_PARTIAL "W_PARSE_PARTIAL", "A source file of another language than C# has a syntax error. What could be parsed is used", "correct the file";
    W_RECORD "W_RECORD", "An answer could not be recorded", "check the folder and the disk; the answer itself is kept";
    W_REMOTE "W_REMOTE", "The remote cache did not always answer. Missing results were built here", "try it with `cortex remote ping`";
    W_REMOTE_BROKEN "W_REMOTE_BROKEN", "The remote cache keeps a wrong blob although it was sent again", "remove it from the server, or use another `instance`";
    W_REMOTE_LIES "W_REMOTE_LIES", "Some answers of the remote cache were wrong. They were not used", "set another `salt` in `[remote]`";
    W_REMOTE_LIMIT "W_REMOTE_LIMIT", "Outputs of 128 MiB or more are not stored in bundles of a remote cache", "nothing: each machine builds them again when they are read";
    W_REMOTE_WRITE "W_REMOTE_WRITE", "The remote cache does not accept results", "set `write = \"never\"` if others fill it";
    W_REPLAY "W_REPLAY", "A recorded answer cannot be read and counts as absent", "delete it, and record it again";
    W_SCIP_LEFT_OUT "W_SCIP_LEFT_OUT", "Documents or symbols of an index of another program were omitted", "see the reason in the message; run its indexer again";
    W_SERVICE "W_SERVICE", "The service does not answer. The command answered without it", "continue it with `kill -CONT`, or end it with `cortex serve --stop`";
    W_SOURCE_LINK "W_SOURCE_LINK", "A symbolic link that leads out of the workspace is not followed", "nothing, or copy the files";
    W_SOURCE_MOVING "W_SOURCE_MOVING", "A file keeps changing while it is read", "build again when it no longer changes";
    W_SOURCE_NAME "W_SOURCE_NAME", "A file was skipped, because its name is not UTF-8 or contains a line break", "rename or exclude it";
    W_SOURCE_SPECIAL "W_SOURCE_SPECIAL", "A FIFO, socket or device was skipped", "remove or exclude it";
    W_SOURCE_UNREADABLE "W_SOURCE_UNREADABLE", "A source file or folder cannot be read", "make it readable, or exclude it";
    W_STDERR "W_STDERR", "A program that serves as a producer wrote to standard error", "see the message";
    W_STORE_DAMAGED "W_STORE_DAMAGED", "Damage in the store was found. What it concerns reads as absent", "run `cortex store verify --repair`";
    W_STORE_SIZE "W_STORE_SIZE", "The store is larger than its limit after a collection", "run `cortex gc`, which reports the reason";
    W_UNDECLARED "W_UNDECLARED", "An edit adds a name that nothing in the workspace declares", "correct the name; if a package declares it, nothing is wrong";
    W_UNTRUSTED "W_UNTRUSTED", "The workspace is not trusted yet, so something was not run or sent", "look with `cortex trust --list`";
    W_UNUSED "W_UNUSED", "No rule uses a producer that the manifest defines", "remove it, or name it in a rule";
    W_WATCH "W_WATCH", "The system does not report file changes. Files are compared at intervals instead", "raise the system's limit of watches";
    W_WORKERS "W_WORKERS", "Remote workers did not compute everything. The rest was computed here", "try them with `cortex remote ping`";
}

impl ErrorCode {
    /// Parses a code, ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> Self {
        code.as_str().to_owned()
    }
}

impl PartialEq<ErrorCode> for String {
    fn eq(&self, code: &ErrorCode) -> bool {
        self == code.as_str()
    }
}

impl PartialEq<ErrorCode> for str {
    fn eq(&self, code: &ErrorCode) -> bool {
        self == code.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_read_back() {
        assert!(ErrorCode::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
            assert_eq!(format!("{code:?}"), code.as_str().replace('-', "_"));
            assert!(!code.meaning().ends_with('.') && !code.remedy().ends_with('.'), "{code}");
        }
        assert_eq!(ErrorCode::parse("e_no_file"), Some(ErrorCode::E_NO_FILE));
        assert_eq!(ErrorCode::parse("E_NOTHING_OF_THE_KIND"), None);
    }
}
