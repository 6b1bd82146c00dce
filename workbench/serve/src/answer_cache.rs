//! Cache of answers. Each answer holds as of a moment, and expires when a source changes after it.

use engine::build::watch_state::Moment;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Limit of cached bytes; beyond it, the whole cache is cleared.
const MOST: usize = 64 << 20;

/// Cached answers and their size.
#[derive(Default)]
struct CachedAnswers {
    answers: HashMap<String, (Arc<Value>, Moment)>,
    bytes: usize,
}

/// Cached answers by question.
#[derive(Default)]
pub struct Warm(Mutex<CachedAnswers>);

impl Warm {
    /// Returns the answer to a question, if it is cached and no source changed since.
    pub fn cached_answer(&self, question: &str) -> Option<Arc<Value>> {
        let (answer, moment) = self.lock_answers().answers.get(question)?.clone();
        // Checked without the lock: the watch may need a moment.
        if moment.is_current() {
            return Some(answer);
        }
        let mut cache = self.lock_answers();
        if let Some((old, _)) = cache.answers.get(question)
            && Arc::ptr_eq(old, &answer)
        {
            cache.answers.remove(question);
            cache.bytes = cache.bytes.saturating_sub(question.len() + estimated_bytes(&answer));
        }
        None
    }

    /// Caches an answer that is true as of `moment`.
    pub fn remember(&self, question: String, answer: &Value, moment: Moment) {
        let bytes = question.len() + estimated_bytes(answer);
        let mut cache = self.lock_answers();
        if cache.bytes + bytes > MOST {
            *cache = CachedAnswers::default();
        }
        cache.bytes += bytes;
        if let Some((old, _)) = cache.answers.insert(question.clone(), (Arc::new(answer.clone()), moment)) {
            cache.bytes = cache.bytes.saturating_sub(question.len() + estimated_bytes(&old));
        }
    }

    fn lock_answers(&self) -> std::sync::MutexGuard<'_, CachedAnswers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Estimates the bytes that a value takes.
fn estimated_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => 32 + text.len(),
        Value::Array(items) => 32 + items.iter().map(estimated_bytes).sum::<usize>(),
        Value::Object(fields) => {
            32 + fields
                .iter()
                .map(|(key, value)| 48 + key.len() + estimated_bytes(value))
                .sum::<usize>()
        }
        _ => 32,
    }
}
