//! A conversation at a terminal. Three threads send to a fourth: keys, events of a question, and completions of references. The fourth draws
//! and waits for no model, so that a slow or broken one never keeps a person from typing.

use super::plain;
use super::screen::input::Input;
use super::screen::keys::Key;
use super::screen::markdown::{Growing, Markdown};
use super::screen::paint::{DrawnLine, Painter};
use super::screen::terminal::{self, Terminal};
use super::screen::view::{View, text_width};
use crate::command_context::CommandContext;
use crate::signals;
use chat::chat_methods::{COMPLETE, Completed};
use chat::commands;
use chat::conversation::{ChatConversation, Event, Tell};
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::Silent;
use methods::code::Code;
use methods::desk::request_context::RequestContext;
use methods::failed::{Failed, Outcome};
use methods::render::{Style, plural, printable};
use serde_json::json;
use serve::Host;
use serve::host::{Asker, Outcome as Reply, Patience};
use serve::source_watch;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use workbench::chat::complete;
use workbench::chat::references::{ReferenceKind, at_cursor};
use workbench::chat::transcript::ExchangeState;

/// Hint line while no question is answered.
const HINTS: &str = "Enter asks · Alt-Enter new line · @file #Name Tab · /help";
/// Hint line while a question is answered.
const BUSY: &str = "Ctrl-C ends the answer";

/// Number of exchanges shown when a conversation is continued.
const RECALLED: usize = 3;

/// Message to the drawing thread.
enum News {
    Key(Key),
    /// An event of the current question.
    Of(Event),
    /// Output of a command.
    Told(String),
    /// A question or command is done; the new title line.
    Done {
        title: String,
    },
    /// Candidates for the reference at this byte.
    Completed {
        start: usize,
        typed: String,
        candidates: Vec<String>,
    },
    /// The terminal is closed, or a signal ends the program.
    Gone,
}

/// A line for the thread that owns the conversation.
struct Job {
    line: String,
    cancel: Cancel,
}

/// State of the screen.
struct Screen {
    style: Style,
    size: (usize, usize),
    painter: Painter,
    input: Input,
    growing: Option<Growing>,
    doing: Option<String>,
    /// Number of lines that wait for the current one.
    waiting: usize,
    title: String,
    candidates: Option<Candidates>,
}

/// Candidates for a reference, valid while the text stays the same.
struct Candidates {
    start: usize,
    names: Vec<String>,
    /// Index of the candidate in the text.
    chosen: Option<usize>,
}

/// Runs a conversation until the person leaves.
pub fn run_conversation(context: &CommandContext, conversation: ChatConversation) -> Outcome {
    let (news, hears) = channel();
    let host = conversation.host.clone();
    let mut screen = Screen::new(context.out, &conversation);
    let welcome = welcome(&conversation);
    let terminal = Terminal::enter_raw_mode().map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_IO, format!("the terminal cannot be used: {error}"));
        Failed::new(Code::Io, why.hint("pipe the question in: echo QUESTION | cortex chat"))
    })?;
    let ends = news.clone();
    signals::on_signal(move || drop(ends.send(News::Gone)), terminal::restore);
    follow_sources(context, conversation.host.clone());
    let jobs = answer_jobs(conversation, news.clone());
    let completes = complete_jobs(host, news.clone());
    read_keys(news);
    screen.say(&welcome);
    let code = screen.follow(&hears, &jobs, &completes);
    drop(terminal);
    code
}

fn welcome(conversation: &ChatConversation) -> String {
    let mut text = String::new();
    let exchanges = &conversation.transcript.exchanges;
    for exchange in &exchanges[exchanges.len().saturating_sub(RECALLED)..] {
        text.push_str(&format!("> {}\n\n{}\n\n", exchange.question.replace('\n', "\n> "), exchange.answer));
    }
    if exchanges.last().is_some_and(|last| last.state != ExchangeState::Answered) {
        text.push_str("The last answer is not whole: `/again` continues it.\n");
    }
    if conversation.model.is_none() {
        text.push_str(&conversation.no_model().replacen("quoted from", "answers are quoted from", 1));
    }
    text
}

/// Returns the conversation and its model, for the line above the question.
fn title(conversation: &ChatConversation) -> String {
    let id = match conversation.transcript.id.as_str() {
        "" => "new",
        id => id,
    };
    let pending = if conversation.transcript.proposal.is_some() {
        " · a change is proposed: /edit"
    } else {
        ""
    };
    format!("{id} · {}{pending}", conversation.model.as_deref().unwrap_or("no model"))
}

