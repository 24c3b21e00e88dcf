//! A temporary home folder for one test, in which the real binaries run.

use super::deadline::Deadline;
use poc_graph::testing::fake_clock;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How long a test waits for something that must happen soon.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// A temporary home and, once started, its daemon. Dropping it kills the daemon.
pub(crate) struct World {
    home: TempDir,
    // Contains the home and the temporary files of the programs. A daemon watches the folder that contains its home,
    // and watching the folder of all temporary files is slow: the kernel visits every name that was ever looked up in
    // it.
    parent: TempDir,
    daemon: Option<Child>,
    // The embedder, unless the settings name it.
    embedder: Option<&'static str>,
    disk: Option<SmallDisk>,
    environment: Vec<(String, String)>,
}

/// A small filesystem in memory that only this process and the programs of the test see. It needs no privileges, but
/// user namespaces.
struct SmallDisk {
    /// It lives in the namespace until its input ends.
    keeper: Child,
}

impl SmallDisk {
    fn mount(folder: &Path, mebibytes: u32) -> Option<SmallDisk> {
        let script = format!("mount -t tmpfs -o size={mebibytes}m tmpfs \"$0\" && echo mounted && exec cat");
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(keeper.stdout.as_mut()?).read_line(&mut line).ok()?;
        if line != "mounted\n" {
            keeper.kill().ok();
            keeper.wait().ok();
            return None;
        }
        Some(SmallDisk { keeper })
    }

    /// A command that runs a program inside.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--user", "--mount", "--preserve-credentials", "--target", &self.keeper.id().to_string()])
            .arg(format!("--wd={}", folder.display()))
            .arg(program.as_ref());
        command
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.keeper.kill().ok();
        self.keeper.wait().ok();
    }
}

/// `strace`, attached to a daemon. Dropping it ends the trace, and the daemon runs on.
pub(crate) struct Strace {
    child: Child,
}

impl Drop for Strace {
    fn drop(&mut self) {
        // Unlike a kill, this lets it leave the daemon between two system calls.
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().ok();
        self.child.wait().ok();
    }
}

