//! MCP server: the host answers the requests of clients from the catalog of methods.

use super::line_transport::LineTransport;
use super::resources::{self, MIME, Meant};
use super::{progress, prompts};
use crate::exit::exit_number;
use crate::service::message;
use crate::service::server::{Stop, WORKERS, runtime};
use engine::seams::producer::Cancel;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::{Answered, MethodEntry, reference};
use methods::code::Code;
use methods::failed::Failed;
use methods::render::printable;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use serve::Host;
use serve::host::{Asker, CancelOnDrop, Outcome, Patience};
use serve::tools::answer_form::Form;
use serve::tools::definitions::ToolAvailability;
use serve::tools::remarks::{diagnostics_text, failure_text, with_remarks, without_repository};
use serve::tools::resource_methods::Page;
use serve::tools::{definitions as tools, shorten, tool_words};
use std::io;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Instructions that a client passes to its model.
const INSTRUCTIONS: &str = "Knowledge of the C# code in this workspace, true for the files as they are now. Ask for outlines before you open files: they \
are a tenth of the source. `usages` binds names where grep mixes them up, `rename` and `edit` change code by symbol. Types and members are named by any unambiguous name (NodeStore, Core.NodeStore, NodeStore#Get). \
Answers say when they are stale, incomplete or shortened; `cortex://method/NAME` lists all arguments of a tool. A \
live context is the only truth about its document and replaces earlier ones; what FAILED in it changed nothing. `overlay` tries unsaved \
edits; tools that read take its name as `overlay`.";

/// Methods of the protocol that this server answers.
const ANSWERED: [&str; 9] = [
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
    "prompts/get",
];

/// Handler of clients' requests.
#[derive(Clone)]
pub struct Server {
    pub(super) host: Arc<Host>,
    workers: Arc<Semaphore>,
    form: Form,
    /// Tools that clients can list.
    tools: Arc<Vec<Tool>>,
}

