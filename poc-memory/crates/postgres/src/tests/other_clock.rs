//! A writer on a machine whose clock is wrong: leases and claims end by the clock of the database.

use super::*;
use poc_graph::testing::fake_clock;
use poc_graph::time::{Clock, Span, SystemClock};
use std::process::{Command, Stdio};

/// The variables that say what the process with the other clock does: the address of the database, its next call, and
/// the file for the result.
const VARIABLES: [&str; 3] = ["POC_MEMORY_TEST_ADDRESS", "POC_MEMORY_TEST_CALL", "POC_MEMORY_TEST_RESULT"];

/// A lease or a claim of this length has always ended.
const NANOSECOND: Duration = Duration::from_nanos(1);

/// A call of the other process. The first number is that of the writer's record, or the duration in nanoseconds.
fn call(log: &PostgresLog, name: &str, number: u64) -> String {
    let duration = Duration::from_nanos(number);
    match name {
        "append" => format!("{:?}", append(log, number, log.head().unwrap())),
        "lease" => log.lease(duration).unwrap().to_string(),
        "claim" => log.claim(duration).unwrap().to_string(),
        "release" => log.release().is_ok().to_string(),
        "peers" => {
            let peers = log.peers().unwrap();
            let alive = peers.iter().filter(|peer| peer.is_alive() && peer.seen < MINUTE);
            alive.map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => panic!("there is no call `{name}`"),
    }
}

#[test]
#[ignore = "other tests start it in a process of its own"]
fn a_process_with_another_clock() {
    let values = VARIABLES.map(|name| std::env::var(name).ok());
    let [Some(address), Some(asked), Some(file)] = values else { return };
    let (name, number) = asked.split_once(' ').unwrap();
    let settings = LogSettings { address, ..settings_without_address("a") };
    let log = PostgresLog::new(LogLocation::new(settings).unwrap(), [2; 16], "wrong".into());
    let result = call(&log, name, number.parse().unwrap());
    std::fs::write(file, format!("{} {result}", SystemClock.now().0)).unwrap();
    // As after a kill, the writer stays in the list of writers.
    std::mem::forget(log);
}

/// A writer in processes that see another time of day.
struct OtherClock<'a> {
    server: &'a TestServer,
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    shift: Span,
}

impl OtherClock<'_> {
    fn new<'a>(server: &'a TestServer, shift: &str, difference: Span) -> Option<OtherClock<'a>> {
        let folder = poc_graph::testing::folder();
        let clock = folder.path().join("clock");
        std::fs::write(&clock, shift).unwrap();
        let variables = fake_clock(&clock)?;
        Some(OtherClock { server, folder, variables, shift: difference })
    }

    /// Makes a call in a new process and returns its result.
    fn call(&self, name: &str, number: u64) -> String {
        let file = self.folder.path().join("result");
        let values = [self.server.address(), format!("{name} {number}"), file.display().to_string()];
        let test = "tests::other_clock::a_process_with_another_clock";
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored"])
            .envs(self.variables.iter().cloned())
            .envs(VARIABLES.into_iter().zip(values))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        let (now, result) = text.split_once(' ').unwrap();
        let difference = now.parse::<i64>().unwrap() - SystemClock.now().0;
        assert!((difference - self.shift.0).abs() < Span::HOUR.0, "the clock differs by {difference} ms");
        result.to_owned()
    }

    fn call_for(&self, name: &str, duration: Duration) -> String {
        self.call(name, u64::try_from(duration.as_nanos()).unwrap())
    }
}

/// Runs a story with a writer whose clock is behind, and with one whose clock is ahead.
fn with_wrong_clocks(story: impl Fn(&PostgresLog, &OtherClock<'_>)) {
    for (shift, hours) in [("-3h", -3), ("+3h", 3)] {
        let Some(server) = TestServer::start() else { return };
        let Some(other) = OtherClock::new(&server, shift, Span(hours * Span::HOUR.0)) else { return };
        init(&location(&server, "a")).unwrap();
        story(&log(&server, 1), &other);
    }
}

#[test]
fn a_lease_does_not_depend_on_the_clock_of_a_writer() {
    with_wrong_clocks(|right, wrong| {
        assert_eq!(wrong.call_for("lease", MINUTE), "true");
        assert!(!right.lease(MINUTE).unwrap());
        assert_eq!(append(right, 1, 0), AppendOutcome::Leased);
        assert_eq!(wrong.call("append", 1), "Appended");
        assert_eq!(append(right, 2, 1), AppendOutcome::Appended);

        assert!(right.lease(MINUTE).unwrap());
        assert_eq!(wrong.call_for("lease", MINUTE), "false");
        assert_eq!(wrong.call("append", 2), "Leased");
        assert_eq!(append(right, 3, 2), AppendOutcome::Appended);

        assert_eq!(wrong.call_for("lease", NANOSECOND), "true");
        assert_eq!(append(right, 4, 3), AppendOutcome::Appended, "the lease has ended");
        assert!(right.lease(NANOSECOND).unwrap());
        assert_eq!(wrong.call("append", 3), "Appended", "the lease has ended");
    });
}

#[test]
fn a_claim_does_not_depend_on_the_clock_of_a_writer() {
    with_wrong_clocks(|right, wrong| {
        append(right, 1, 0);
        assert_eq!(wrong.call_for("claim", MINUTE), "true");
        assert!(!right.claim(MINUTE).unwrap());
        assert_eq!(wrong.call("release", 0), "true");
        assert!(right.claim(MINUTE).unwrap());
        assert_eq!(wrong.call_for("claim", MINUTE), "false");
        right.release().unwrap();
        assert_eq!(wrong.call_for("claim", NANOSECOND), "true");
        assert!(right.claim(NANOSECOND).unwrap(), "the claim has ended");
        assert_eq!(wrong.call_for("claim", NANOSECOND), "true", "the claim has ended");
    });
}

#[test]
fn whether_a_writer_is_alive_does_not_depend_on_its_clock() {
    with_wrong_clocks(|right, wrong| {
        right.head().unwrap();
        assert_eq!(wrong.call("peers", 0), "writer 1");
        let seen = right.peers().unwrap();
        assert!(seen.len() == 1 && seen[0].is_alive(), "{seen:?}");
    });
}
