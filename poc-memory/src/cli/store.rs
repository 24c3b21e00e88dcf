//! `store init` and `store copy`: the log in a database.

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::progress;
use crate::dispatch::{self, LogInit};
use crate::ops::{Progress, Terminal, plural};
use poc_config::paths::Paths;
use poc_config::{Config, StoreConfig};
use poc_graph::error::{Error, Result};
use poc_notes::resolve::quoted;
use poc_store::{CopyStart, SharedLog, Store, copy_log, require_continued};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The command that creates a memory in a database, as errors name it.
const INIT: &str = "poc-memory store init";

/// Create the tables of a shared log in a database, and add this memory to it
///
/// The database and the role must exist. The tables are created, or upgraded to the version of this release; their
/// contents stay. One database can hold many memories: `name` in `[store]` names this one.
#[derive(Debug, clap::Args)]
pub(super) struct StoreInit {
    /// The database to use instead of `log` in `[store]`: `postgres://USER@HOST:PORT/DATABASE`
    #[arg(long, value_name = "ADDRESS")]
    log: Option<String>,
    /// The name of the memory to use instead of `name` in `[store]`
    #[arg(long)]
    name: Option<String>,
}

/// The answer of `store init`.
#[derive(Debug, Serialize)]
pub(super) struct StoreInitOutput {
    /// The database and the name of the memory, without the password.
    address: String,
    /// The version of the tables before; 0 when there were none.
    from_version: i64,
    to_version: i64,
    /// Whether the memory is new in the database.
    new: bool,
    /// The number of its last change.
    head: u64,
}

impl LocalCommand for StoreInit {
    const NAME: &'static str = "store init";
    type Output = StoreInitOutput;

    fn run(self, context: &CommandContext) -> Result<StoreInitOutput> {
        let is_of_file = self.log.is_none();
        let settings = settings(context, self.log, self.name)?;
        if settings.log.is_empty() {
            return Err(Error::invalid("no database is named")
                .hint("give `--log postgres://USER@HOST:PORT/DATABASE`, or set `store.log` in config.toml")
                .field("log"));
        }
        let located = |error| match is_of_file {
            true => Config::locate(&context.paths.config_file(), error),
            false => of_option(error, "log"),
        };
        let done = dispatch::init_log(&settings).map_err(located)?;
        let LogInit { address, from_version, to_version, is_new: new, head } = done;
        Ok(StoreInitOutput { address, from_version, to_version, new, head })
    }

    fn show(done: &StoreInitOutput, _: &Terminal) -> String {
        let tables = match done.from_version {
            0 => "tables created".to_owned(),
            from if from == done.to_version => "tables are up to date".to_owned(),
            from => format!("tables upgraded from version {from} to {}", done.to_version),
        };
        let memory = if done.new { "the memory is new" } else { "the memory already existed" };
        format!("{}: {tables}, {memory}, {}\n", done.address, plural(done.head, "change"))
    }
}

/// Copy a memory with its history to a database or back
///
/// The log is copied record for record, so exports are equal byte for byte. The source may be in use and does
/// not change. A repeated copy continues where the last one ended. A first copy cannot be used before it is
/// complete. A folder is the root folder of a memory, as in `POC_MEMORY_HOME`.
#[derive(Debug, clap::Args)]
pub(super) struct StoreCopy {
    /// A folder, or `postgres://USER@HOST:PORT/DATABASE`
    #[arg(long, value_name = "STORE")]
    from: String,
    /// A database if the source is a folder, and a folder if it is a database
    #[arg(long, value_name = "STORE")]
    to: String,
    /// The name of the memory in the database instead of `name` in `[store]`
    #[arg(long)]
    name: Option<String>,
}

/// The answer of `store copy`.
#[derive(Debug, Serialize)]
pub(super) struct StoreCopyOutput {
    from: String,
    to: String,
    /// The number of the last change.
    head: u64,
}

impl LocalCommand for StoreCopy {
    const NAME: &'static str = "store copy";
    type Output = StoreCopyOutput;

