//! Identifies a program that was started for a call, also after its process id was given to another one: the
//! next process finds and ends what a killed process has left running.

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The leader of a process group of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildProcess {
    pid: i32,
    /// When it began, as the system counts: with `boot` no two programs have the same.
    born: u64,
    /// The boot of the machine.
    boot: String,
}

impl ChildProcess {
    /// The running program with a number; `None` where the system does not tell when it began (it does on
    /// Linux).
    pub fn of(pid: u32) -> Option<ChildProcess> {
        let pid = i32::try_from(pid).ok()?;
        Some(ChildProcess { pid, born: born(pid)?, boot: boot()? })
    }

    /// Kills it with all of its group, if it still runs. Whether it did.
    pub fn end(&self) -> bool {
        let runs = boot().as_ref() == Some(&self.boot) && born(self.pid) == Some(self.born);
        let group = Pid::from_raw(self.pid).filter(|_| runs);
        group.is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok())
    }
}

/// Ticks from the machine's boot to the beginning of a process, field 22 of `/proc/PID/stat` (proc(5)).
fn born(pid: i32) -> Option<u64> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before, in brackets, may hold anything.
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
    fn only_the_recorded_process_is_ended() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let program = ChildProcess::of(child.id()).unwrap();
        assert!(!ChildProcess { born: program.born + 1, ..program.clone() }.end());
        assert!(!ChildProcess { boot: "another".into(), ..program.clone() }.end());
        assert!(child.try_wait().unwrap().is_none());
        assert!(program.end());
        assert!(!child.wait().unwrap().success());
        assert!(!program.end());
    }
}
