//! The location of a log and the settings for reaching it.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure};
use crate::tls;
use poc_graph::error::{Error, Result};
use std::error::Error as _;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Time for the database and the network in addition to a time limit.
const GRACE: Duration = Duration::from_secs(2);

/// The settings that identify a log and describe how to reach it.
#[derive(Clone)]
pub struct LogSettings {
    /// The address of the database, `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub address: String,
    /// The name of the store in the database.
    pub store: String,
    /// The password of the database, if it needs one.
    pub password: Option<String>,
    /// A file with certificates of trusted authorities in PEM format; `None` for the public ones.
    pub ca_file: Option<PathBuf>,
    /// Time limit for establishing a connection.
    pub connect_timeout: Duration,
    /// Time limit for a statement.
    pub timeout: Duration,
    /// The interval at which the database is polled, because notifications may be lost or not supported.
    pub poll: Duration,
}

/// The validated location of a log. Its text form has no password.
#[derive(Clone)]
pub struct LogLocation {
    config: Config,
    /// The address and the name of the store, without a password.
    text: String,
    settings: LogSettings,
}

impl LogLocation {
    /// Validates settings. Does not connect.
    ///
    /// Without `sslmode` in the address, TLS is required unless the server is on this machine.
    ///
    /// # Errors
    /// `invalid_config` if the address is malformed or contains a password.
    pub fn new(settings: LogSettings) -> Result<LogLocation> {
        let malformed = |why: &str| {
            Error::config(format!("the address of the log {why}"))
                .hint("`log` in `[store]` is `postgres://USER@HOST:PORT/DATABASE`")
        };
        let address = settings.address.trim();
        if !address.starts_with("postgres://") && !address.starts_with("postgresql://") {
            return Err(malformed("begins with neither `postgres://` nor `postgresql://`"));
        }
        let mut config: Config = address.parse().map_err(|error: tokio_postgres::Error| {
            // Only the source of the error says which part of the address is invalid.
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            malformed(&format!("cannot be read: {why}"))
        })?;
        if config.get_password().is_some() {
            return Err(malformed("contains a password").hint(
                "put the password into the variable that `password-env` names, or into a file that `password-file` names",
            ));
        }
        if config.get_hosts().is_empty() {
            return Err(malformed("names no host"));
        }
        let is_local = |host: &Host| match host {
            Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
            Host::Unix(_) => true,
        };
        if !address.contains("sslmode=") {
            let is_local = config.get_hosts().iter().all(is_local);
            config.ssl_mode(if is_local { SslMode::Prefer } else { SslMode::Require });
        }
        if let Some(password) = &settings.password {
            config.password(password);
        }
        config.application_name("poc-memory");
        config.connect_timeout(settings.connect_timeout);
        config.tcp_user_timeout(settings.timeout);
        config.keepalives_idle(settings.timeout);
        let text = format!("{}#{}", without_options(address), settings.store);
        Ok(LogLocation { config, text, settings })
    }

    /// The name of the store in the database.
    pub(crate) fn store(&self) -> &str {
        &self.settings.store
    }

    /// The interval at which the database is polled.
    pub(crate) fn poll(&self) -> Duration {
        self.settings.poll
    }

    /// The time after which a statement counts as failed.
    pub(crate) fn time_limit(&self) -> Duration {
        self.settings.timeout + GRACE
    }

    /// Opens a connection. Its calls together have the time of a statement, until they get another limit.
    ///
    /// # Errors
    /// `unavailable` if the database does not answer within the time limit, and errors of the database.
    pub(crate) fn connect(&self) -> Result<DatabaseClient> {
        let tls = tls::connector(self.settings.ca_file.as_deref())?;
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let limit = self.settings.connect_timeout * hosts + GRACE;
        let of = |error: DatabaseError| failure(self, &error);
        let mut client = DatabaseClient::connect(&self.config, tls, limit).map_err(of)?;
        let timeout = format!("SET statement_timeout = {}", self.settings.timeout.as_millis());
        client.batch_execute(&timeout).map_err(of)?;
        client.limit_calls(self.time_limit());
        Ok(client)
    }
}

/// An address, which has no password, with only those of its options that say where the server is.
fn without_options(address: &str) -> String {
    let (base, options) = address.split_once('?').unwrap_or((address, ""));
    let is_place = |option: &&str| matches!(option.split_once('='), Some(("host" | "hostaddr" | "port", _)));
    let places: Vec<&str> = options.split('&').filter(is_place).collect();
    match places.is_empty() {
        true => base.to_owned(),
        false => format!("{base}?{}", places.join("&")),
    }
}

impl fmt::Display for LogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for LogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogLocation").field(&self.text).finish()
    }
}
