//! One run of the program: its global options and the paths of its profile.

use super::globals::Globals;
use super::output;
use super::pipeline_problems;
use crate::dispatch;
use crate::ops::{min_seq, tenancy};
use clap::builder::styling::Style;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::Result;
use serde_json::Value;

/// One run of the program.
#[derive(Clone)]
pub(super) struct CommandContext {
    pub(super) globals: Globals,
    pub(super) paths: Paths,
}

impl CommandContext {
    pub(super) fn new(globals: Globals) -> Result<CommandContext> {
        let paths = Paths::from_environment(globals.profile.as_deref())?;
        Ok(CommandContext { globals, paths })
    }

    /// Adds the global arguments to a request: the tenant, unless the request has one, and the number of the
    /// change that must be visible.
    pub(super) fn with_global_arguments(&self, mut request: Value) -> Result<Value> {
        if let Value::Object(fields) = &mut request
            && !self.globals.tenant.is_empty()
            && !fields.contains_key(tenancy::FIELD)
        {
            fields.insert(tenancy::FIELD.into(), tenancy::parse_pairs(&self.globals.tenant)?);
        }
        if let (Value::Object(fields), Some(seq)) = (&mut request, self.globals.min_seq) {
            fields.entry(min_seq::FIELD).or_insert(seq.into());
        }
        Ok(request)
    }

    /// Prints to standard output before the answer is complete. Prints nothing if the answer is JSON.
    pub(super) fn print(&self, text: &str) -> Result<()> {
        if self.globals.json { Ok(()) } else { output::write_answer(&mut std::io::stdout().lock(), text) }
    }

    /// The style of headings on standard output.
    pub(super) fn heading(&self) -> Style {
        if self.globals.colors(&std::io::stdout()) { Style::new().bold() } else { Style::new() }
    }

    /// The settings.
    ///
    /// # Errors
    /// All mistakes. Errors in pipelines are only reported together with other mistakes, because they matter only to
    /// commands that use these pipelines.
    pub(super) fn config(&self) -> Result<Config> {
        let mut read = dispatch::load_settings_with_mistakes(&self.paths.config_file())?;
        if !read.mistakes.is_empty() {
            let problems = pipeline_problems::besides_mistakes(&read);
            read.mistakes.extend(problems);
        }
        read.into_result()
    }
}

/// Starts logging to standard error: warnings by default, more with `-v`, only errors with `-q`. `RUST_LOG`
/// overrides both.
pub(super) fn start_logging(globals: &Globals) {
    use tracing_subscriber::EnvFilter;
    // Targets are prefixes, so `poc_` matches every crate of the workspace. `rmcp` warns of every mistake of a client,
    // which the server reports at the level debug.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(match (globals.quiet, globals.verbose) {
            (true, _) => "error",
            (false, 0) => "warn,rmcp=error",
            (false, 1) => "warn,rmcp=error,poc_=info",
            (false, 2) => "info,rmcp=error,poc_=debug",
            (false, _) => "trace,sled=info",
        })
    });
    // Failing is fine: logging was already started in this process. Internal errors are switched off, because
    // printing them panics if standard error is closed.
    let _ = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_target(false)
        .without_time()
        .with_ansi(globals.colors(&std::io::stderr()))
        .with_writer(std::io::stderr)
        .try_init();
}
