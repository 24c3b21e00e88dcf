//! Identifies a child process that was started for a call, even after its process id was reused. A later
//! process can find and kill children that a killed process left running.

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// A child process that leads its own process group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildProcess {
    pid: i32,
    /// Start time in ticks since boot. Together with `pid` and `boot` it is unique.
    #[serde(rename = "born")]
    start_time: u64,
    /// Boot id of the machine.
    boot: String,
}

impl ChildProcess {
    /// The running process with this id; `None` if its start time cannot be read, as on systems other than
    /// Linux.
    pub fn of(pid: u32) -> Option<ChildProcess> {
        let pid = i32::try_from(pid).ok()?;
        Some(ChildProcess { pid, start_time: start_time(pid)?, boot: boot()? })
    }

    /// Kills its process group if it is still running. Returns whether it was.
    pub fn kill(&self) -> bool {
        let runs = boot().as_ref() == Some(&self.boot) && start_time(self.pid) == Some(self.start_time);
        let group = Pid::from_raw(self.pid).filter(|_| runs);
        group.is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok())
    }
}

/// Start time of a process in ticks since boot, field 22 of `/proc/PID/stat` (proc(5)).
fn start_time(pid: i32) -> Option<u64> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses before it may contain any character.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn boot() -> Option<String> {
    Some(read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn only_the_recorded_process_is_killed() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let program = ChildProcess::of(child.id()).unwrap();
        assert!(!ChildProcess { start_time: program.start_time + 1, ..program.clone() }.kill());
        assert!(!ChildProcess { boot: "another".into(), ..program.clone() }.kill());
        assert!(child.try_wait().unwrap().is_none());
        assert!(program.kill());
        assert!(!child.wait().unwrap().success());
        assert!(!program.kill());
    }
}