/// Watches the sources during the conversation, so that requests need not scan them. Prints nothing; if the watch cannot start, each request
/// scans.
fn follow_sources(context: &CommandContext, host: Arc<Host>) {
    let settings = context.settings().clone();
    let follow = move || {
        let context = RequestContext::of_request(settings, Cancel::default(), Arc::new(Silent));
        drop(source_watch::start_watching(&context, &host, false, (|_: &_| {}, || {})));
    };
    let _ = std::thread::Builder::new().name("follow".to_owned()).spawn(follow);
}

/// Starts the thread that owns the conversation.
fn answer_jobs(mut conversation: ChatConversation, news: Sender<News>) -> Sender<Job> {
    let (jobs, wanted) = channel::<Job>();
    let work = move || {
        for Job { line, cancel } in wanted {
            let hears = news.clone();
            let tell: Tell = Arc::new(move |event| drop(hears.send(News::Of(event))));
            if line == "/again" {
                conversation.resume_answer(&cancel, &tell);
            } else if commands::is_command(&line) {
                let answer = commands::obey(&mut conversation, &line, &cancel).unwrap_or_else(|why| commands::failure_markdown(&why));
                let _ = news.send(News::Told(answer));
            } else {
                conversation.ask_and_report(&line, &cancel, &tell);
            }
            let _ = news.send(News::Done {
                title: title(&conversation),
            });
        }
    };
    // If the thread cannot start, the first question reports that.
    let _ = std::thread::Builder::new().name("talk".to_owned()).spawn(work);
    jobs
}

/// Starts the thread that looks up candidates for references.
fn complete_jobs(host: Arc<Host>, news: Sender<News>) -> Sender<(usize, ReferenceKind, String)> {
    let (jobs, wanted) = channel::<(usize, ReferenceKind, String)>();
    let work = move || {
        for (start, kind, typed) in wanted {
            let arguments = json!({"file": kind == ReferenceKind::File, "typed": typed});
            let Reply { result, .. } = host.call_with(&COMPLETE, arguments, &Cancel::default(), Asker::with_patience(Patience::Long));
            let found = result
                .ok()
                .and_then(|answered| serde_json::from_value::<Completed>(answered.answer).ok());
            let candidates = found.map(|found| found.candidates).unwrap_or_default();
            let _ = news.send(News::Completed { start, typed, candidates });
        }
    };
    let _ = std::thread::Builder::new().name("complete".to_owned()).spawn(work);
    jobs
}

fn read_keys(news: Sender<News>) {
    let read = move || terminal::pass_keys(|key| news.send(key.map_or(News::Gone, News::Key)).is_ok());
    let _ = std::thread::Builder::new().name("keys".to_owned()).spawn(read);
}

impl Screen {
    fn new(style: Style, conversation: &ChatConversation) -> Self {
        let questions = conversation.transcript.exchanges.iter().map(|one| one.question.clone());
        Self {
            style,
            size: Terminal::size(),
            painter: Painter::default(),
            input: Input::new(questions.collect()),
            growing: None,
            doing: None,
            waiting: 0,
            title: title(conversation),
            candidates: None,
        }
    }

    /// Draws events until the person leaves.
    fn follow(&mut self, hears: &Receiver<News>, jobs: &Sender<Job>, completes: &Sender<(usize, ReferenceKind, String)>) -> Outcome {
        let mut running: Option<Cancel> = None;
        let mut waiting: Vec<String> = Vec::new();
        let mut leaves = false;
        loop {
            self.draw(&[])?;
            let Ok(next) = hears.recv() else { return Ok(Code::Ok) };
            match next {
                News::Gone => {
                    if let Some(cancel) = &running {
                        cancel.cancel();
                        wait_for_end(hears);
                    }
                    return Ok(Code::Interrupted);
                }
                News::Of(event) => self.handle_event(event)?,
                News::Told(text) => self.say(&text),
                News::Done { title } => {
                    (self.title, self.doing, running) = (title, None, None);
                    self.draw(&[DrawnLine::default()])?;
                    if leaves {
                        return self.leave_conversation();
                    }
                }
                News::Completed { start, typed, candidates } => self.insert_completion(start, &typed, candidates),
                News::Key(Key::Interrupt) => match &running {
                    Some(cancel) => {
                        cancel.cancel();
                        self.doing = Some("ending the answer".to_owned());
                        if !waiting.is_empty() {
                            self.report_unasked(waiting.len());
                            waiting.clear();
                        }
                    }
                    None => {
                        self.input.take_text();
                        self.candidates = None;
                    }
                },
                News::Key(Key::EndOfInput) if self.input.text().is_empty() => {
                    if ends_at_once(&running, &mut leaves) {
                        return self.leave_conversation();
                    }
                }
                News::Key(Key::Submit) => {
                    let line = self.input.take_text().trim().to_owned();
                    self.candidates = None;
                    if line == "/quit" {
                        if ends_at_once(&running, &mut leaves) {
                            return self.leave_conversation();
                        }
                    } else if !line.is_empty() {
                        waiting.push(line);
                    }
                }
                News::Key(Key::Complete { back }) => self.complete(back, completes),
                News::Key(Key::Resize) => self.handle_resize(Terminal::size())?,
                News::Key(Key::Redraw) => self.handle_resize(self.size)?,
                News::Key(key) => self.edit(&key),
            }
            if running.is_none() && !waiting.is_empty() {
                let cancel = Cancel::default();
                let job = Job {
                    line: waiting.remove(0),
                    cancel: cancel.clone(),
                };
                self.echo(&job.line)?;
                let doing = match commands::is_command(&job.line) {
                    true => "at it",
                    false => "looking for what belongs to it",
                };
                if jobs.send(job).is_err() {
                    self.say("the conversation ended: leave, and continue with `cortex chat --continue`");
                } else {
                    (running, self.doing) = (Some(cancel), Some(doing.to_owned()));
                }
            }
            self.waiting = waiting.len();
        }
    }

