//! A PostgreSQL server for a test, in a temporary folder, and proxies: one can withhold answers, the other cuts
//! connections.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

mod cutting_proxy;

pub use cutting_proxy::{Cut, CutPoint, CuttingProxy};

use poc_graph::testing::memory_folder;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user `nobody`, because PostgreSQL refuses to run as root.
const NOBODY: &str = "65534";

/// Maximum time that a server needs to read its changed files.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server, reached through a socket in its folder. Dropping it stops the server.
pub struct TestServer {
    programs: PathBuf,
    folder: TempDir,
    /// Whether the server syncs its files. Without syncing, data survives a crash of the server, but not of the
    /// machine.
    syncs: bool,
    /// If it requires TLS, the port at which it is reached on this machine.
    tls_port: Option<u16>,
}

impl TestServer {
    /// Starts a server. Returns `None` and prints that the test is skipped if PostgreSQL is not installed.
    pub fn start() -> Option<TestServer> {
        TestServer::start_with(false)
    }

    /// Like [`TestServer::start`], with or without syncing files.
    pub fn start_with(syncs: bool) -> Option<TestServer> {
        let Some(programs) = programs() else {
            print_skipped("PostgreSQL is not installed (`apt-get install postgresql`)");
            return None;
        };
        let server = TestServer { programs, folder: new_folder(syncs), syncs, tls_port: None };
        server.create();
        server.resume();
        Some(server)
    }