    fn run(self, context: &CommandContext) -> Result<StoreCopyOutput> {
        let StoreCopy { from, to, name } = self;
        match (is_database(&from), is_database(&to)) {
            (false, true) => {
                let settings = settings(context, Some(to), name)?;
                let log = log(&settings).map_err(|error| of_option(error, "to"))?;
                let folder = store_folder(&from);
                if !Store::exists(&folder) {
                    return Err(Error::not_found(format!("`{}` contains no memory", folder.display()))
                        .hint("give the root folder of a memory, as in `POC_MEMORY_HOME`")
                        .field("from"));
                }
                let bar = progress::Bar::new(&context.globals);
                let copied = copy_log(&folder, log.as_ref(), &|done, total| {
                    bar.show(&Progress { what: "changes".into(), done, total: Some(total) });
                });
                bar.clear();
                let head = copied.map_err(|error| with_init_options(error, &settings))?;
                Ok(StoreCopyOutput { from, to: log.address(), head })
            }
            (true, false) => {
                let settings = settings(context, Some(from), name)?;
                let log = log(&settings).map_err(|error| of_option(error, "from"))?;
                // No folder is created if the database cannot be reached or does not have the memory.
                log.head().map_err(|error| with_init_options(error, &settings))?;
                let paths = Paths::in_folder(Path::new(&to));
                paths.create()?;
                let from = log.address();
                let head = copy_into(&paths.store(), log)?;
                Ok(StoreCopyOutput { from, to, head })
            }
            _ => Err(Error::invalid("one of `--from` and `--to` is a database, the other a folder")
                .hint("to copy a folder, use `backup` and `restore`")
                .field("to")),
        }
    }

    fn show(done: &StoreCopyOutput, _: &Terminal) -> String {
        let changes = plural(done.head, "change");
        format!("copied {changes} from {} to {}\n", done.from, done.to)
    }
}

/// Copies a shared log into the folder of a store, and returns the number of the last change. A new store gets its name
/// when it is complete. After an interruption, the next copy continues. The history of an earlier copy is never
/// dropped.
fn copy_into(folder: &Path, log: Arc<dyn SharedLog>) -> Result<u64> {
    let is_new = !Store::exists(folder);
    let target = if is_new { folder.with_extension("partial") } else { folder.to_owned() };
    if !is_new {
        require_continued(folder, log.as_ref())?;
    }
    let store = Store::open_shared(&target, "", Vec::new(), log, CopyStart::History)?;
    store.checkpoint()?;
    let head = store.last_seq();
    drop(store);
    if is_new {
        std::fs::rename(&target, folder).map_err(|error| {
            Error::unavailable(format!("`{}` cannot be renamed: {error}", target.display()))
                .hint(format!("`{}` must be empty", folder.display()))
        })?;
    }
    Ok(head)
}

fn is_database(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

fn store_folder(home: &str) -> PathBuf {
    Paths::in_folder(Path::new(home)).store()
}

/// The section `[store]` with the options of the command line.
fn settings(context: &CommandContext, log: Option<String>, name: Option<String>) -> Result<StoreConfig> {
    let own = context.config()?.store;
    Ok(StoreConfig { log: log.unwrap_or(own.log), name: name.unwrap_or(own.name), ..own })
}

/// An error of a setting that an option may replace. `option` replaces the address.
fn of_option(error: Error, option: &str) -> Error {
    let field = error.at.as_ref().and_then(|place| place.field.clone());
    match field.as_deref() {
        Some("store.log") => error.field(option),
        Some("store.name") => error.field("name"),
        _ => error,
    }
}

/// An error whose hint, if it names `store init`, gives the address and the name that the options of a copy gave.
fn with_init_options(error: Error, settings: &StoreConfig) -> Error {
    let command = format!("`{INIT} --log {} --name {}`", quoted(&settings.log), quoted(&settings.name));
    let hint = error.hint.map(|hint| hint.replace(&format!("`{INIT}`"), &command));
    Error { hint, ..error }
}

fn log(settings: &StoreConfig) -> Result<Arc<dyn SharedLog>> {
    dispatch::shared_log(settings)?.ok_or_else(|| Error::internal("no database is named"))
}
