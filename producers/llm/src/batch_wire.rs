//! The batch interfaces of the two providers: send, find, poll, fetch.

use super::call_failures::Trouble;
use super::exchange::ServerCall;
use super::pending_batches::{FetchedAnswer, Note};
use super::reply::{Complaint, Reply};
use super::settings::Api;
use super::{anthropic, openai};
use engine::seams::producer::Cancel;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Limit of bytes of a batch's results.
const LONGEST_RESULTS: usize = 512 << 20;
/// Limit of listed batches that are examined for a lost one.
const LOOKED_AT: usize = 20;

/// Progress of a batch.
pub(super) enum Progress {
    Running,
    Finished(Vec<FetchedAnswer>),
    /// It has no answers and never will; with the reason, if known.
    Gone(Option<String>),
}

/// Uploads the questions. OpenAI needs a file first and returns its name; for Anthropic they are part of the next step.
pub(super) fn upload(line: &ServerCall<'_>, requests: &[(&str, &Value)], cancel: &Cancel) -> Result<String, Trouble> {
    if line.api == Api::Anthropic {
        return Ok(String::new());
    }
    // No line of JSON begins like this boundary, and only one at the beginning of a line counts.
    let boundary = "cortex-batch-5b1d3a9e";
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"batch.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
    );
    for (id, request) in requests {
        body += &json!({"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": request}).to_string();
        body.push('\n');
    }
    body += &format!("\r\n--{boundary}--\r\n");
    let kind = format!("multipart/form-data; boundary={boundary}");
    let response = line.send_checked("/files", Some(body.into_bytes()), kind, cancel)?;
    let value = line.read_json_body(response, cancel)?;
    id_of_line(line, &value)
}

/// Creates the batch; returns its name at the provider.
pub(super) fn create(line: &ServerCall<'_>, file: &str, requests: &[(&str, &Value)], id: &str, cancel: &Cancel) -> Result<String, Trouble> {
    let (path, body) = if line.api == Api::Anthropic {
        let requests: Vec<Value> = requests.iter().map(|(id, body)| json!({"custom_id": id, "params": body})).collect();
        ("/v1/messages/batches", json!({"requests": requests}))
    } else {
        let body = json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"cortex": id},
        });
        ("/batches", body)
    };
    let response = line.send_json(path, &body, cancel)?;
    let value = line.read_json_body(response, cancel)?;
    id_of_line(line, &value)
}