    /// Starts a server that is also reached with TLS. Its certificate is of a new authority. Returns `None` and prints
    /// that the test is skipped if PostgreSQL or `openssl` is not installed.
    pub fn start_with_tls() -> Option<TestServer> {
        let programs = programs().filter(|_| {
            let version = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
            version.is_ok_and(|status| status.success())
        });
        let Some(programs) = programs else {
            print_skipped("PostgreSQL or OpenSSL is not installed (`apt-get install postgresql openssl`)");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = TestServer { programs, folder: new_folder(false), syncs: false, tls_port: Some(port) };
        server.create();
        let openssl = |arguments: &str| {
            let mut command = server.command_of(Path::new("openssl"));
            run(command.current_dir(server.data()).args(arguments.split(' ')).stderr(Stdio::null()));
        };
        openssl(
            "req -new -x509 -newkey rsa:2048 -days 30 -nodes -subj /CN=authority -keyout ca.key -out ca.crt \
             -addext basicConstraints=critical,CA:TRUE",
        );
        openssl("req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr");
        std::fs::write(server.folder.path().join("names"), "subjectAltName=DNS:localhost\n").unwrap();
        openssl(
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile ../names \
             -out server.crt",
        );
        server.resume();
        Some(server)
    }

    /// Creates the files of a server. They are copies of those of an earlier test, because `initdb` takes a second of
    /// processor time.
    fn create(&self) {
        let (data, template) = (self.data(), template_of(&self.programs));
        if copy_folder(&template, &data) {
            if rustix::process::geteuid().is_root() {
                // Another user may have created them.
                run(Command::new("chown").args(["-R", NOBODY]).arg(&data));
            }
            return;
        }
        run(self
            .command("initdb")
            .args(["--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "-D"])
            .arg(&data));
        // Other tests must not see an incomplete copy.
        if let Some(parent) = template.parent()
            && let Ok(incomplete) = tempfile::tempdir_in(parent)
            && copy_folder(&data, &incomplete.path().join("data"))
        {
            // Another test may have been faster.
            let _ = std::fs::rename(incomplete.path().join("data"), &template);
        }
    }

    /// Starts a replica of the server. From then on, a commit also waits until the replica has it on disk.
    pub fn start_replica(&self) -> TestServer {
        let programs = self.programs.clone();
        let replica =
            TestServer { programs, folder: new_folder(self.syncs), syncs: self.syncs, tls_port: None };
        let (source, data) = (self.folder.path(), replica.data());
        run(replica
            .command("pg_basebackup")
            .args(["-U", "test", "-R", "-X", "stream", "--checkpoint=fast", "--no-sync", "-h"])
            .arg(source)
            .arg("-D")
            .arg(data));
        replica.resume();
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.execute("SELECT pg_reload_conf()");
        replica
    }

    /// Makes a replica accept writes.
    pub fn promote(&self) {
        run(self.command("pg_ctl").args(["-w", "-D"]).arg(self.data()).arg("promote"));
    }

    /// Starts the server again.
    pub fn resume(&self) {
        let socket = self.folder.path().display();
        let fsync = if self.syncs { "on" } else { "off" };
        let tls = match self.tls_port {
            Some(port) => format!("-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on"),
            None => "-c listen_addresses=''".to_owned(),
        };
        let options = format!("{tls} -c unix_socket_directories={socket} -c fsync={fsync}");
        let log = self.folder.path().join("log");
        run(self
            .command("pg_ctl")
            .args(["-w", "-o", &options, "-l"])
            .arg(log)
            .arg("-D")
            .arg(self.data())
            .arg("start"));
    }

    /// Kills the server, as in a crash.
    pub fn crash(&self) {
        run(self.command("pg_ctl").args(["-w", "-m", "immediate", "-D"]).arg(self.data()).arg("stop"));
    }

    /// The address of the server's database.
    pub fn address(&self) -> String {
        address(&[self.folder.path()])
    }

    /// The address of the database of this server or its replica, whichever accepts writes.
    pub fn address_with(&self, replica: &TestServer) -> String {
        let folders = [self.folder.path(), replica.folder.path()];
        format!("{}?target_session_attrs=read-write", address(&folders))
    }

    /// The address of the server's database over TLS.
    pub fn tls_address(&self) -> String {
        format!("postgres://test@localhost:{}/postgres?sslmode=require", self.port())
    }

    /// A file with the certificate of the server's authority.
    pub fn authority(&self) -> PathBuf {
        let copy = self.folder.path().join("authority.crt");
        std::fs::copy(self.data().join("ca.crt"), &copy).unwrap();
        copy
    }

    fn port(&self) -> u16 {
        self.tls_port.unwrap_or(5432)
    }

    /// The socket of the server.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port()))
    }

    /// Runs an SQL statement.
    pub fn execute(&self, statement: &str) {
        run(&mut self.query(statement));
    }

    fn query(&self, statement: &str) -> Command {
        let mut command = self.command("psql");
        let port = self.port().to_string();
        command.arg("-h").arg(self.folder.path());
        command.args(["-w", "-U", "test", "-d", "postgres", "-p", &port, "-c", statement]);
        command
    }

    /// Makes the server accept only connections with this password. [`TestServer::execute`] fails from then on.
    pub fn require_password(&self, password: &str) {
        self.execute(&format!("ALTER ROLE test PASSWORD '{password}'"));
        self.execute(
            "DO $$ BEGIN EXECUTE format('COPY (SELECT %L) TO %L', 'local all all scram-sha-256', \
             current_setting('hba_file')); END $$",
        );
        self.execute("SELECT pg_reload_conf()");
        // The server reads its files some time after this statement.
        let is_accepted = || {
            let mut query = self.query("SELECT 1");
            let query = query.env_remove("PGPASSWORD").stdout(Stdio::null()).stderr(Stdio::null());
            query.status().unwrap().success()
        };
        let deadline = Instant::now() + RELOAD_TIMEOUT;
        while is_accepted() {
            assert!(Instant::now() < deadline, "the server does not ask for a password");
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        self.command_of(&self.programs.join(program))
    }

    /// A program that runs as the user of the server, in its folder.
    fn command_of(&self, program: &Path) -> Command {
        let mut command = if rustix::process::geteuid().is_root() {
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

/// The address of a database whose sockets are in these folders.
fn address(folders: &[&Path]) -> String {
    let folders: Vec<String> =
        folders.iter().map(|folder| folder.display().to_string().replace('/', "%2F")).collect();
    format!("postgres://test@{}/postgres", folders.join(","))
}

/// The folder beside the program of the tests that has the files of a new server of this version.
fn template_of(programs: &Path) -> PathBuf {
    let version = Command::new(programs.join("postgres")).arg("--version").output().unwrap().stdout;
    let in_name =
        |byte: u8| if byte.is_ascii_alphanumeric() || byte == b'.' { char::from(byte) } else { '-' };
    let name: String = version.trim_ascii().iter().map(|byte| in_name(*byte)).collect();
    std::env::current_exe().unwrap().with_file_name(name)
}

/// Copies a folder with its owners. Returns whether there was one that could be copied: that of another user cannot.
fn copy_folder(from: &Path, to: &Path) -> bool {
    let mut copy = Command::new("cp");
    copy.arg("-a").args([from, to]).stderr(Stdio::null());
    let is_copied = from.exists() && copy.status().is_ok_and(|status| status.success());
    if !is_copied {
        let _ = std::fs::remove_dir_all(to);
    }
    is_copied
}

/// A folder for the files of a server, which does not run as root. If the server does not sync them, they are in memory
/// where that is possible: creating a thousand files on a disk takes longer than most tests.
fn new_folder(syncs: bool) -> TempDir {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("poc-pg-");
    let in_memory = memory_folder().filter(|_| !syncs).and_then(|memory| builder.tempdir_in(memory).ok());
    let folder = in_memory.unwrap_or_else(|| builder.tempdir().unwrap());
    if rustix::process::geteuid().is_root() {
        run(Command::new("chown").arg(NOBODY).arg(folder.path()));
    }
    folder
}

/// Forwards connections to a server. While it is silent, it accepts everything and answers nothing, like a server that
/// is suspended.
pub struct Proxy {
    folder: TempDir,
    is_silent: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts forwarding to a server.
    pub fn start(server: &TestServer) -> Proxy {
        let folder = poc_graph::testing::folder();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (target, is_silent) = (server.socket(), Arc::new(AtomicBool::default()));
        let silent = is_silent.clone();
        // The threads end with the process, or with their connections.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&target) else { continue };
                forward(client.try_clone().unwrap(), server.try_clone().unwrap(), silent.clone());
                forward(server, client, silent.clone());
            }
        });
        Proxy { folder, is_silent }
    }

    /// The address of the server's database through the proxy.
    pub fn address(&self) -> String {
        address(&[self.folder.path()])
    }

    /// Sets whether it is silent.
    pub fn silence(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::SeqCst);
    }
}

/// Forwards one direction of a connection.
fn forward(mut from: UnixStream, mut to: UnixStream, is_silent: Arc<AtomicBool>) {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if !is_silent.load(Ordering::SeqCst) && to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
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
    // The server keeps its outputs open, so they must not be pipes.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// Prints why a test is skipped.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn print_skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// The folder with PostgreSQL's programs: of the newest version installed from Debian's packages, or the one in the
/// path.
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
