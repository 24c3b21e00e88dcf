//! The trait that declares an op, and its type-erased form.

use super::json_schema::schema;
use super::request::{self, FormerText};
use super::schema_cache::SchemaCache;
use super::tenancy::{self, TenantScope};
use super::terminal::{StyledText, Terminal};
use super::{Ctx, Principal, min_seq, schema_defaults};
use poc_config::{McpConfig, TenantSchema};
use poc_graph::error::{Code, Error, Exit, Result};
use poc_graph::{Tuple, json};
use poc_notes::answer_status;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The schemas of requests that were needed so far.
static REQUEST_SCHEMAS: SchemaCache = SchemaCache::new();

/// The field of an answer with the reasons why it is incomplete.
const DEGRADED: &str = "degraded";

/// Who may call an op, and what it may change. [`Access::allows_models`] says what models may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Changes nothing.
    Read,
    /// Changes the store.
    Write,
    /// Permanently removes messages. Models may call it only if the settings allow it, and it removes for
    /// them only what models wrote.
    Retract,
    /// Permanently removes anything from the store. Off by default over REST and for models.
    Destroy,
    /// Changes what only a person may decide. It is never offered to a model.
    Person,
}

impl Access {
    /// Whether models may call ops with this access.
    pub fn allows_models(self, config: &McpConfig) -> bool {
        match self {
            Access::Read | Access::Write => true,
            Access::Retract => config.forget,
            Access::Destroy => config.delete,
            Access::Person => false,
        }
    }
}

/// The REST endpoint of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The HTTP method. With [`Method::Get`] the request's fields are query parameters, otherwise a
    /// JSON body.
    pub method: Method,
    /// The path; `{field}` is a placeholder for a field of the request.
    pub path: &'static str,
    /// The status of a success. 201 becomes 200 when the op created nothing.
    pub status: u16,
}

/// The HTTP method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Runs an action.
    Post,
    /// Deletes.
    Delete,
}

impl Route {
    /// `GET`, answered with 200.
    pub const fn get(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Get, path, status: 200 })
    }

    /// `POST`, answered with 200.
    pub const fn post(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Post, path, status: 200 })
    }

    /// `POST`, answered with 201 when something was created.
    pub const fn create(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Post, path, status: 201 })
    }

    /// `DELETE`, answered with 200.
    pub const fn delete(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Delete, path, status: 200 })
    }
}

/// The effect of a call of a tool. Clients use it to decide whether to ask the user first and whether to
/// repeat a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing, not even a count.
    ReadOnly,
    /// A second call with the same arguments changes nothing more.
    Idempotent,
    /// Every call changes something: a count, a weight, a new message.
    Cumulative,
}

/// A flag of an op whose effect cannot be undone. At a terminal, the command line asks before it runs the op with it;
/// elsewhere, it requires `--yes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrreversibleFlag {
    /// The name of the argument.
    pub name: &'static str,
    /// A text of one or more sentences for the person who is asked: what the flag does.
    pub warning: &'static str,
}

