//! Offers results to a server as one machine and finds them as another: `exchange '{"endpoint": "grpc://…"}' [RESULTS]`. Prints the agreed terms,
//! durations and counters as JSON lines; exits with 1 if a result does not return unchanged.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it is a program")]

use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{
    BlobRef, BundleOffer, Bundled, Offered, RemoteCache, RemoteSummary, SharedOutput, SharedResult, VolumeKind, Wanted,
};
use engine::values::digest::{ActionKey, Digest};
use remote::{CacheUse, Client, Deadlines, Surroundings};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let def = arguments.next().and_then(|def| serde_json::from_str::<RemoteDef>(&def).ok());
    let count = arguments.next().map_or(Ok(1_000), |count| count.parse());
    let (Some(def), Ok(count)) = (def, count) else {
        println!("usage: exchange '{{\"endpoint\": \"grpc://127.0.0.1:9092\"}}' [RESULTS]");
        return ExitCode::from(2);
    };
    match exchange(&RemoteDef { read: true, ..def }, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{}", serde_json::json!({ "failed": why }));
            ExitCode::FAILURE
        }
    }
}

fn client(def: &RemoteDef) -> Result<Client, String> {
    let around = Surroundings {
        folder: ".".into(),
        variables: Arc::new(|name| std::env::var(name).ok()),
        deadlines: Deadlines::default(),
    };
    let usage = CacheUse { read: true, write: true };
    Client::new(def.clone(), usage, around).map_err(|error| error.to_string())
}

fn print_traffic(what: &str, began: Instant, summary: &RemoteSummary) {
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    println!("{}", serde_json::json!({ "step": what, "took_ms": took_ms, "summary": summary }));
}

/// Returns bytes that differ from run to run, so that the server does not have them.
fn bytes(run: u64, number: usize, len: usize) -> Arc<[u8]> {
    let seed = Digest::of(format!("{run} {number}").as_bytes());
    seed.0.iter().copied().cycle().take(len).collect()
}

fn exchange(def: &RemoteDef, count: usize) -> Result<(), String> {
    let one = client(def)?;
    println!("{}", serde_json::json!({ "ping": one.ping()? }));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let run = now.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let len = |number: usize| if number == 0 { 9 << 20 } else { 200 + number % 4_000 };
    let made: Vec<(SharedResult, Arc<[u8]>)> = (0..count)
        .map(|number| {
            let blob = bytes(run, number, len(number));
            let result = SharedResult {
                key: ActionKey(Digest::of(format!("{run} key {number}").as_bytes())),
                producer: "toy@1".to_owned(),
                outputs: vec![SharedOutput {
                    name: "output".to_owned(),
                    blob: BlobRef::of(&blob),
                }],
                provenance: b"made by an example".to_vec(),
            };
            (result, blob)
        })
        .collect();

    let began = Instant::now();
    for (result, blob) in &made {
        if one.offer(result.clone(), vec![blob.clone()]) != Offered::Queued {
            return Err("an offer was not taken".to_owned());
        }
    }
    let summary = one.finish(None);
    print_traffic("offer", began, &summary);
    if summary.stored != made.len() as u64 {
        return Err("not all offers were stored".to_owned());
    }

    let began = Instant::now();
    let two = client(def)?;
    let wanted: Vec<Wanted> = made
        .iter()
        .map(|(result, _)| Wanted {
            key: result.key,
            producer: result.producer.clone(),
        })
        .collect();
    let found = two.find(&wanted);
    print_traffic("find", began, &two.finish(None));
    if found.iter().zip(&made).any(|(found, (made, _))| found.as_ref() != Some(made)) {
        return Err("a result did not come back as it went".to_owned());
    }
    let began = Instant::now();
    let blobs: Vec<BlobRef> = made.iter().map(|(result, _)| result.outputs[0].blob).collect();
    let fetched = two.fetch(&blobs);
    print_traffic("fetch", began, &two.finish(None));
    if fetched.iter().zip(&made).any(|(blob, (_, made))| blob.as_ref() != Some(made)) {
        return Err("a blob did not come back as it went".to_owned());
    }

    let name = Digest::of(format!("{run} bundle").as_bytes());
    let began = Instant::now();
    let three = client(def)?;
    let bundled = |(result, _): &(SharedResult, Arc<[u8]>)| Bundled {
        result: result.clone(),
        outputs: vec![result.outputs[0].blob.digest],
        kind: VolumeKind::Plain,
        took_us: 1,
    };
    let results: Vec<Bundled> = made.iter().map(bundled).collect();
    let by_digest: std::collections::HashMap<Digest, Arc<[u8]>> = made
        .iter()
        .map(|(result, blob)| (result.outputs[0].blob.digest, blob.clone()))
        .collect();
    let is_whole = three.offer_bundle(&BundleOffer {
        names: &[name],
        near: &[],
        graph: &[],
        results: &results,
        load: &|digest| by_digest.get(digest).cloned(),
    });
    if !is_whole {
        return Err(format!("the bundle was not stored: {:?}", three.finish(None)));
    }
    print_traffic("offer bundle", began, &three.finish(None));
    let began = Instant::now();
    let four = client(def)?;
    let bundle = four.find_bundle(&[name]).ok_or("the bundle is not there")?;
    let addresses: Vec<&[u8]> = bundle.volumes.iter().map(|volume| &volume.address[..]).collect();
    let volumes = four.read_volumes(&addresses).into_iter().flatten();
    let found: Vec<SharedResult> = volumes.flat_map(|volume| volume.results).collect();
    if !found.iter().eq(made.iter().map(|(result, _)| result)) {
        return Err("the bundle did not come back as it went".to_owned());
    }
    let outputs: std::collections::HashMap<Digest, Arc<[u8]>> = four.read_outputs(&addresses).into_iter().flatten().collect();
    print_traffic("find bundle, read it", began, &four.finish(None));
    if outputs != by_digest {
        return Err("an output of the bundle did not come back as it went".to_owned());
    }
    Ok(())
}
