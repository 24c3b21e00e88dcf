//! How an op is declared, and the erased form of the declaration.

use super::{Ctx, described, tenancy, wording};
use poc_config::TenantSchema;
use poc_graph::error::{Code, Error, Exit, Result};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Who may call an op, and what it may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Changes nothing.
    Read,
    /// Changes the store.
    Write,
    /// Takes back for good what was written to be remembered: offered as what writes is, with the hint
    /// that it destroys.
    Retract,
    /// Takes from the store for good: over REST and MCP off until it is switched on.
    Destroy,
    /// Changes what only a person may decide: never offered to a model.
    Person,
}

/// How REST calls an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method: with [`Method::Get`] the fields of the request stand in the query, else in a JSON
    /// body.
    pub method: Method,
    /// The path; `{field}` stands for a field of the request.
    pub path: &'static str,
    /// The status of success. With 204 there is no body; a 201 is a 200 when nothing new was made.
    pub status: u16,
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Changes nothing.
    Get,
    /// Does something.
    Post,
    /// Takes something away.
    Delete,
}

impl Route {
    /// Asks.
    pub const fn get(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Get, path, status: 200 })
    }

    /// Does.
    pub const fn post(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Post, path, status: 200 })
    }

    /// Makes something new.
    pub const fn create(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Post, path, status: 201 })
    }

    /// Deletes.
    pub const fn delete(path: &'static str) -> Option<Route> {
        Some(Route { method: Method::Delete, path, status: 204 })
    }
}

/// An op: the request struct itself. Its doc comment is the help text and the schema's
/// description; its fields are the arguments on every surface.
pub trait Op: Serialize + DeserializeOwned + JsonSchema + clap::Args {
    /// Its name: the command-line verb. `agent list` is the verb `list` of `agent`.
    const NAME: &'static str;
    /// The words of the command line, where they are not its name.
    const COMMAND: &'static str = Self::NAME;
    /// Who may call it.
    const ACCESS: Access;
    /// Whether only a daemon can do it: without one it is refused, and no store is opened for it.
    const NEEDS_DAEMON: bool = false;
    /// Whether it may wait long for a model or another machine. A daemon runs such ops apart from its
    /// other requests.
    const LONG_RUNNING: bool = false;
    /// Whether it is about the memory of one tenant; else about the process as a whole.
    const TENANTS: bool = true;
    /// Whether a memory may begin with it: a profile that is not there is made for it, and for nothing
    /// else.
    const BEGINS: bool = false;
    /// Whether a command that is an agent's model may call it: what reads. What an agent wants done it says in
    /// its answer, which the permit layer judges.
    const FOR_AGENTS: bool = matches!(Self::ACCESS, Access::Read);
    /// How REST calls it; `None` keeps it off REST.
    const ROUTE: Option<Route> = None;
    /// What it is called as a tool of a model, over MCP; `None` keeps it away from models.
    const TOOL: Option<&'static str> = None;
    /// What it answers.
    type Output: Serialize + DeserializeOwned + JsonSchema;

