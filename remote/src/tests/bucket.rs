//! A bucket as a cache, with a store in this process that keeps objects as S3 does, or misbehaves.

use super::folder::{fill, is_found, some};
use super::{Stopped, around, def, lookup_of, result};
use crate::server::Surroundings;
use crate::{CacheUse, Client};
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::RemoteCache;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Behaviour of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    Honest,
    /// Answers end in the middle.
    Cut,
    /// Objects are returned with other bytes.
    Changed,
    /// Requests fail because of overload.
    Failing,
    /// All requests are forbidden.
    Forbidding,
    /// Missing objects are reported as forbidden, as for keys that may not list the bucket.
    Hiding,
}

#[derive(Clone)]
struct ObjectStore {
    address: String,
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    habit: Arc<Mutex<Habit>>,
}

impl ObjectStore {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let store = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            objects: Arc::default(),
            habit: Arc::new(Mutex::new(Habit::Honest)),
        };
        let serving = store.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (store, stream) = (serving.clone(), stream.unwrap());
                std::thread::spawn(move || while store.answer(&stream).is_some() {});
            }
        });
        store
    }

    /// Answers one request; `None` at the end of the connection.
    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let habit = *self.habit.lock().unwrap();
        let mut objects = self.objects.lock().unwrap();
        let key = path.strip_prefix("/team-cache/");
        let (code, mut bytes) = match (method, key) {
            _ if habit == Habit::Failing => (503, Vec::new()),
            _ if habit == Habit::Forbidding || !query.contains("X-Amz-Signature=") => (403, Vec::new()),
            ("HEAD", Some("")) => (if habit == Habit::Hiding { 403 } else { 200 }, Vec::new()),
            ("PUT", Some(key)) => {
                objects.insert(key.to_owned(), body);
                (200, Vec::new())
            }
            (_, Some(key)) if objects.contains_key(key) => (200, objects[key].clone()),
            _ => (if habit == Habit::Hiding { 403 } else { 404 }, Vec::new()),
        };
        if habit == Habit::Changed {
            bytes.iter_mut().for_each(|byte| *byte ^= 1);
        }
        let mut answer = format!("HTTP/1.1 {code} X\r\ncontent-length: {}\r\n\r\n", bytes.len()).into_bytes();
        let shown = if habit == Habit::Cut { bytes.len() / 2 } else { bytes.len() };
        answer.extend(bytes.iter().take(if method == "HEAD" { 0 } else { shown }));
        let mut stream = stream;
        stream.write_all(&answer).ok()?;
        let is_whole = method == "HEAD" || shown == bytes.len();
        is_whole.then_some(())
    }

    fn client(&self, def: RemoteDef) -> Client {
        let address = self.address.clone();
        let around = around(Duration::from_secs(5));
        let others = around.variables.clone();
        let around = Surroundings {
            variables: Arc::new(move |name| match name {
                "AWS_ENDPOINT_URL" => Some(address.clone()),
                "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("hush-hush".to_owned()),
                name => others(name),
            }),
            ..around
        };
        let usage = CacheUse { read: true, write: true };
        Client::with_clock(def, usage, around, Arc::new(Stopped::default())).unwrap()
    }
}

#[test]
fn results_stored_in_a_bucket_are_found_by_another_machine() {
    let store = ObjectStore::start();
    let made = some();
    for endpoint in ["s3://team-cache", "s3://team-cache/of/one"] {
        let one = store.client(def(endpoint));
        fill(&one, &made);
        let summary = one.finish(None);
        assert_eq!((summary.stored, summary.not_stored, summary.trouble), (52, 0, None));
        let other = store.client(def(endpoint));
        assert!(is_found(&other, &made));
        assert_eq!(other.finish(None).lies.len(), 0);
        let again = store.client(def(endpoint));
        fill(&again, &made);
        assert_eq!(again.finish(None).blobs_up, 0);
    }
    assert!(!is_found(&store.client(def("s3://team-cache/of/two")), &made));
    *store.habit.lock().unwrap() = Habit::Hiding;
    let one = store.client(def("s3://team-cache/of/three"));
    fill(&one, &made);
    assert_eq!(one.finish(None).writes_off, None);
    assert!(is_found(&store.client(def("s3://team-cache/of/three")), &made));
    let names = store.objects.lock().unwrap();
    assert!(names.keys().any(|name| name.starts_with("blobs/")) && names.keys().any(|name| name.starts_with("of/one/results/")));
}

#[test]
fn a_bucket_that_fails_or_lies_costs_its_results_and_nothing_more() {
    let made = some();
    for habit in [Habit::Cut, Habit::Changed, Habit::Failing, Habit::Forbidding] {
        let store = ObjectStore::start();
        fill(&store.client(def("s3://team-cache")), &made);
        *store.habit.lock().unwrap() = habit;
        let reader = store.client(def("s3://team-cache"));
        assert!(!is_found(&reader, &made), "{habit:?}");
        let shown = format!("{:?}", reader.finish(None));
        assert!(!shown.contains("hush-hush") && !shown.contains("X-Amz"), "{shown}");
        *store.habit.lock().unwrap() = Habit::Honest;
        assert!(is_found(&store.client(def("s3://team-cache")), &made), "{habit:?}");
    }
}

#[test]
fn a_bucket_that_is_not_there_is_told() {
    let store = ObjectStore::start();
    let (made, _) = result("a", &[b"abc"]);
    let client = store.client(def("s3://other-cache"));
    assert_eq!(client.find(&[lookup_of(&made)]), [None]);
    let why = client.finish(None).reads_off.unwrap();
    assert!(why.contains("no such bucket"), "{why}");
}
