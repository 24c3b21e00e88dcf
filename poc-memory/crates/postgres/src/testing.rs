//! A PostgreSQL server of a test, in a temporary folder.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The user `nobody`: a server does not run as root.
const NOBODY: &str = "65534";

/// A running server that is reached through a socket in its folder. Dropping it stops it.
pub struct TestServer {
    programs: PathBuf,
    folder: TempDir,
    /// Whether it syncs. What a server has written survives its own end also without.
    syncs: bool,
}

impl TestServer {
    /// Starts a server; `None` where PostgreSQL is not installed, with a message that the test is skipped.
    pub fn start() -> Option<TestServer> {
        TestServer::start_with(false)
    }

    /// The same with a server that syncs its files or not.
    pub fn start_with(syncs: bool) -> Option<TestServer> {
        let Some(programs) = programs() else {
            #[allow(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!("skipped: PostgreSQL is not installed (`apt-get install postgresql`)");
            }
            return None;
        };
        let folder = tempfile::Builder::new().prefix("poc-pg-").tempdir().unwrap();
        if is_root() {
            run(Command::new("chown").arg(NOBODY).arg(folder.path()));
        }
        let server = TestServer { programs, folder, syncs };
        let data = server.data();
        run(server
            .command("initdb")
            .args(["--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "-D"])
            .arg(&data));
        server.resume();
        Some(server)
    }

    /// Starts it again.
    pub fn resume(&self) {
        let socket = self.folder.path().display();
        let fsync = if self.syncs { "on" } else { "off" };
        let options = format!("-c listen_addresses='' -c unix_socket_directories={socket} -c fsync={fsync}");
        let log = self.folder.path().join("log");
        run(self
            .command("pg_ctl")
            .args(["-w", "-o", &options, "-l"])
            .arg(log)
            .arg("-D")
            .arg(self.data())
            .arg("start"));
    }

    /// Ends it as a crash does.
    pub fn crash(&self) {
        run(self.command("pg_ctl").args(["-w", "-m", "immediate", "-D"]).arg(self.data()).arg("stop"));
    }

    /// The address of its database.
    pub fn address(&self) -> String {
        let socket = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://test@{socket}/postgres")
    }

    /// Runs a statement.
    pub fn execute(&self, statement: &str) {
        run(self
            .command("psql")
            .arg("-h")
            .arg(self.folder.path())
            .args(["-U", "test", "-d", "postgres", "-c", statement]));
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-w", "-m", "immediate", "-D"]).arg(self.data()).arg("stop");
        stop.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}

#[track_caller]
fn run(command: &mut Command) {
    // A server that is started keeps its outputs open, so they are no pipes.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// The folder of the programs: of the newest version that Debian's packages have, or of the path.
fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    let of_path = std::env::var_os("PATH").unwrap_or_default();
    folders.splice(0..0, std::env::split_paths(&of_path));
    folders.into_iter().rev().find(|folder| has_programs(folder))
}

fn has_programs(folder: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|program| folder.join(program).exists())
}