    /// Does it.
    fn run(self, ctx: &Ctx<'_>) -> Result<Self::Output>;

    /// The answer as text for a person, ending with a newline unless empty.
    fn show(output: &Self::Output) -> String;

    /// Whether the text of this answer is the content of a file, which goes out as it is.
    fn verbatim(_output: &Self::Output) -> bool {
        false
    }

    /// What a person is told beside this answer, on standard error.
    fn aside(_output: &Self::Output) -> Option<String> {
        None
    }

    /// How the process ends after this answer.
    fn exit(_output: &Self::Output) -> Exit {
        Exit::Ok
    }

    /// Whether what an op makes is new; of interest where its route tells that.
    fn is_new(_output: &Self::Output) -> bool {
        true
    }
}

/// An [`Op`] with its types erased.
pub struct OpDef {
    /// Its name.
    pub name: &'static str,
    /// The words of the command line.
    pub command: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether only a daemon can do it.
    pub needs_daemon: bool,
    /// Whether it may wait long for a model or another machine.
    pub long_running: bool,
    /// Whether it is about the memory of one tenant, and so takes the argument `tenant`.
    pub tenants: bool,
    /// Whether a memory may begin with it.
    pub begins: bool,
    /// Whether a command that is an agent's model may call it.
    pub for_agents: bool,
    /// How REST calls it.
    pub route: Option<Route>,
    /// What it is called as a tool of a model.
    pub tool: Option<&'static str>,
    /// Adds its arguments and its help to a command.
    pub augment: fn(clap::Command) -> clap::Command,
    /// The request a parsed command line spells.
    pub parse: fn(&clap::ArgMatches) -> Result<Value>,
    /// Does it.
    pub run: fn(&Ctx<'_>, Value) -> Result<Value>,
    /// The answer for a person.
    pub show: fn(&Value) -> Result<String>,
    /// Whether the text of the answer is the content of a file.
    pub verbatim: fn(&Value) -> Result<bool>,
    /// What a person is told beside the answer.
    pub aside: fn(&Value) -> Result<Option<String>>,
    /// How the process ends after this answer.
    pub exit: fn(&Value) -> Result<Exit>,
    /// Whether what it has made is new.
    pub is_new: fn(&Value) -> Result<bool>,
    /// JSON Schema of the request.
    pub request_schema: fn() -> Schema,
    /// JSON Schema of the answer.
    pub answer_schema: fn() -> Schema,
}

impl OpDef {
    /// The erased form of an op.
    pub const fn of<O: Op>() -> OpDef {
        OpDef {
            name: O::NAME,
            command: O::COMMAND,
            access: O::ACCESS,
            needs_daemon: O::NEEDS_DAEMON,
            long_running: O::LONG_RUNNING,
            tenants: O::TENANTS,
            begins: O::BEGINS,
            for_agents: O::FOR_AGENTS,
            route: O::ROUTE,
            tool: O::TOOL,
            augment: |command| O::augment_args(command),
            parse: |matches| {
                let request =
                    O::from_arg_matches(matches).map_err(|error| Error::invalid(error.to_string()))?;
                encode(&request)
            },
            run: |ctx, request| {
                if !ctx.may_write && O::ACCESS != Access::Read {
                    return Err(only_reads(O::NAME));
                }
                let mut request = of_fields(request)?;
                let schema = &ctx.memory.config.tenant_schema;
                let tenant = tenancy::take(O::NAME, O::TENANTS, &mut request, schema)?;
                let request = decode::<O>(request)?;
                if tenant.is_default() {
                    return encode(&request.run(ctx)?);
                }
                let memory = ctx.memory.of(&tenant);
                encode(&request.run(&Ctx { memory: &memory, ..*ctx })?)
            },
            show: |answer| Ok(O::show(&decode(answer.clone())?)),
            verbatim: |answer| Ok(O::verbatim(&decode(answer.clone())?)),
            aside: |answer| Ok(O::aside(&decode(answer.clone())?)),
            exit: |answer| Ok(O::exit(&decode(answer.clone())?)),
            is_new: |answer| Ok(O::is_new(&decode(answer.clone())?)),
            request_schema: || described::request(schema::<O>()),
            answer_schema: schema::<O::Output>,
        }
    }
}

impl OpDef {
    /// Adds to the JSON Schema of its request what goes with it on every surface: the tenant.
    pub fn add_tenant(&self, request: &mut Map<String, Value>, tenants: &TenantSchema) {
        if self.tenants {
            tenancy::describe(request, tenants);
        }
    }
}

/// The JSON Schema of a type, in one piece: some clients do not follow references.
fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The request, which must say what its values are for: a list of them would be taken in the order of
/// the fields.
fn of_fields(request: Value) -> Result<Value> {
    if request.is_object() {
        return Ok(request);
    }
    Err(Error::invalid("the arguments are no object").hint("give them by their names: `{\"field\": value}`"))
}

/// The error for a caller that may only read.
fn only_reads(op: &str) -> Error {
    Error::new(Code::Rejected, format!("`{op}` writes, and this caller may only read"))
        .hint("call it with the token for everything")
}

fn encode<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("an answer cannot be encoded: {error}")))
}

/// Decodes a request or an answer; an error names the field.
fn decode<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        let field = match (path.as_str(), named(&message)) {
            (".", None) => None,
            (".", Some(name)) => Some(name.to_owned()),
            (path, Some(name)) if path.rsplit('.').next() != Some(name) => Some(format!("{path}.{name}")),
            (path, _) => Some(path.to_owned()),
        };
        let wrong = Error::invalid(wording::plain(&message));
        match field {
            Some(field) => wrong.field(field),
            None => wrong,
        }
    })
}

/// The field that is unknown or missing: serde names it in the message, and the path ends above it.
fn named(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("missing field `"))?;
    rest.split('`').next()
}