/// An op. The implementing type is its request: the doc comment is the help text and the schema's
/// description, the fields are the arguments on every surface.
pub trait Op: Serialize + DeserializeOwned + JsonSchema + clap::Args + 'static {
    /// Its name, which is also the command: `agent list` is the command `list` of the family `agent`.
    const NAME: &'static str;
    /// The command, where it differs from the name.
    const COMMAND: &'static str = Self::NAME;
    /// Who may call it.
    const ACCESS: Access;
    /// Whether only a daemon can run it. Without a daemon it is refused, and no store is opened.
    const NEEDS_DAEMON: bool = false;
    /// Whether it may wait long for a model or another machine. A daemon runs such ops in a pool of
    /// their own.
    const LONG_RUNNING: bool = false;
    /// Whether it continues after its caller has disconnected. True by default for ops that wait for a model
    /// or another machine: a call in progress costs money, and its result is recorded.
    const OUTLIVES_CALLER: bool = Self::LONG_RUNNING;
    /// Whether it watches [`Host::calls`](super::Host::calls), which a stopping daemon cancels only after the
    /// shutdown grace. All other ops, including those that outlive their caller, are interrupted at their
    /// next [`check`](poc_graph::cancellation::check) after the daemon is asked to stop.
    const USES_SHUTDOWN_GRACE: bool = false;
    /// Whose notes it works on.
    const TENANT_SCOPE: TenantScope = TenantScope::One;
    /// Whether it creates the profile when there is none. All other ops refuse an unknown profile.
    const CREATES_PROFILE: bool = false;
    /// Whether it stores notes with the field `keywords`, to which the command line adds the label of the project.
    const LABELS_NOTES: bool = false;
    /// Whether a model may call it where its access allows that. It is refused on every surface, also where the model
    /// is offered no such tool.
    const FOR_MODELS: bool = !matches!(Self::ACCESS, Access::Person);
    /// Names of the arguments that only a person may set, at the command line or signed in to the page. A program with
    /// a token may call the op but not set them.
    const PERSON_ARGUMENTS: &'static [&'static str] = &[];
    /// The flag whose effect cannot be undone, if there is one.
    const IRREVERSIBLE: Option<IrreversibleFlag> = None;
    /// Whether the model of an agent may call it, if that model is a command. By default only ops that read:
    /// an agent writes through its reply, which the permit layer checks.
    const FOR_AGENTS: bool = matches!(Self::ACCESS, Access::Read);
    /// Its REST endpoint, if any.
    const ROUTE: Option<Route> = None;
    /// The path of its REST endpoint in release 0.1, if it differs. Requests to it are still answered.
    const FORMER_PATH: Option<&'static str> = None;
    /// The effect of calls by a model, if models may call it over MCP.
    const TOOL: Option<ToolEffect> = None;
    /// The former name of the field `text`, if it had another one in release 0.1.
    const FORMER_TEXT: Option<FormerText> = None;
    /// Whether its answer has the version of one note in the field `version`. An answer in which `past` is set shows a
    /// past state of the note.
    const VERSIONED: bool = false;
    /// Whether its text, which has no emphasis, names commands to type. On the command line, these get the options of
    /// the call. False for texts that contain whole notes, which are shown as they are.
    const NAMES_COMMANDS: bool = false;
    /// Whether its text contains the reasons in the field `degraded` of its answer. They otherwise follow the text.
    const SHOWS_DEGRADED: bool = false;
    /// The type of the answer.
    type Output: Serialize + DeserializeOwned + JsonSchema + 'static;

    /// Runs it.
    fn run(self, ctx: &Ctx<'_>) -> Result<Self::Output>;

    /// The answer as text for a person, laid out for a terminal: empty, or ending with a newline. A text without
    /// emphasis is a [`String`].
    fn show(output: &Self::Output, terminal: &Terminal) -> impl Into<StyledText>;

    /// Whether the text of this answer is the content of a file and must be printed unchanged.
    fn verbatim(_output: &Self::Output) -> bool {
        false
    }

    /// A notice to print on standard error in addition to this answer.
    fn notice(_output: &Self::Output) -> Option<String> {
        None
    }

    /// Whether this answer lists notes but has none. The command line then says what to do first if the memory has none
    /// at all.
    fn lists_nothing(_output: &Self::Output) -> bool {
        false
    }

    /// The exit status after this answer.
    fn exit(_output: &Self::Output) -> Exit {
        Exit::Ok
    }

    /// Whether the op created something. Only routes with status 201 ask.
    fn is_new(_output: &Self::Output) -> bool {
        true
    }
}

/// The decoded arguments of a request.
pub(super) struct OpArguments {
    tenant: Tuple,
    min_seq: Option<u64>,
    request: Box<dyn OpRequest>,
}