/// The exit status and output of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> World {
        // The hash embedder makes similarities predictable.
        World::with_embedder(Some("hash"))
    }

    /// A world with the embedder that the settings name.
    pub(crate) fn with_configured_embedder() -> World {
        World::with_embedder(None)
    }

    fn with_embedder(embedder: Option<&'static str>) -> World {
        let parent = poc_graph::testing::folder();
        let home = tempfile::tempdir_in(parent.path()).unwrap();
        World { home, parent, daemon: None, embedder, disk: None, environment: Vec::new() }
    }

    /// A world whose programs see the time of day shifted by what the file `clock` in the home says, such as `+2h`;
    /// `None`, with a message, where libfaketime is not installed. Time that is measured from a start is not shifted.
    pub(crate) fn with_clock() -> Option<World> {
        let mut world = World::new();
        let file = world.write("clock", "+0");
        world.environment = fake_clock(&file)?;
        Some(world)
    }

    /// A world whose home is a filesystem of `mebibytes` MiB; `None` where this is not possible.
    pub(crate) fn on_small_disk(mebibytes: u32) -> Option<World> {
        let mut world = World::new();
        world.disk = Some(SmallDisk::mount(world.home(), mebibytes)?);
        Some(world)
    }

    /// Runs a shell command in the home.
    #[track_caller]
    pub(crate) fn shell(&self, script: &str) -> String {
        let mut command = match &self.disk {
            Some(disk) => disk.command("sh", self.home()),
            None => Command::new("sh"),
        };
        // The small filesystem may hide the working directory of the process.
        let script = format!("cd '{}' && {script}", self.home().display());
        let output = command.args(["-c", &script]).current_dir(self.home()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file in the home and creates its folder.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs `poc-memory` with arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandResult {
        self.run_with_input(arguments, "")
    }

    /// Runs `poc-memory` with arguments and standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> CommandResult {
        let mut child = self
            .command("poc-memory")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A program may close its input without reading it.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        writer.join().unwrap();
        CommandResult {
            status: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs `poc-memory` with arguments at a terminal where `typed` is typed. The output has both streams and what was
    /// typed. `None`, with a message, where `script` of util-linux is not installed.
    pub(crate) fn run_at_terminal(&self, arguments: &[&str], typed: &str) -> Option<CommandResult> {
        let mut child = self
            .at_terminal(&self.command("poc-memory"), arguments)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The end of the input is the end of what is typed.
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        Some(CommandResult {
            status: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        })
    }

    /// The command that runs a program with arguments at a terminal. `None`, with a message, where `script` of
    /// util-linux is not installed.
    #[expect(clippy::print_stderr, reason = "a test that is not run says so")]
    pub(crate) fn at_terminal(&self, program: &Command, arguments: &[&str]) -> Option<Command> {
        let version = Command::new("script").arg("--version").output();
        if !version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("util-linux")) {
            eprintln!("not run: `script` is not installed");
            return None;
        }
        let line = [&[program.get_program().to_str().unwrap()], arguments].concat().join(" ");
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.home());
        Some(command)
    }

    /// Runs `poc-memory --json` with arguments, checks its exit status, and returns its answer.
    #[track_caller]
    pub(crate) fn json_with_status(&self, arguments: &[&str], status: i32) -> Value {
        let ran = self.run(&[&["--json"], arguments].concat());
        assert_eq!(ran.status, status, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        let text = if ran.stdout.is_empty() { &ran.stderr } else { &ran.stdout };
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{arguments:?} answered {text:?}: {error}"))
    }

    /// The same for a command that must succeed.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.json_with_status(arguments, 0)
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) fn start_daemon(&mut self) {
        self.start(self.command("poc-daemon"));
    }

    /// The same, and writes what it writes, sends and syncs to a file in the home. Does nothing and returns `false`,
    /// with a message, where `strace` is not installed or may not trace.
    pub(crate) fn start_traced_daemon(&mut self, trace: &str) -> bool {
        self.start_daemon_under_strace(&[
            "-y",
            "-s",
            "4096",
            "-e",
            "trace=write,sendto,sendmsg,fsync,fdatasync",
            "-o",
            trace,
        ])
    }

    /// The same with other options of `strace`, such as those that make system calls fail.
    #[expect(clippy::print_stderr, reason = "a test that is not run says so")]
    pub(crate) fn start_daemon_under_strace(&mut self, options: &[&str]) -> bool {
        let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
        if !tried.is_ok_and(|status| status.success()) {
            eprintln!("not run: strace is not installed or may not trace");
            return false;
        }
        let daemon = self.command("poc-daemon");
        let mut command = Command::new("strace");
        command
            // The daemon stays the child of the test, also with all threads traced.
            .args(["-D", "-f"])
            .args(options)
            .arg(daemon.get_program())
            .env_clear()
            .envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.home());
        self.start(command);
        true
    }

    /// Attaches `strace` with options to the running daemon. `None`, with a message, where it is not installed or may not
    /// attach.
    #[expect(clippy::print_stderr, reason = "a test that is not run says so")]
    pub(crate) fn attach_strace(&self, options: &[&str]) -> Option<Strace> {
        let pid = self.daemon_pid().to_string();
        let child = Command::new("strace")
            .args(["-f", "-p", &pid])
            .args(options)
            .current_dir(self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("not run: strace is not installed");
            return None;
        };
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let strace = Strace { child };
        let mut messages = String::new();
        // Other messages may come first, such as those about links in paths.
        while !messages.contains(" attached") {
            if stderr.read_line(&mut messages).unwrap() == 0 {
                eprintln!("not run: strace may not attach to the daemon: {messages}");
                return None;
            }
        }
        // It also reports every new thread, and would block or end if nobody read that.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(drop));
        Some(strace)
    }

    /// Stops the daemon, and returns what was traced when all of it is there.
    pub(crate) fn stop_traced_daemon(&mut self, trace: &str) -> String {
        let pid = self.daemon_pid().to_string();
        self.stop_daemon();
        // Short process ids are padded.
        let is_last = |line: &str| line.split_whitespace().eq([&pid, "+++", "exited", "with", "0", "+++"]);
        let deadline = Deadline::after(WAIT_LIMIT);
        loop {
            let traced = std::fs::read(self.home().join(trace)).unwrap_or_default();
            let traced = String::from_utf8_lossy(&traced);
            if traced.lines().any(is_last) {
                return traced.into_owned();
            }
            deadline.wait(|| "the trace has no end".to_owned());
        }
    }

    fn start(&mut self, mut command: Command) {
        assert!(self.daemon.is_none(), "one daemon is running");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // The thread keeps reading, because a full pipe would block the daemon.
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = std::thread::spawn(move || stderr.lines().map_while(Result::ok).collect::<Vec<_>>());
        self.daemon = Some(child);
        let deadline = Deadline::after(WAIT_LIMIT);
        let socket = self.home().join("daemon.sock");
        // Checking for the socket is faster than starting a program. On a small filesystem, it cannot be seen from
        // here. It may also be that of a daemon that was killed.
        while (self.disk.is_none() && !socket.exists()) || self.run(&["daemon", "status"]).status != 0 {
            if let Some(status) = self.daemon.as_mut().unwrap().try_wait().unwrap() {
                self.daemon = None;
                panic!("the daemon ended with {status}:\n{}", log.join().unwrap().join("\n"));
            }
            deadline.wait(|| "the daemon does not answer".to_owned());
        }
    }

    /// The daemon's process id.
    pub(crate) fn daemon_pid(&self) -> u32 {
        self.daemon.as_ref().unwrap().id()
    }

    /// Sends a signal such as `-TERM` to the daemon.
    pub(crate) fn signal_daemon(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.daemon_pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the daemon to end.
    pub(crate) fn wait_for_daemon(&mut self) -> ExitStatus {
        self.daemon.take().unwrap().wait().unwrap()
    }

    /// Kills the daemon without giving it time to shut down.
    pub(crate) fn kill_daemon(&mut self) {
        let mut child = self.daemon.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops the daemon by `SIGTERM` and checks that it succeeds.
    pub(crate) fn stop_daemon(&mut self) {
        self.signal_daemon("-TERM");
        assert!(self.wait_for_daemon().success());
    }

    /// Repeats a command until its answer satisfies a condition, and returns that answer.
    #[track_caller]
    pub(crate) fn until(
        &self,
        within: Duration,
        arguments: &[&str],
        satisfied: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Deadline::after(within);
        loop {
            let answer = self.json(arguments);
            if satisfied(&answer) {
                return answer;
            }
            deadline.wait(|| format!("{answer:#}"));
        }
    }

    /// A binary of the workspace with this home and a clean environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = match &self.disk {
            Some(disk) => disk.command(binary(program), self.home()),
            None => Command::new(binary(program)),
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("POC_MEMORY_HOME", self.home())
            .env("TMPDIR", self.parent.path())
            .env("TZ", "UTC")
            .envs(self.embedder.map(|kind| ("POC_MEMORY__EMBEDDER__KIND", kind)))
            .envs(self.environment.iter().cloned())
            .current_dir(self.home());
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(child) = &mut self.daemon {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Checks that commands which read a damaged store are refused if the temporary folder `tmp` cannot be used.
pub(crate) fn refused_without_temporary_folder(world: &World, tmp: &Path) {
    for command in [&["get", "note-1"][..], &["repair"], &["repair", "--from", "sound-log", "--yes"]] {
        let mut refused = world.command("poc-memory");
        let refused = refused.arg("--json").args(command).env("TMPDIR", tmp).output().unwrap();
        let stderr = String::from_utf8(refused.stderr).unwrap();
        let error: Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
        assert_eq!(error["error"]["code"], "unavailable", "{command:?}: {stderr}");
        assert!(error["error"]["hint"].as_str().unwrap().contains("`TMPDIR`"), "{command:?}: {stderr}");
    }
}

/// All files in a folder and in the folders below it.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The path of a binary of the workspace. `cargo test --workspace` builds both binaries into the folder above that of
/// the test programs. `CARGO_BIN_EXE_poc-daemon` has their path too, but a shell between Cargo and the compiler
/// (`.cargo/rustc.sh`) does not pass on a variable with a hyphen in its name.
pub(crate) fn binary(program: &str) -> PathBuf {
    let test_program = std::env::current_exe().unwrap();
    let path = test_program.parent().and_then(Path::parent).unwrap().join(program);
    assert!(path.exists(), "{} is missing: run the tests with `cargo test --workspace`", path.display());
    path
}
