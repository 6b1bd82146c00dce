//! Workers in this process, honest or misbehaving.

use super::liar::{Liar, Shelf};
use bazel_remote_apis::build::bazel::remote::execution::v2 as api;
use bazel_remote_apis::google::longrunning::{Operation, operation};
use bazel_remote_apis::google::protobuf::Any;
use bazel_remote_apis::google::rpc::Status as Said;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use prost::Message;
use tonic::{Code, Request, Response, Status};

/// Behaviour of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// The server has no workers.
    #[default]
    None,
    /// Workers write the shard backwards.
    Backwards,
    /// Requests are refused.
    Refuses,
    /// The server fails, and says so only in the result: exit code 0, nothing written.
    FailsWithin,
    /// The server fails, and says so in the operation.
    Fails,
    /// The program fails.
    Exits(i32),
    /// The program succeeds, but writes nothing.
    WritesNothing,
    /// The output is missing.
    Loses,
    /// One byte of the output is wrong.
    Spoils,
    /// The result of the operation cannot be decoded.
    Mumbles,
    /// The operation has no result.
    SaysNothing,
    /// The call ends before the work does.
    HangsUp,
    /// The work never ends.
    Silent,
}

/// Runs an action; panics if the action is malformed.
fn executed(shelf: &mut Shelf, action: &api::Digest) -> api::ActionResult {
    fn read<T: Message + Default>(shelf: &Shelf, name: Option<&api::Digest>) -> T {
        let blob = &shelf.blobs[&name.unwrap().hash];
        T::decode(&blob[..]).unwrap()
    }
    let action: api::Action = read(shelf, Some(action));
    let command: api::Command = read(shelf, action.command_digest.as_ref());
    let root: api::Directory = read(shelf, action.input_root_digest.as_ref());
    assert!(action.do_not_cache && action.timeout.is_some());
    assert_eq!(command.arguments, ["./cortex", "produce-shard", "in", "out"]);
    assert_eq!(command.output_paths, ["out"]);
    let files: Vec<(&str, bool)> = root.files.iter().map(|file| (&*file.name, file.is_executable)).collect();
    assert_eq!(files, [("cortex", true), ("in", false)]);
    shelf.platform = action.platform.clone();
    let bytes = |file: &api::FileNode| shelf.blobs[&file.digest.as_ref().unwrap().hash].clone();
    assert_eq!(bytes(&root.files[0]), b"a program");
    let mut written = bytes(&root.files[1]);
    written.reverse();
    let name = shelf.function().name_of_bytes(&written).as_message();
    match shelf.work {
        Work::Loses => {}
        Work::Spoils => {
            written[0] ^= 1;
            shelf.blobs.insert(name.hash.clone(), written);
        }
        _ => drop(shelf.blobs.insert(name.hash.clone(), written)),
    }
    let file = api::OutputFile {
        path: "out".to_owned(),
        digest: Some(name),
        ..api::OutputFile::default()
    };
    api::ActionResult {
        output_files: if shelf.work == Work::WritesNothing {
            Vec::new()
        } else {
            vec![file]
        },
        ..api::ActionResult::default()
    }
}

fn failed_reply() -> Said {
    Said {
        code: Code::Internal as i32,
        message: "a disk\nis full".to_owned(),
        ..Said::default()
    }
}

/// Returns the result of the operation at its end.
fn said(shelf: &mut Shelf, action: &api::Digest) -> Option<operation::Result> {
    let response = |response: api::ExecuteResponse| -> Option<operation::Result> {
        Some(operation::Result::Response(Any {
            type_url: "type.googleapis.com/build.bazel.remote.execution.v2.ExecuteResponse".to_owned(),
            value: response.encode_to_vec(),
        }))
    };
    match shelf.work {
        Work::SaysNothing => None,
        Work::Fails => Some(operation::Result::Error(failed_reply())),
        Work::FailsWithin => response(api::ExecuteResponse {
            status: Some(failed_reply()),
            result: Some(api::ActionResult::default()),
            ..api::ExecuteResponse::default()
        }),
        Work::Exits(exit_code) => response(api::ExecuteResponse {
            result: Some(api::ActionResult {
                exit_code,
                ..api::ActionResult::default()
            }),
            ..api::ExecuteResponse::default()
        }),
        Work::Mumbles => Some(operation::Result::Response(Any {
            type_url: String::new(),
            value: b"no message".to_vec(),
        })),
        _ => response(api::ExecuteResponse {
            result: Some(executed(shelf, action)),
            status: Some(Said::default()),
            ..api::ExecuteResponse::default()
        }),
    }
}

#[tonic::async_trait]
impl api::execution_server::Execution for Liar {
    type ExecuteStream = BoxStream<'static, Result<Operation, Status>>;
    type WaitExecutionStream = Self::ExecuteStream;

    async fn execute(&self, request: Request<api::ExecuteRequest>) -> Result<Response<Self::ExecuteStream>, Status> {
        let question = self.answer_or_misbehave("execute", request).await?;
        assert!(question.skip_cache_lookup);
        let mut shelf = self.0.lock().unwrap();
        let begun = Operation {
            name: "work".to_owned(),
            ..Operation::default()
        };
        let operations = match shelf.work {
            Work::Refuses => return Err(Status::permission_denied("hush-hush may not execute")),
            Work::Silent => {
                return Ok(Response::new(
                    futures_util::stream::iter([Ok(begun)])
                        .chain(futures_util::stream::pending())
                        .boxed(),
                ));
            }
            Work::HangsUp => vec![Ok(begun)],
            _ => {
                let result = said(&mut shelf, &question.action_digest.unwrap());
                let ended = Operation {
                    done: true,
                    result,
                    ..begun.clone()
                };
                vec![Ok(begun), Ok(ended)]
            }
        };
        Ok(Response::new(futures_util::stream::iter(operations).boxed()))
    }

    async fn wait_execution(&self, _: Request<api::WaitExecutionRequest>) -> Result<Response<Self::WaitExecutionStream>, Status> {
        Err(Status::unimplemented(""))
    }
}