/// A decoded request with its type erased.
trait OpRequest {
    /// See [`Op::run`].
    fn run(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Value>;
}

impl<O: Op> OpRequest for O {
    fn run(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Value> {
        json::encode(&O::run(*self, ctx)?)
    }
}

/// An op's decoded answer with its type erased.
pub trait OpOutput {
    /// See [`Op::show`].
    fn show(&self, terminal: &Terminal) -> StyledText;
    /// Lines with the reasons in the field `degraded` of the answer; empty if [`Op::SHOWS_DEGRADED`].
    fn degradations(&self) -> &str;
    /// See [`Op::verbatim`].
    fn verbatim(&self) -> bool;
    /// See [`Op::notice`].
    fn notice(&self) -> Option<String>;
    /// See [`Op::lists_nothing`].
    fn lists_nothing(&self) -> bool;
    /// See [`Op::exit`].
    fn exit(&self) -> Exit;
    /// See [`Op::is_new`].
    fn is_new(&self) -> bool;
}

struct TypedOutput<O: Op> {
    output: O::Output,
    degradations: String,
}

impl<O: Op> OpOutput for TypedOutput<O> {
    fn show(&self, terminal: &Terminal) -> StyledText {
        O::show(&self.output, terminal).into()
    }

    fn degradations(&self) -> &str {
        &self.degradations
    }

    fn verbatim(&self) -> bool {
        O::verbatim(&self.output)
    }

    fn notice(&self) -> Option<String> {
        O::notice(&self.output)
    }

    fn lists_nothing(&self) -> bool {
        O::lists_nothing(&self.output)
    }

    fn exit(&self) -> Exit {
        O::exit(&self.output)
    }

    fn is_new(&self) -> bool {
        O::is_new(&self.output)
    }
}

/// An [`Op`] with its types erased.
pub struct OpDef {
    /// See [`Op::NAME`].
    pub name: &'static str,
    /// See [`Op::COMMAND`].
    pub command: &'static str,
    /// See [`Op::ACCESS`].
    pub access: Access,
    /// See [`Op::NEEDS_DAEMON`].
    pub needs_daemon: bool,
    /// See [`Op::LONG_RUNNING`].
    pub long_running: bool,
    /// See [`Op::OUTLIVES_CALLER`].
    pub outlives_caller: bool,
    /// See [`Op::USES_SHUTDOWN_GRACE`].
    pub uses_shutdown_grace: bool,
    /// See [`Op::TENANT_SCOPE`].
    pub tenant_scope: TenantScope,
    /// See [`Op::CREATES_PROFILE`].
    pub creates_profile: bool,
    /// See [`Op::LABELS_NOTES`].
    pub labels_notes: bool,
    /// See [`Op::NAMES_COMMANDS`].
    pub names_commands: bool,
    /// See [`Op::FOR_MODELS`].
    pub for_models: bool,
    /// See [`Op::FOR_AGENTS`].
    pub for_agents: bool,
    /// See [`Op::ROUTE`].
    pub route: Option<Route>,
    /// See [`Op::FORMER_PATH`].
    pub former_path: Option<&'static str>,
    /// See [`Op::TOOL`].
    pub tool: Option<ToolEffect>,
    /// See [`Op::FORMER_TEXT`].
    pub former_text: Option<FormerText>,
    /// See [`Op::VERSIONED`].
    pub versioned: bool,
    /// See [`Op::PERSON_ARGUMENTS`].
    pub person_arguments: &'static [&'static str],
    /// See [`Op::IRREVERSIBLE`].
    pub irreversible: Option<IrreversibleFlag>,
    /// Adds its arguments and help to a command.
    pub augment: fn(clap::Command) -> clap::Command,
    /// The request of a parsed command line.
    pub parse: fn(&clap::ArgMatches) -> Result<Value>,
    /// Decodes a request.
    decode_request: fn(&Value) -> Result<Box<dyn OpRequest>>,
    /// Decodes an answer. An answer that does not fit is `internal`: the caller did nothing wrong.
    pub decode: fn(&Value) -> Result<Box<dyn OpOutput>>,
    /// JSON Schema of the request.
    pub request_schema: fn() -> Schema,
    /// The same schema, which is generated once.
    pub(crate) shared_request_schema: fn() -> Arc<Value>,
    /// JSON Schema of the answer.
    pub answer_schema: fn() -> Schema,
}

impl OpDef {
    /// Erases the types of an op.
    pub const fn of<O: Op>() -> OpDef {
        OpDef {
            name: O::NAME,
            command: O::COMMAND,
            access: O::ACCESS,
            needs_daemon: O::NEEDS_DAEMON,
            long_running: O::LONG_RUNNING,
            outlives_caller: O::OUTLIVES_CALLER,
            uses_shutdown_grace: O::USES_SHUTDOWN_GRACE,
            tenant_scope: O::TENANT_SCOPE,
            creates_profile: O::CREATES_PROFILE,
            labels_notes: O::LABELS_NOTES,
            names_commands: O::NAMES_COMMANDS,
            for_models: O::FOR_MODELS,
            for_agents: O::FOR_AGENTS,
            route: O::ROUTE,
            former_path: O::FORMER_PATH,
            tool: O::TOOL,
            former_text: O::FORMER_TEXT,
            versioned: O::VERSIONED,
            person_arguments: O::PERSON_ARGUMENTS,
            irreversible: O::IRREVERSIBLE,
            augment: |command| O::augment_args(command),
            parse: |matches| {
                let request =
                    O::from_arg_matches(matches).map_err(|error| Error::invalid(error.to_string()))?;
                json::encode(&request)
            },
            decode_request: decode_request::<O>,
            decode: decode_output::<O>,
            request_schema: request_schema::<O>,
            shared_request_schema: || REQUEST_SCHEMAS.schema_of::<O>(|| request_schema::<O>().to_value()),
            answer_schema: answer_schema::<O>,
        }
    }
}

impl OpDef {
    /// Adds the argument `tenant` to the JSON Schema of the request, if the op accepts one.
    pub fn add_tenant(&self, request: &mut Map<String, Value>, tenants: &TenantSchema) {
        if self.tenant_scope.accepts_tenant() {
            tenancy::describe(request, tenants, self.tenant_scope);
        }
    }

