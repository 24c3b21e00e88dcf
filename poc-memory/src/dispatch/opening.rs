//! Opens a memory with the log that its settings name.

use poc_config::paths::Paths;
use poc_config::{Config, StoreConfig};
use poc_graph::error::{Error, Result};
use poc_graph::rng::SystemRng;
use poc_graph::time::SystemClock;
use poc_notes::Memory;
use poc_store::SharedLog;
use std::sync::Arc;

/// Opens the memory of a profile, and creates it if it does not exist.
///
/// # Errors
/// An error about a setting has the position of the setting in config.toml.
pub fn open_memory(paths: Paths, config: Config) -> Result<Memory> {
    let (clock, rng) = (Arc::new(SystemClock), Arc::new(SystemRng));
    let file = paths.config_file();
    let opened = match shared_log(&config.store) {
        Ok(Some(log)) => Memory::open_shared(paths, config, clock, rng, log),
        Ok(None) => Memory::open(paths, config, clock, rng),
        Err(error) => Err(error),
    };
    opened.map_err(|error| Config::locate(&file, error))
}

/// The shared log that settings name, for a new writer; `None` if they name none. Does not connect.
///
/// # Errors
/// `invalid_config` when an address is malformed, or when this program has no support for databases.
pub fn shared_log(settings: &StoreConfig) -> Result<Option<Arc<dyn SharedLog>>> {
    if settings.log.is_empty() {
        return Ok(None);
    }
    log_of(settings).map(Some)
}

#[cfg(feature = "postgres")]
fn log_of(settings: &StoreConfig) -> Result<Arc<dyn SharedLog>> {
    use poc_graph::rng::Rng as _;

    let mut writer = [0; 16];
    let (first, last) = writer.split_at_mut(8);
    first.copy_from_slice(&SystemRng.next_u64().to_le_bytes());
    last.copy_from_slice(&SystemRng.next_u64().to_le_bytes());
    let system = rustix::system::uname();
    let name = format!("{}, process {}", system.nodename().to_string_lossy(), std::process::id());
    Ok(Arc::new(poc_postgres::PostgresLog::new(location(settings)?, writer, name)))
}

/// Checks the address of the log and the name of the memory in it, if the settings name one, without the password and
/// without a connection.
///
/// # Errors
/// `invalid_config` when the address is malformed or the name is empty.
#[cfg(feature = "postgres")]
pub(super) fn check_log_address(settings: &StoreConfig) -> Result<()> {
    if settings.log.is_empty() {
        return Ok(());
    }
    location_with(settings, None).map(drop)
}

/// Accepts any address, in a build without support for databases, which opens none of them.
#[cfg(not(feature = "postgres"))]
pub(super) fn check_log_address(_: &StoreConfig) -> Result<()> {
    Ok(())
}

/// The path of a file in the settings; `None` if it is empty.
#[cfg(feature = "postgres")]
fn path(file: &str) -> Option<std::path::PathBuf> {
    (!file.is_empty()).then(|| std::path::PathBuf::from(file))
}

/// The location of the log that the settings name, including the password.
///
/// # Errors
/// `invalid_config` when the address is malformed or the name is empty.
#[cfg(feature = "postgres")]
fn location(settings: &StoreConfig) -> Result<poc_postgres::LogLocation> {
    // A file is read for each connection.
    let variable = settings.password_file.is_empty().then(|| std::env::var(&settings.password_env).ok());
    location_with(settings, variable.flatten().filter(|password| !password.is_empty()))
}

#[cfg(feature = "postgres")]
fn location_with(settings: &StoreConfig, password: Option<String>) -> Result<poc_postgres::LogLocation> {
    if settings.name.trim().is_empty() {
        return Err(Error::config("the memory in the database has no name")
            .hint("give a name such as `memory`")
            .field("store.name"));
    }
    poc_postgres::LogLocation::new(poc_postgres::LogSettings {
        address: settings.log.clone(),
        store: settings.name.clone(),
        password,
        password_file: path(&settings.password_file),
        ca_file: path(&settings.ca_file),
        connect_timeout: settings.connect_timeout.std(),
        timeout: settings.timeout.std(),
        poll: settings.poll.std(),
    })
    .map_err(|error| error.field("store.log"))
}

#[cfg(not(feature = "postgres"))]
fn log_of(_: &StoreConfig) -> Result<Arc<dyn SharedLog>> {
    Err(Error::config("this program was built without the feature `postgres`")
        .hint("leave `log` in `[store]` empty, or build the program with the feature `postgres`")
        .field("store.log"))
}

/// The result of `store init`.
#[derive(Debug)]
pub struct LogInit {
    /// Where the log is, without a password.
    pub address: String,
    /// The version of the tables before; 0 when there were none.
    pub from_version: i64,
    /// The version of the tables now; 0 when there are none.
    pub to_version: i64,
    /// Whether the memory is new in the database.
    pub is_new: bool,
    /// The number of its last change.
    pub head: u64,
}

/// Creates the tables in the database that the settings name, and adds the memory to it.
///
/// # Errors
/// `invalid_config` when the settings name no database, besides those of the database.
#[cfg(feature = "postgres")]
pub fn init_log(settings: &StoreConfig) -> Result<LogInit> {
    let location = location(settings)?;
    let done = poc_postgres::init(&location)?;
    Ok(LogInit {
        address: location.to_string(),
        from_version: done.from,
        to_version: done.to,
        is_new: done.is_new,
        head: done.head,
    })
}

/// Refuses to create tables, in a build without support for databases.
///
/// # Errors
/// Always `invalid_config`.
#[cfg(not(feature = "postgres"))]
pub fn init_log(settings: &StoreConfig) -> Result<LogInit> {
    log_of(settings).map(|log| LogInit {
        address: log.address(),
        from_version: 0,
        to_version: 0,
        is_new: false,
        head: 0,
    })
}
