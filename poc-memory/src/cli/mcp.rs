//! `mcp`: MCP on standard input and output, and the settings that clients need.

use super::command_context::CommandContext;
use super::daemon_client;
use super::invocation::Invocation;
use super::local::LocalCommand;
use super::project_label::ProjectLabel;
use super::setup::Assistant;
use crate::dispatch::{self, Connection};
use crate::mcp::{OpExecutor, Server, StdioTransport, percent_encoded};
use crate::ops::{Access, OpDef, Principal, Terminal, tenancy};
use parking_lot::Mutex;
use poc_config::paths::Paths;
use poc_config::{Config, TenantSchema, ToolSet};
use poc_graph::cancellation;
use poc_graph::error::{Error, Result};
use poc_notes::resolve::quoted;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Serve this memory to an assistant over MCP. The assistant starts this command and speaks the Model Context
/// Protocol on standard input and output: `poc-memory mcp config` prints its settings
#[derive(Debug, clap::Args)]
pub(super) struct McpServe {}

/// Empty: standard output belongs to the protocol.
#[derive(Debug, Serialize)]
pub(super) struct McpServeOutput {}

impl LocalCommand for McpServe {
    const NAME: &'static str = "mcp";
    const TENANTS: bool = true;
    type Output = McpServeOutput;

