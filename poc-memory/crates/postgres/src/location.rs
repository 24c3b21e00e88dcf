//! The location of a log and the settings for reaching it.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure};
use crate::tls;
use poc_graph::error::{Error, Result};
use std::error::Error as _;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Time for the database and the network in addition to a time limit.
const GRACE: Duration = Duration::from_secs(2);

/// The values of `sslmode` for other clients, which check the certificate of the server only with these.
const VERIFYING_MODES: [&str; 2] = ["sslmode=verify-full", "sslmode=verify-ca"];

/// The settings that identify a log and describe how to reach it.
#[derive(Clone)]
pub struct LogSettings {
    /// The address of the database, `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub address: String,
    /// The name of the store in the database.
    pub store: String,
    /// The password of the database, if it needs one and it is not in a file.
    pub password: Option<String>,
    /// A file with the password. It is read for each connection, so that a changed password needs no restart.
    pub password_file: Option<PathBuf>,
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
    /// Without `sslmode` in the address, TLS is required unless the server is on this machine, where it is used only with
    /// a file of trusted authorities. Certificates are always checked, so `verify-ca` and `verify-full` are the same as
    /// `require`.
    ///
    /// # Errors
    /// `invalid_config` if the address is malformed or contains a password.
    pub fn new(settings: LogSettings) -> Result<LogLocation> {
        let malformed = |why: &str| {
            Error::config(format!("the address of the log {why}"))
                .hint("give `postgres://USER@HOST:PORT/DATABASE`")
        };
        let address = settings.address.trim();
        if !address.starts_with("postgres://") && !address.starts_with("postgresql://") {
            return Err(malformed("begins with neither `postgres://` nor `postgresql://`"));
        }
        let understood = VERIFYING_MODES
            .iter()
            .fold(address.to_owned(), |text, mode| text.replace(mode, "sslmode=require"));
        let mut config: Config = understood.parse().map_err(|error: tokio_postgres::Error| {
            // Only the source of the error says which part of the address is invalid.
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let error = malformed(&format!("cannot be read: {why}"));
            match address.contains("sslrootcert=") {
                true => error.hint("`ca-file` in `[store]` names the file with the trusted certificates"),
                false => error,
            }
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
            config.ssl_mode(match (is_local, &settings.ca_file) {
                (false, _) => SslMode::Require,
                (true, Some(_)) => SslMode::Prefer,
                // Public authorities issue no certificate for this machine, so a server with TLS, such as that of Debian,
                // would be refused.
                (true, None) => SslMode::Disable,
            });
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
    /// `unavailable` if the database does not answer within the time limit, `invalid_config` if the file of the password
    /// or of the authorities cannot be read, and errors of the database.
    pub(crate) fn connect(&self) -> Result<DatabaseClient> {
        let tls = tls::connector(self.settings.ca_file.as_deref())?;
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let limit = self.settings.connect_timeout * hosts + GRACE;
        let of = |error: DatabaseError| failure(self, &error);
        let mut config = self.config.clone();
        if let Some(file) = &self.settings.password_file {
            config.password(read_password(file)?);
        }
        let mut client = DatabaseClient::connect(&config, tls, limit).map_err(of)?;
        let timeout = format!("SET statement_timeout = {}", self.settings.timeout.as_millis());
        client.batch_execute(&timeout).map_err(of)?;
        client.limit_calls(self.time_limit());
        Ok(client)
    }
}

/// The password in a file, without the end of its line.
fn read_password(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::config(format!("`{}` cannot be read: {error}", file.display()))
            .hint("give a file with the password")
            .field("store.password-file")
    })?;
    Ok(text.trim_end().to_owned())
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