    fn report_unasked(&mut self, count: usize) {
        let questions = plural(count as u64, "question");
        self.say(&format!("not asked: {questions}; arrow up brings them back"));
    }

    fn leave_conversation(&mut self) -> Outcome {
        let bytes = self.painter.clear(self.size.0);
        self.write_screen(&bytes)?;
        Ok(Code::Ok)
    }

    fn edit(&mut self, key: &Key) {
        let action = match key {
            Key::Edit(action) => action,
            Key::EndOfInput => &super::screen::input::Action::Delete,
            _ => return,
        };
        self.candidates = None;
        self.input.apply(action, text_width(self.size.0));
        if self.input.was_cut() {
            self.say("the end of the text is left out: a question has at most 64 KiB; name a long file as @path instead");
        }
    }

    /// Prints the question above the screen's bottom, where it stays.
    fn echo(&mut self, line: &str) -> Result<(), Failed> {
        let mut markdown = Markdown::new(self.style, self.size.0);
        let lines: Vec<DrawnLine> = line.lines().flat_map(|line| markdown.rows_of_line(&format!("> {line}"))).collect();
        self.draw(&lines)
    }

    fn handle_event(&mut self, event: Event) -> Result<(), Failed> {
        let style = self.style;
        let faint = |text: &str| vec![(style.dim(&printable(text)), text.to_owned())];
        let message = match event {
            Event::Growing(text) => {
                self.doing = Some("answering".to_owned());
                let lines = self.growing().grow(&text);
                return self.draw(&lines);
            }
            Event::Said(text) => {
                let mut growing = self.growing.take().unwrap_or_else(|| Growing::new(self.style, self.size.0));
                let lines = growing.remaining_rows(&text);
                return self.draw(&lines);
            }
            Event::Context(line) => {
                self.doing = Some("waiting for the answer".to_owned());
                faint(&line)
            }
            Event::Looks(line) => {
                self.doing = Some("looking further".to_owned());
                faint(&format!("looks at {line}"))
            }
            Event::Note(line) => faint(&line),
            Event::Failed(why) => {
                let tail = self.growing.take().map(|growing| growing.tail()).unwrap_or_default();
                self.draw(&tail)?;
                let text = plain::format_fault(&why, Style::plain());
                let lines = text.lines().map(|line| (style.yellow(line), line.to_owned()));
                lines.collect()
            }
            Event::Preview(diff) => {
                self.say(&format!("```diff\n{}\n```", diff.trim_end()));
                return Ok(());
            }
            Event::Proposal(diff) => {
                self.say(&format!("```diff\n{diff}\n```"));
                faint("nothing is saved: /edit accept saves it, /edit drop drops it")
            }
        };
        let rows = message
            .into_iter()
            .flat_map(|(drawn, text)| self.rows_of(drawn, &text))
            .collect::<Vec<_>>();
        self.draw(&rows)
    }

    /// Returns a coloured line as one row if it fits, else as plain rows.
    fn rows_of(&self, drawn: String, text: &str) -> Vec<DrawnLine> {
        let plain = DrawnLine::plain(text.to_owned());
        match plain.cells <= self.size.0 {
            true => vec![DrawnLine { drawn, ..plain }],
            false => Markdown::new(self.style, self.size.0).rows_of_line(text),
        }
    }

    fn growing(&mut self) -> &mut Growing {
        let (style, width) = (self.style, self.size.0);
        self.growing.get_or_insert_with(|| Growing::new(style, width))
    }