    fn run(self, context: &CommandContext) -> Result<McpServeOutput> {
        let config = context.config()?;
        let caller = ConnectionOpExecutor {
            context: context.clone(),
            label: ProjectLabel::here(&config),
            config,
            opening: Mutex::default(),
        };
        let failed = |error: &dyn std::fmt::Display| {
            Error::unavailable(format!("the assistant cannot be served: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(&error))?;
        let ended = runtime.block_on(async {
            match Server::new(Arc::new(caller)).serve(StdioTransport::new()).await {
                Ok(service) => service.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
                // The client disconnected before it sent anything.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        });
        // A pending read of standard input must not delay the exit.
        runtime.shutdown_background();
        ended.map(|()| McpServeOutput {}).map_err(|error| failed(&error))
    }

    fn show(_: &McpServeOutput, _: &Terminal) -> String {
        String::new()
    }
}

/// Calls the daemon if one runs, otherwise opens the memory for each call, because an assistant may keep this
/// process for days and must not lock others out. Every call has its own connection, which is closed when the
/// call is cancelled, so that the daemon stops computing.
struct ConnectionOpExecutor {
    context: CommandContext,
    config: Config,
    // An assistant starts this process in the folder that it works in.
    label: Option<ProjectLabel>,
    // Concurrent calls must not lock each other out of a store that no daemon serves.
    opening: Mutex<()>,
}

impl ConnectionOpExecutor {
    /// Whether the server was started for one tenant.
    fn is_bound(&self) -> bool {
        !self.context.globals.tenant.is_empty()
    }
}

impl OpExecutor for ConnectionOpExecutor {
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value> {
        let (paths, config) = (&self.context.paths, &self.config);
        let daemon = dispatch::connect(paths, config)?.map(Connection::Daemon);
        let _one_at_a_time = daemon.is_none().then(|| self.opening.lock());
        // The client may have cancelled this call while it waited.
        cancellation::check()?;
        let connection = match daemon {
            Some(connection) => connection,
            None => Connection::open(paths.clone(), config.clone())?,
        };
        if self.is_bound() && request.get(tenancy::FIELD).is_some() {
            return Err(Error::invalid(
                "this server serves one tenant, which was chosen when it was started",
            )
            .hint("leave the tenant out")
            .field(tenancy::FIELD));
        }
        // The tenant of the command line only applies to ops that accept one.
        let request = if op.tenant_scope.accepts_tenant() {
            self.context.with_global_arguments(request)?
        } else {
            request
        };
        let request = ProjectLabel::label_notes(self.label.as_ref(), op, request);
        connection.acting_for(Principal::Model).call(op, request, &|_| {})
    }

    fn offers(&self, access: Access) -> bool {
        access.allows_models(&self.config.mcp)
    }

    fn tool_set(&self) -> ToolSet {
        self.config.mcp.tools
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        Some(&self.config.tenant_schema).filter(|_| !self.is_bound())
    }

    fn shares_log(&self) -> bool {
        !self.config.store.log.is_empty()
    }
}

/// Print the settings that an assistant needs
#[derive(Debug, clap::Args)]
pub(super) struct McpConfig {
    /// The assistant
    client: Assistant,
    /// Use a running daemon over HTTP, which several machines can share, instead of starting a process
    #[arg(long)]
    http: bool,
}

impl McpConfig {
    /// The settings for MCP over HTTP. They refer to the token's file or to an environment variable instead
    /// of the token itself, because settings are often shared.
    fn over_http(&self, context: &CommandContext) -> Result<McpConfigOutput> {
        let config = context.config()?;
        let tenant = &context.globals.tenant;
        if !tenant.is_empty() {
            tenancy::check(&tenancy::parse_pairs(tenant)?, &config.tenant_schema)?;
        }
        if !config.mcp.http {
            return Err(Error::unavailable("MCP is not served over HTTP")
                .hint("set `http = true` under `[mcp]` in config.toml and start the daemon again"));
        }
        let url = match running(&context.paths, &config)? {
            Some(url) => url,
            None if config.rest.address.port() != 0 => format!("http://{}/mcp", config.rest.address),
            None => {
                return Err(Error::unavailable(
                    "the daemon chooses a free port when it starts, and it is not running",
                )
                .hint("start `poc-daemon`, or name a port in `address` under `[rest]` in config.toml"));
            }
        };
        let pairs = tenant
            .iter()
            .enumerate()
            .map(|(at, pair)| format!("{}tenant={}", if at == 0 { '?' } else { '&' }, percent_encoded(pair)));
        let url = url + &pairs.collect::<String>();
        let file = context.paths.model_token().display().to_string();
        let mut inputs = None;
        let server = match self.client {
            Assistant::ClaudeCode => {
                let text = format!(
                    "claude mcp add --transport http poc-memory {} --header \"Authorization: Bearer $(cat {})\"",
                    quoted(&url),
                    quoted(&file)
                );
                return Ok(McpConfigOutput { place: SHELL.into(), text });
            }
            Assistant::Cursor => {
                json!({ "url": url, "headers": { "Authorization": format!("Bearer ${{env:{TOKEN}}}") } })
            }
            Assistant::Codex => json!({ "url": url, "bearer_token_env_var": TOKEN }),
            Assistant::Vscode => {
                let about = format!("The token in {file}");
                // VS Code asks for it once and stores it encrypted.
                inputs = Some(json!([
                    { "type": "promptString", "id": INPUT, "description": about, "password": true }
                ]));
                let authorization = format!("Bearer ${{input:{INPUT}}}");
                json!({ "type": "http", "url": url, "headers": { "Authorization": authorization } })
            }
            Assistant::ClaudeDesktop | Assistant::Zed => {
                return Err(Error::invalid(format!(
                    "the settings of `{}` cannot refer to the token of an HTTP server",
                    self.client.name()
                ))
                .hint("leave `--http` out; the assistant then starts `poc-memory mcp`, which asks the daemon")
                .field("client"));
            }
        };
        let mut settings = self.client.settings_with(&server);
        if let (Value::Object(fields), Some(inputs)) = (&mut settings, inputs) {
            fields.insert("inputs".to_owned(), inputs);
        }
        self.pasted(&settings)
    }

    /// Settings to paste into the file of the assistant.
    fn pasted(&self, settings: &Value) -> Result<McpConfigOutput> {
        let text = self.client.settings_text(settings)?;
        Ok(McpConfigOutput { place: self.client.settings_place(), text })
    }
}

/// The environment variable from which clients read the token: `export POC_MEMORY_TOKEN=$(cat …/token)`.
const TOKEN: &str = "POC_MEMORY_TOKEN";

/// The name under which VS Code asks for the token.
const INPUT: &str = "poc-memory-token";

/// The place of a command.
const SHELL: &str = "shell";

/// The URL at which a running daemon serves MCP.
fn running(paths: &Paths, config: &Config) -> Result<Option<String>> {
    Ok(daemon_client::connect_with_status(paths, Some(config))?.and_then(|(_, status)| status.mcp))
}

/// The settings and where they belong.
#[derive(Debug, Serialize)]
pub(super) struct McpConfigOutput {
    /// The file, or `shell` for a command.
    place: String,
    text: String,
}

impl LocalCommand for McpConfig {
    const NAME: &'static str = "mcp config";
    const TENANTS: bool = true;
    const VERBATIM: bool = true;
    type Output = McpConfigOutput;

    fn run(self, context: &CommandContext) -> Result<McpConfigOutput> {
        if self.http {
            return self.over_http(context);
        }
        let invocation = Invocation::of(context, &["mcp"])?;
        let settings = match self.client {
            Assistant::ClaudeCode => {
                McpConfigOutput { place: SHELL.into(), text: claude_command(&invocation) }
            }
            client => self.pasted(&client.settings_with(&client.server_value(&invocation)))?,
        };
        if !context.paths.exists() {
            tracing::warn!("there is no profile `{}` yet", context.paths.profile());
        }
        Ok(settings)
    }

    fn show(snippet: &McpConfigOutput, _: &Terminal) -> String {
        format!("{}\n", snippet.text)
    }
}

/// The command with which Claude Code registers a server that it starts.
fn claude_command(Invocation { program, arguments, environment }: &Invocation) -> String {
    let words: Vec<String> = std::iter::once(program).chain(arguments).map(|word| quoted(word)).collect();
    // The option comes after the name, because before it, it would take the name as another variable.
    let environment: String = environment
        .iter()
        .map(|(name, value)| format!("--env {} ", quoted(&format!("{name}={value}"))))
        .collect();
    format!("claude mcp add poc-memory {environment}-- {}", words.join(" "))
}
