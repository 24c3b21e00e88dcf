//! Logging: to standard error, and to the file that `poc-memory daemon log` reads.

mod file;

use file::LogFile;
use poc_config::DaemonConfig;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_memory::cli::DaemonArguments;
use std::io::IsTerminal;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// Starts logging. When `RUST_LOG` is set, it overrides the level that the arguments choose. If the file
/// cannot be written, for example on a disk that is mounted read-only, the log goes to standard error alone.
///
/// # Errors
/// `internal` when logging was started before.
pub(crate) fn start(arguments: &DaemonArguments, paths: &Paths, config: &DaemonConfig) -> Result<()> {
    let path = paths.daemon_log();
    let (file, problem) = match LogFile::open(&path, config) {
        Ok(file) => (Some(file), None),
        Err(error) => (None, Some(format!("the log `{}` cannot be written: {error}", path.display()))),
    };
    // Targets are prefixes, so `poc_` matches every crate of the workspace. `notify` warns each time a watched folder
    // is moved or deleted, and `rmcp` of every mistake of a client, which the server reports at the level debug.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(match arguments.verbose {
            0 => "warn,notify=error,rmcp=error,poc_=info",
            1 => "info,notify=error,rmcp=error,poc_=debug",
            _ => "trace,sled=info",
        })
    });
    let terminal = std::io::stderr().is_terminal();
    let mut layers = vec![layer(arguments.log_json, terminal, std::io::stderr)];
    layers.extend(file.map(|file| layer(arguments.log_json, false, file)));
    tracing_subscriber::registry()
        .with(layers)
        .with(filter)
        .try_init()
        .map_err(|error| Error::internal(format!("logging cannot start: {error}")))?;
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
    Ok(())
}

/// The layer that writes messages as JSON, or as text with or without colours.
fn layer(
    json: bool,
    ansi: bool,
    writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) -> Box<dyn Layer<Registry> + Send + Sync> {
    // The layer would print internal errors to standard error, which panics if that is closed.
    let layer = fmt::layer().log_internal_errors(false).with_writer(writer);
    if json { layer.json().boxed() } else { layer.with_target(false).with_ansi(ansi).boxed() }
}