/// Finds the name of a batch at its provider, if the run that sent it was killed before the answer.
pub(super) fn find_sent_batch(
    line: &ServerCall<'_>,
    id: &str,
    note: &Note,
    claimed: &BTreeSet<String>,
    cancel: &Cancel,
) -> Result<Option<String>, Trouble> {
    let path = if line.api == Api::Anthropic {
        "/v1/messages/batches?limit=100"
    } else {
        "/batches?limit=100"
    };
    let listed = get_json(line, path, cancel)?;
    let listed = listed.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
    let unclaimed = listed.iter().filter_map(|batch| {
        let remote = batch.get("id")?.as_str()?;
        (!claimed.contains(remote)).then_some((remote, batch))
    });
    if line.api != Api::Anthropic {
        let mut unclaimed = unclaimed;
        let ours = unclaimed.find(|(_, batch)| batch.pointer("/metadata/cortex").and_then(Value::as_str) == Some(id));
        return Ok(ours.map(|(remote, _)| remote.to_owned()));
    }
    // Batches here carry no name of ours: one with as many questions is ours if its results are, or possibly while it runs.
    for (remote, batch) in unclaimed.take(LOOKED_AT) {
        let counts = batch.get("request_counts").and_then(Value::as_object);
        let count: u64 = counts.into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
        if count != note.items.len() as u64 {
            continue;
        }
        match progress(line, remote, cancel)? {
            Progress::Running => return Ok(Some(remote.to_owned())),
            Progress::Finished(results) if results.iter().any(|answers| note.items.contains_key(&answers.id)) => {
                return Ok(Some(remote.to_owned()));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Polls a batch, and fetches its results when it has ended.
pub(super) fn progress(line: &ServerCall<'_>, remote: &str, cancel: &Cancel) -> Result<Progress, Trouble> {
    let is_anthropic = line.api == Api::Anthropic;
    let base = if is_anthropic { "/v1/messages/batches" } else { "/batches" };
    if !is_plain_name(remote) {
        return Ok(Progress::Gone(Some("its provider gave it a name that cannot be one".to_owned())));
    }
    let batch = match get_json(line, &format!("{base}/{remote}"), cancel) {
        Err(Trouble::Absent(_)) => {
            let why = "its provider no longer knows it: it expired, or belongs to another account";
            return Ok(Progress::Gone(Some(why.to_owned())));
        }
        batch => batch?,
    };
    let word = |name: &str| batch.get(name).and_then(Value::as_str);
    if is_anthropic {
        if word("processing_status") != Some("ended") {
            return Ok(Progress::Running);
        }
        let mut answers = Vec::new();
        fetch(line, &format!("{base}/{remote}/results"), cancel, &mut answers)?;
        return Ok(Progress::Finished(answers));
    }
    match word("status") {
        Some("completed" | "expired" | "cancelled") => {
            let mut answers = Vec::new();
            for file in ["output_file_id", "error_file_id"] {
                if let Some(file) = word(file).filter(|file| is_plain_name(file)) {
                    fetch(line, &format!("/files/{file}/content"), cancel, &mut answers)?;
                }
            }
            Ok(Progress::Finished(answers))
        }
        Some("failed") => {
            let why = batch.pointer("/errors/data/0/message").and_then(Value::as_str);
            Ok(Progress::Gone(Some(why.unwrap_or("its provider does not say why").to_owned())))
        }
        _ => Ok(Progress::Running),
    }
}

fn get_json(line: &ServerCall<'_>, path: &str, cancel: &Cancel) -> Result<Value, Trouble> {
    let response = line.send_checked(path, None, String::new(), cancel)?;
    line.read_json_body(response, cancel)
}

fn id_of_line(line: &ServerCall<'_>, value: &Value) -> Result<String, Trouble> {
    match value.get("id").and_then(Value::as_str) {
        Some(id) => Ok(id.to_owned()),
        None => Err(line.called.complaint(
            &Complaint {
                kind: "no_content".to_owned(),
                message: "the answer has no 'id'".to_owned(),
                ..Complaint::default()
            },
            None,
        )),
    }
}

/// Names become part of addresses, and must not lead elsewhere.
fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 200 && name.chars().all(plain) && !name.starts_with('.')
}

fn fetch(line: &ServerCall<'_>, path: &str, cancel: &Cancel, answers: &mut Vec<FetchedAnswer>) -> Result<(), Trouble> {
    let mut response = line.send_checked(path, None, String::new(), cancel)?;
    let (bytes, all) = response
        .read_body(LONGEST_RESULTS, cancel)
        .map_err(|broken| line.called.connection_failed(broken))?;
    if !all {
        return Err(line.called.endless(LONGEST_RESULTS));
    }
    for row in bytes.split(|byte| *byte == b'\n').filter(|row| !row.trim_ascii().is_empty()) {
        let mut reply = Reply::new(u64::MAX);
        let Ok(value) = reply.parse_json(row) else {
            continue;
        };
        let Some(id) = value.get("custom_id").and_then(Value::as_str) else {
            continue;
        };
        let read = if line.api == Api::Anthropic {
            of_anthropic(&value, &mut reply)
        } else {
            of_openai(&value, &mut reply)
        };
        reply.text = line.access.secrets.scrub(&reply.text);
        match read {
            Some(Ok(())) => answers.push(FetchedAnswer::from_result(id, Ok(reply))),
            Some(Err(complaint)) => answers.push(FetchedAnswer::from_result(id, Err(complaint))),
            // The question was not asked; a later run asks it again.
            None => {}
        }
    }
    Ok(())
}

fn of_anthropic(row: &Value, reply: &mut Reply) -> Option<Result<(), Complaint>> {
    let result = row.get("result")?;
    match result.get("type")?.as_str()? {
        "succeeded" => Some(anthropic::read_answer(result.get("message")?, reply)),
        "errored" => Some(Err(anthropic::error(result.get("error").unwrap_or(result)))),
        _ => None,
    }
}

fn of_openai(row: &Value, reply: &mut Reply) -> Option<Result<(), Complaint>> {
    let status = row.pointer("/response/status_code").and_then(Value::as_u64);
    match status.and_then(|status| u16::try_from(status).ok()) {
        Some(200) => Some(openai::read_answer(row.pointer("/response/body")?, reply)),
        Some(status) => Some(Err(Complaint::of_json(status, row.pointer("/response/body")?))),
        None if row.pointer("/error/code").and_then(Value::as_str) == Some("batch_expired") => None,
        None => Some(Err(Complaint::of_json(400, row))),
    }
}