    /// The version of the one note that an answer is about; `None` if it is about several notes or a past state, or if
    /// the op has no such answers. The answer is not decoded, because that takes longer than finding a field.
    pub fn version(&self, answer: &Value) -> Option<u32> {
        let is_current = answer.get("past").and_then(Value::as_bool) != Some(true);
        let version = answer.get("version").filter(|_| self.versioned && is_current)?;
        u32::try_from(version.as_u64()?).ok()
    }

    /// Runs a request: checks what the caller may do, decodes the arguments, and answers.
    pub fn run(&self, ctx: &Ctx<'_>, request: Value) -> Result<Value> {
        if !ctx.may_write && self.access != Access::Read {
            return Err(read_only_caller(self.name));
        }
        if ctx.actor == Principal::Model {
            self.check_model(&ctx.memory.config.mcp)?;
        }
        let OpArguments { tenant, min_seq, request } =
            self.read_arguments(request, &ctx.memory.config.tenant_schema)?;
        if let Some(seq) = min_seq {
            min_seq::wait(&ctx.memory.store, seq, &ctx.memory.config)?;
        }
        let answer = match tenant.is_default() {
            true => request.run(ctx),
            false => request.run(&Ctx { memory: &ctx.memory.of(&tenant), ..*ctx }),
        };
        match answer {
            Ok(mut answer) => {
                // What concerns the daemon, not the memory, has no other reasons to be incomplete.
                if !self.needs_daemon
                    && let Some(reason) = answer_status::read_only(ctx.memory)
                {
                    add_degradation(&mut answer, reason);
                }
                Ok(answer)
            }
            Err(error) if error.code == Code::NotFound => Err(match answer_status::damage(ctx.memory) {
                Some(reason) => possibly_lost(error, reason),
                None => error,
            }),
            Err(error) => Err(error),
        }
    }

    /// Refuses a model when only a person may call the op, or when it is switched off for models.
    fn check_model(&self, config: &McpConfig) -> Result<()> {
        let refused = |why: &str| Error::new(Code::Rejected, format!("`{}` {why}", self.name));
        if !self.for_models {
            return Err(refused("can be called only by a person, and the caller is a model")
                .hint("ask the user to do it"));
        }
        if self.access.allows_models(config) {
            return Ok(());
        }
        Err(refused("is switched off for models")
            .hint(format!("a person can set `{} = true` under `[mcp]` in config.toml", self.name)))
    }