    fn say(&mut self, text: &str) {
        let mut markdown = Markdown::new(self.style, self.size.0);
        let lines: Vec<DrawnLine> = text.lines().flat_map(|line| markdown.rows_of_line(line)).collect();
        // If the terminal is gone, the next draw reports it.
        let _ = self.draw(&lines);
    }

    fn handle_resize(&mut self, size: (usize, usize)) -> Result<(), Failed> {
        let bytes = self.painter.clear(size.0);
        self.write_screen(&bytes)?;
        self.size = size;
        if let Some(growing) = &mut self.growing {
            growing.resize(size.0);
        }
        Ok(())
    }

    /// Draws the changed lines, after `above`, which scroll away.
    fn draw(&mut self, above: &[DrawnLine]) -> Result<(), Failed> {
        let tail = self.growing.as_ref().map(Growing::tail).unwrap_or_default();
        let waits = match self.waiting {
            0 => String::new(),
            count => format!("; then {}", plural(count as u64, "question")),
        };
        let doing = self.doing.as_ref().map(|doing| format!("… {doing}{waits}"));
        let hints = match &self.candidates {
            Some(candidates) => candidates.hints(),
            None if self.doing.is_some() => BUSY.to_owned(),
            None => HINTS.to_owned(),
        };
        let view = View {
            input: &self.input,
            tail: &tail,
            doing: doing.as_deref(),
            title: &self.title,
            hints: &hints,
            style: self.style,
        };
        let bytes = self.painter.paint(above, view.frame(self.size.0, self.size.1));
        self.write_screen(&bytes)
    }

    fn write_screen(&self, bytes: &str) -> Result<(), Failed> {
        terminal::write_to_terminal(bytes).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_WRITE, format!("the terminal cannot be written to: {error}"));
            Failed::new(Code::Io, why.hint("continue with `cortex chat --continue`"))
        })
    }

    /// Handles Tab: inserts the next candidate, or requests candidates for the reference at the cursor.
    fn complete(&mut self, back: bool, completes: &Sender<(usize, ReferenceKind, String)>) {
        if let Some(candidates) = &mut self.candidates {
            if let Some(name) = candidates.next(back) {
                self.input.replace_name(candidates.start + 1, &name);
            }
            return;
        }
        if let Some(found) = at_cursor(self.input.text(), self.input.cursor()) {
            let _ = completes.send((found.start, found.kind, found.name.to_owned()));
        }
    }

    /// Inserts the common prefix of the candidates, unless the text has changed since the request.
    fn insert_completion(&mut self, start: usize, typed: &str, names: Vec<String>) {
        let is_unchanged =
            at_cursor(self.input.text(), self.input.cursor()).is_some_and(|found| found.start == start && found.name == typed);
        if !is_unchanged {
            return;
        }
        let common = complete::common(&names);
        if common.len() > typed.len() && common.to_lowercase().starts_with(&typed.to_lowercase()) {
            self.input.replace_name(start + 1, common);
        } else if let [only] = names.as_slice() {
            self.input.replace_name(start + 1, only);
        }
        self.candidates = (names.len() != 1).then_some(Candidates {
            start,
            names,
            chosen: None,
        });
    }
}

/// Time-out for the current work when a signal ends the program; a cancelled model call ends within it.
const TO_END: Duration = Duration::from_millis(800);

/// Waits until the current work and its programs have ended.
fn wait_for_end(hears: &Receiver<News>) {
    let until = Instant::now() + TO_END;
    while let Ok(news) = hears.recv_timeout(until.saturating_duration_since(Instant::now())) {
        if matches!(news, News::Done { .. }) {
            return;
        }
    }
}

/// Cancels the current work. Returns whether the person can leave now: only after its cost is counted, or on the second request.
fn ends_at_once(running: &Option<Cancel>, leaves: &mut bool) -> bool {
    running.iter().for_each(Cancel::cancel);
    running.is_none() || std::mem::replace(leaves, true)
}

impl Candidates {
    fn next(&mut self, back: bool) -> Option<String> {
        let count = self.names.len();
        let next = match (self.chosen, back) {
            _ if count == 0 => return None,
            (None, false) => 0,
            (None, true) => count - 1,
            (Some(at), false) => (at + 1) % count,
            (Some(at), true) => (at + count - 1) % count,
        };
        self.chosen = Some(next);
        self.names.get(next).cloned()
    }

    /// Formats the candidates in one line, from the chosen one on.
    fn hints(&self) -> String {
        if self.names.is_empty() {
            return "nothing begins so".to_owned();
        }
        let from = self.chosen.unwrap_or(0);
        let shown = self.names[from..].iter().chain(&self.names[..from]);
        format!("Tab: {}", shown.map(String::as_str).collect::<Vec<_>>().join("  "))
    }
}
