//! Logging: to standard error, and to the file that `poc-memory daemon log` reads.

use crate::arguments::Arguments;
use crate::log_file::LogFile;
use poc_config::DaemonConfig;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use std::io::IsTerminal;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// Starts logging. When `RUST_LOG` is set, it overrides the level that the arguments choose. If the file cannot be written,
/// for example on a disk that is mounted for reading only, the log goes to standard error alone.
///
/// # Errors
/// `internal` when logging was started before.
pub(crate) fn start(arguments: &Arguments, paths: &Paths, config: &DaemonConfig) -> Result<()> {
    let path = paths.daemon_log();
    let (file, problem) = match LogFile::open(&path, config) {
        Ok(file) => (Some(file), None),
        Err(error) => (None, Some(format!("the log `{}` cannot be written: {error}", path.display()))),
    };
    // A target is a prefix: `poc_` is every crate of the workspace.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(match arguments.verbose {
            0 => "warn,poc_=info",
            1 => "info,poc_=debug",
            _ => "trace,sled=info",
        })
    });
    let terminal = std::io::stderr().is_terminal();
    // An internal error is printed to standard error, which panics if nobody reads it any more.
    let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = Vec::new();
    if arguments.log_json {
        layers.push(fmt::layer().json().log_internal_errors(false).with_writer(std::io::stderr).boxed());
        layers.extend(
            file.map(|file| fmt::layer().json().log_internal_errors(false).with_writer(file).boxed()),
        );
    } else {
        let plain = fmt::layer().with_target(false).log_internal_errors(false);
        layers.push(plain.with_ansi(terminal).with_writer(std::io::stderr).boxed());
        let plain = |file| {
            fmt::layer().with_target(false).log_internal_errors(false).with_ansi(false).with_writer(file)
        };
        layers.extend(file.map(|file| plain(file).boxed()));
    }
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