/// Serves the parent process on standard input and output until the input ends. Fails when the server cannot start.
pub fn converse(server: Server, stop: &Stop) -> io::Result<()> {
    let runtime = runtime()?;
    let host = server.host.clone();
    let served = runtime.block_on(async {
        let talk = async {
            match server.serve(LineTransport::new(tokio::io::stdin(), tokio::io::stdout())).await {
                Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
                // The client disconnected before its first message.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        };
        tokio::select! {
            served = talk => served,
            () = stop.stopped() => Ok(()),
        }
    });
    host.end_all();
    // A read of standard input cannot be interrupted.
    runtime.shutdown_background();
    served
}

impl Server {
    /// Creates a server for any number of clients, which share the host.
    pub fn new(host: Arc<Host>, form: Form, can: ToolAvailability) -> Self {
        Self {
            host,
            workers: Arc::new(Semaphore::new(WORKERS)),
            form,
            tools: Arc::new(tools::definitions(form, can).into_iter().map(of_protocol).collect()),
        }
    }

    /// Answers a call within the length limit. A page that is too long is requested again with fewer items, so that its count and its cursor
    /// match the items shown.
    async fn reply(
        &self,
        entry: &'static MethodEntry,
        mut arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, ErrorData> {
        loop {
            let Outcome {
                result,
                diagnostics: remarks,
            } = self.ask_host(entry, arguments.clone(), context).await?;
            let form = self.form;
            let short = move |mut answered: Answered| {
                tool_words::rewrite_notes(entry, &mut answered.answer);
                let mut short = shorten::shorten(entry, answered.answer, form)?;
                short.text = tool_words::rewrite_text(entry, short.text);
                Ok((short, answered.code))
            };
            let work = tokio::task::spawn_blocking(move || result.and_then(short));
            let mut result = work.await.map_err(|error| bug(&error))?;
            let cut = result.as_ref().ok().and_then(|(reply, _)| reply.cut);
            match cut.and_then(|cut| shorten::smaller(entry, &arguments, cut)) {
                Some(limit) => arguments["limit"] = limit.into(),
                None => {
                    let mut remarks = without_repository(entry, remarks);
                    let failed = result.as_mut().err().map(|failed| &mut failed.diagnostics);
                    let said = failed.into_iter().flatten().chain(&mut remarks);
                    said.for_each(|one| tool_words::rewrite_diagnostic(entry, one));
                    return Ok(Reply {
                        result,
                        diagnostics: remarks,
                    });
                }
            }
        }
    }

    /// Asks the host, unless the client cancels the request.
    async fn ask_host(
        &self,
        entry: &'static MethodEntry,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let cancel = Cancel::default();
        let _cancel = CancelOnDrop(cancel.clone());
        let _telling = progress::start_progress(self.host.clone(), context).await;
        let (host, workers) = (self.host.clone(), self.workers.clone());
        let work = async {
            let worker = workers.acquire_owned().await.map_err(|error| bug(&error))?;
            let asker = Asker {
                room: Some(self.form.room()),
                ..Asker::with_patience(Patience::Fair)
            };
            let call = move || {
                let _worker = worker;
                host.call_with(entry, arguments, &cancel, asker)
            };
            tokio::task::spawn_blocking(call).await.map_err(|error| bug(&error))
        };
        tokio::select! {
            outcome = work => outcome,
            () = context.ct.cancelled() => Err(ErrorData::internal_error("request cancelled", None)),
        }
    }
}

/// Converts a tool to the type of the protocol, which has the same form.
fn of_protocol(tool: tools::Tool) -> Tool {
    let form = serde_json::to_value(tool).expect("invariant: a definition is a plain value");
    serde_json::from_value(form).expect("invariant: a definition has the form of the protocol")
}

/// Result of a call: the shortened answer or the failure, and the other diagnostics.
struct Reply {
    result: Result<(shorten::ShortenedAnswer, Code), Failed>,
    diagnostics: Vec<Diagnostic>,
}

fn bug(what: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("a bug of cortex: {what}"), None)
}

/// Builds the result of a tool in one form. A failure is part of the result, for the model to read, not an error of the protocol.
fn tool_result(
    entry: &MethodEntry,
    Reply {
        result,
        diagnostics: remarks,
    }: Reply,
    form: Form,
) -> CallToolResult {
    let (short, code) = match result {
        Ok(reply) => reply,
        Err(failed) => return CallToolResult::error(vec![ContentBlock::text(failure_text(entry, &failed, &remarks))]),
    };
    let mut result = match (form, short.data) {
        (Form::Structured, data @ Value::Object(_)) => {
            let exit_code = Some(code).filter(|code| *code != Code::Ok).map(exit_number);
            let mut result = CallToolResult::success(Vec::new());
            result.structured_content = Some(with_remarks(data, exit_code, &remarks));
            result
        }
        _ => {
            let mut text = printable(&short.text);
            if !remarks.is_empty() {
                text = format!("{}\n\n{}\n", text.trim_end(), diagnostics_text(remarks.iter()));
            }
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
    };
    result.is_error = Some(code != Code::Ok);
    result
}

/// Builds the error for a resource that cannot be read.
fn unread(failed: &Failed, diagnostics: &[Diagnostic]) -> ErrorData {
    let data = message::error_object(failed, diagnostics);
    let words = data["message"].as_str().unwrap_or("it cannot be read").to_owned();
    match failed.code {
        Code::TargetFailed | Code::Usage => ErrorData::resource_not_found(words, Some(data)),
        _ => ErrorData::internal_error(words, Some(data)),
    }
}

/// Refuses a cursor, for lists that have only one page.
fn only_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(no_cursor()),
    }
}

fn no_cursor() -> ErrorData {
    ErrorData::invalid_params("this cursor was not given for this list; begin without one", None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let own = Implementation::new("cortex", env!("CARGO_PKG_VERSION")).with_title("cortex: code knowledge");
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    /// Refuses an unknown method; `rmcp` also passes malformed requests of known methods to this function.
    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if ANSWERED.contains(&method.as_str()) {
            let why = format!("the params of '{method}' are not as the protocol has them; 'arguments' is an object");
            return Err(ErrorData::invalid_params(why, None));
        }
        let name: String = method.chars().take(80).collect();
        let why = format!("there is no method '{name}'; the methods are those of the Model Context Protocol");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request)?;
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find_tool(&request.name) else {
            return Err(ErrorData::invalid_params(tools::no_tool(&request.name), None));
        };
        let (entry, arguments) = match tool.method_of(request.arguments.unwrap_or_default()) {
            Ok(call) => call,
            Err(failed) => return Ok(CallToolResult::error(vec![ContentBlock::text(diagnostics_text(failed.diagnostics.iter()))]).into()),
        };
        let reply = self.reply(entry, arguments, &context).await?;
        Ok(tool_result(entry, reply, self.form).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (entry, arguments) = resources::call_after_cursor(cursor.as_deref()).ok_or_else(no_cursor)?;
        let Outcome {
            result,
            diagnostics: remarks,
        } = self.ask_host(entry, arguments, &context).await?;
        let page = match result {
            Ok(answered) => serde_json::from_value::<Page>(answered.answer).map_err(|error| bug(&error))?,
            Err(failed) => return Err(unread(&failed, &remarks)),
        };
        let mut all = if cursor.is_none() {
            resources::fixed_resources()
        } else {
            Vec::new()
        };
        all.extend(resources::of_types(&page.types));
        let mut list = ListResourcesResult::with_all_items(all);
        list.next_cursor = page.types.last().filter(|_| page.more).map(|last| resources::cursor(last));
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = match resources::parse_address(&request.uri) {
            None => {
                let uri: String = request.uri.chars().take(120).collect();
                let words = format!("there is no resource '{uri}'; resources/templates/list lists them");
                return Err(ErrorData::resource_not_found(words, None));
            }
            Some(Meant::References(entries)) => entries.into_iter().map(reference::section_of_method).collect(),
            Some(Meant::Asked(entry, arguments)) => {
                let Reply {
                    result,
                    diagnostics: remarks,
                } = self.reply(entry, arguments, &context).await?;
                let (reply, _) = result.map_err(|failed| unread(&failed, &remarks))?;
                reply.text
            }
        };
        let contents = ResourceContents::text(printable(&text), request.uri).with_mime_type(MIME);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::definitions()))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let message = prompts::message(&request.name, &given).map_err(|why| ErrorData::invalid_params(why, None))?;
        Ok(GetPromptResult::new(vec![message]).into())
    }
}
