//! The location of a log and the settings for reaching it.

use crate::database_client::DatabaseClient;
use crate::error::{DatabaseError, failure};
use crate::tls;
use poc_graph::error::{Error, Result};
use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Time for the database and the network in addition to a time limit.
const GRACE: Duration = Duration::from_secs(2);

/// The options with which other clients check the certificate of the server. This client always checks it.
const VERIFYING_OPTIONS: [&str; 2] = ["sslmode=verify-full", "sslmode=verify-ca"];

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
    /// Without `sslmode` in the address, TLS is required unless all servers are on this machine. There, it is used only
    /// with a file of trusted authorities. The certificate of a server and the name in it are checked whenever TLS is
    /// used, so `verify-ca` and `verify-full` are the same as `require`.
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
        let (base, mut options) = split_options(address);
        let is_preferred = options.contains(&"sslmode=prefer");
        for option in &mut options {
            if VERIFYING_OPTIONS.contains(option) {
                *option = "sslmode=require";
            }
        }
        let understood = with_options(base, &options);
        let mut config: Config = understood.parse().map_err(|error: tokio_postgres::Error| {
            // Only the source of the error says which part of the address is invalid.
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let error = malformed(&format!("cannot be read: {why}"));
            match options.iter().any(|option| option.starts_with("sslrootcert=")) {
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
        // The client library prefers TLS if the address does not say otherwise.
        if config.get_ssl_mode() == SslMode::Prefer && !is_preferred {
            config.ssl_mode(match (is_on_this_machine(&config), &settings.ca_file) {
                (false, _) => SslMode::Require,
                (true, Some(_)) => SslMode::Prefer,
                // Public authorities issue no certificate for this machine, so a server with TLS, such as that of
                // Debian, would be refused.
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
        let text = format!("{}#{}", with_places(address), settings.store);
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
    /// `unavailable` if the database does not answer within the time limit or refuses the login, or if the file of the
    /// password cannot be read; `invalid_config` if that of the authorities cannot be read; and errors of the database.
    pub(crate) fn connect(&self) -> Result<DatabaseClient> {
        let tls = tls::connector(self.settings.ca_file.as_deref())?;
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        let limit = self.settings.connect_timeout * hosts + GRACE;
        let of = |error: DatabaseError| failure(self, &error);
        let mut config = self.config.clone();
        if let Some(file) = &self.settings.password_file {
            let password = read_password(file)?;
            // Without a password, the error says that one is missing.
            if !password.is_empty() {
                config.password(password);
            }
        }
        let mut client = DatabaseClient::connect(&config, tls, limit).map_err(of)?;
        let timeout = format!("SET statement_timeout = {}", self.settings.timeout.as_millis());
        client.batch_execute(&timeout).map_err(of)?;
        client.limit_calls(self.time_limit());
        Ok(client)
    }
}

/// Whether all servers are on this machine. `hostaddr` in an address replaces the address of its host.
fn is_on_this_machine(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The password in a file, without white space at its end.
///
/// # Errors
/// `unavailable` if the file cannot be read. It may be in the process of being replaced.
fn read_password(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::unavailable(format!("`{}` cannot be read: {error}", file.display()))
            .hint("give a file with the password")
            .field("store.password-file")
    })?;
    Ok(text.trim_end().to_owned())
}

/// An address without its options, and the options.
fn split_options(address: &str) -> (&str, Vec<&str>) {
    let (base, options) = address.split_once('?').unwrap_or((address, ""));
    (base, options.split('&').filter(|option| !option.is_empty()).collect())
}

/// An address with options.
fn with_options(base: &str, options: &[&str]) -> String {
    match options.is_empty() {
        true => base.to_owned(),
        false => format!("{base}?{}", options.join("&")),
    }
}

/// An address, which has no password, with only those of its options that say where the server is.
fn with_places(address: &str) -> String {
    let (base, mut options) = split_options(address);
    options.retain(|option| matches!(option.split_once('='), Some(("host" | "hostaddr" | "port", _))));
    with_options(base, &options)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::settings_without_address;

    #[test]
    fn tls_is_required_for_other_machines() {
        let mode = |address: &str| {
            let address = format!("postgres://me@{address}");
            let settings = LogSettings { address, ..settings_without_address("a") };
            LogLocation::new(settings).unwrap().config.get_ssl_mode()
        };
        for local in ["localhost/db", "127.0.0.1/db", "[::1]/db", "%2Frun%2Fpostgresql/db"] {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }
        for other in [
            "db.example.org/db",
            "localhost,db.example.org/db",
            "localhost/db?host=db.example.org",
            "localhost/db?hostaddr=10.0.0.5",
            "db.example.org/sslmode=prefer",
            "db.example.org/db?application_name=sslmode=prefer",
            "db.example.org/db?sslmode=verify-full",
            "localhost/db?sslmode=verify-ca",
            "localhost/db?sslmode=require",
        ] {
            assert_eq!(mode(other), SslMode::Require, "{other}");
        }
        assert_eq!(mode("db.example.org/db?sslmode=prefer"), SslMode::Prefer);
        assert_eq!(mode("db.example.org/db?sslmode=disable"), SslMode::Disable);
    }
}