    /// Decodes the arguments of a request.
    pub(super) fn read_arguments(&self, request: Value, tenants: &TenantSchema) -> Result<OpArguments> {
        let mut request = request::require_object(request)?;
        let tenant = tenancy::take(self.name, self.tenant_scope, &mut request, tenants)?;
        let min_seq = min_seq::take(&mut request)?;
        Ok(OpArguments { tenant, min_seq, request: self.read_request(request)? })
    }

    /// Decodes a request, whose field `text` may have its former name.
    fn read_request(&self, mut request: Value) -> Result<Box<dyn OpRequest>> {
        if let (Some(former), Some(fields)) = (self.former_text, request.as_object_mut()) {
            request::rename_text(former, fields)?;
        }
        (self.decode_request)(&request).or_else(|_| (self.decode_request)(&self.converted(request)))
    }

    /// The request with everything converted that the schema does not allow but that has one obvious meaning.
    pub(crate) fn converted(&self, request: Value) -> Value {
        request::lenient(request, &(self.shared_request_schema)())
    }
}

/// Adds a reason to the field `degraded` of an answer, unless it is there.
fn add_degradation(answer: &mut Value, reason: String) {
    let Value::Object(fields) = answer else { return };
    let reasons = fields.entry(DEGRADED).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(reasons) = reasons
        && !reasons.iter().any(|known| known.as_str() == Some(reason.as_str()))
    {
        reasons.insert(0, reason.into());
    }
}

fn request_schema<O: Op>() -> Schema {
    schema_defaults::extract(schema::<O>())
}

/// The JSON Schema of an answer, with the field `degraded`, which is added if the store accepts no writes.
fn answer_schema<O: Op>() -> Schema {
    let mut schema = schema::<O::Output>();
    if !O::NEEDS_DAEMON
        && let Some(Value::Object(fields)) = schema.get_mut("properties")
    {
        let about = "Reasons why this answer may be incomplete, one line each; absent if there are none.";
        let reasons = json!({"type": "array", "items": {"type": "string"}, "description": about});
        fields.entry(DEGRADED).or_insert(reasons);
    }
    schema
}

/// Adds to the error for something that does not exist that damage may be the reason. `reason` describes the damage.
fn possibly_lost(error: Error, reason: String) -> Error {
    const LOST: &str = "the store is damaged, and this may be lost: see `poc-memory doctor`";
    let hint = error.hint.as_ref().map_or_else(|| LOST.to_owned(), |hint| format!("{LOST}; {hint}"));
    Error { degraded: vec![reason], ..error.hint(hint) }
}

/// The error for a caller that may only read.
fn read_only_caller(op: &str) -> Error {
    Error::new(Code::Rejected, format!("`{op}` writes, and this caller may only read"))
        .hint("call it with the token of a person's programs")
}

fn decode_request<O: Op>(request: &Value) -> Result<Box<dyn OpRequest>> {
    Ok(Box::new(request::decode::<O>(request)?))
}

fn decode_output<O: Op>(answer: &Value) -> Result<Box<dyn OpOutput>> {
    let output = json::decode_answer(O::NAME, answer)?;
    let degradations = if O::SHOWS_DEGRADED { String::new() } else { degradations(answer) };
    Ok(Box::new(TypedOutput::<O> { output, degradations }))
}

/// The reasons why an answer is incomplete, one line each.
fn degradations(answer: &Value) -> String {
    let reasons = answer.get(DEGRADED).and_then(Value::as_array).into_iter().flatten();
    reasons.filter_map(Value::as_str).map(|reason| format!("degraded: {reason}\n")).collect()
}

#[cfg(test)]
mod tests {
    use crate::ops::find;
    use poc_graph::error::Code;
    use serde_json::json;

    #[test]
    fn an_answer_that_cannot_be_decoded_is_an_internal_error() {
        let op = find("stats").unwrap();
        let error = (op.decode)(&json!({})).err().unwrap();
        assert_eq!(error.code, Code::Internal);
        assert!(error.message.contains("`stats`") && error.message.contains("nodes"), "{error}");
    }
}
