//! The service manager of the system: systemd for the user, or launchd. It starts the daemon with the session and
//! again when it fails.

use super::program;
use poc_config::paths::{DEFAULT_PROFILE, Paths};
use poc_graph::error::{Error, Result};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceManager {
    /// systemd, with units of the user.
    Systemd,
    /// launchd, with agents of the user.
    Launchd,
}

/// The seconds in which the daemon must stop before it is killed: the default of `[daemon] shutdown-grace`, and a little
/// more.
const STOP_SECONDS: u32 = 45;

/// The program, its arguments and its environment, as a service manager starts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, PathBuf)>,
    log: PathBuf,
}

impl Service {
    /// The daemon of a profile.
    pub(super) fn of(paths: &Paths) -> Result<Service> {
        let program = program::program();
        if !program.is_absolute() {
            return Err(Error::not_found("there is no `poc-daemon` next to this program")
                .hint("install both programs into one folder"));
        }
        Ok(Service {
            program,
            arguments: program::arguments(paths),
            environment: Paths::variables()?,
            log: paths.daemon_log(),
        })
    }
}

impl ServiceManager {
    /// The service manager of this system, if it is supported.
    pub(super) fn of_system() -> Option<ServiceManager> {
        match std::env::consts::OS {
            "linux" => Some(ServiceManager::Systemd),
            "macos" => Some(ServiceManager::Launchd),
            _ => None,
        }
    }

    /// The program that controls the service manager.
    pub(super) fn control(self) -> &'static str {
        match self {
            ServiceManager::Systemd => "systemctl",
            ServiceManager::Launchd => "launchctl",
        }
    }

    /// The file that registers the daemon of a profile; `None` without a home folder.
    pub(super) fn file(self, paths: &Paths) -> Option<PathBuf> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME");
        Some(match self {
            ServiceManager::Systemd => {
                let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")))?;
                config.join("systemd/user").join(self.name(paths))
            }
            ServiceManager::Launchd => {
                home?.join("Library/LaunchAgents").join(format!("{}.plist", self.name(paths)))
            }
        })
    }

    /// The name of the daemon of a profile.
    pub(super) fn name(self, paths: &Paths) -> String {
        match (self, paths.profile()) {
            (ServiceManager::Systemd, DEFAULT_PROFILE) => "poc-memory.service".into(),
            (ServiceManager::Systemd, profile) => format!("poc-memory-{profile}.service"),
            (ServiceManager::Launchd, DEFAULT_PROFILE) => "poc-memory".into(),
            (ServiceManager::Launchd, profile) => format!("poc-memory.{profile}"),
        }
    }

    /// Whether the daemon of a profile is registered, with the folders of this process.
    pub(super) fn is_registered(self, paths: &Paths) -> bool {
        let text = || Some(self.text(&Service::of(paths).ok()?));
        let there = self.file(paths).and_then(|file| std::fs::read_to_string(file).ok());
        there.is_some() && there == text()
    }

    /// The text of the file.
    pub(super) fn text(self, service: &Service) -> String {
        match self {
            ServiceManager::Systemd => unit(service),
            ServiceManager::Launchd => property_list(service),
        }
    }

    /// Fails if the manager does not answer. In a container or over SSH there may be none.
    ///
    /// # Errors
    /// `unavailable` if it does not.
    pub(super) fn reach(self) -> Result<()> {
        match self {
            ServiceManager::Systemd => self.run(&["--user", "show-environment"]),
            ServiceManager::Launchd => self.run(&["print", &domain()]),
        }
        .map_err(|error| error.hint("`poc-memory daemon start` starts the daemon without a service manager"))
    }

    /// Reads the file and starts the daemon, now and with every session.
    pub(super) fn enable(self, paths: &Paths) -> Result<()> {
        match (self, self.file(paths)) {
            (ServiceManager::Systemd, _) => {
                self.run(&["--user", "daemon-reload"])?;
                self.run(&["--user", "enable", "--now", &self.name(paths)])
            }
            // An agent that is loaded cannot be loaded again.
            (ServiceManager::Launchd, _) if self.is_loaded(paths) => self.start(paths),
            (ServiceManager::Launchd, Some(file)) => {
                self.run(&["bootstrap", &domain(), &file.display().to_string()])
            }
            (ServiceManager::Launchd, None) => Err(Error::config("`HOME` is not set")),
        }
    }

    /// Stops the daemon and removes its registration.
    pub(super) fn disable(self, paths: &Paths) -> Result<()> {
        match self {
            ServiceManager::Systemd => self.run(&["--user", "disable", "--now", &self.name(paths)]),
            // Only a loaded agent can be unloaded.
            ServiceManager::Launchd if !self.is_loaded(paths) => Ok(()),
            ServiceManager::Launchd => self.run(&["bootout", &self.target(paths)]),
        }
    }

    /// Starts the registered daemon without waiting for it.
    pub(super) fn start(self, paths: &Paths) -> Result<()> {
        match self {
            ServiceManager::Systemd => self.run(&["--user", "--no-block", "start", &self.name(paths)]),
            ServiceManager::Launchd => self.run(&["kickstart", &self.target(paths)]),
        }
    }

    /// Whether launchd has loaded the agent of a profile.
    fn is_loaded(self, paths: &Paths) -> bool {
        self.run(&["print", &self.target(paths)]).is_ok()
    }

    /// The name of the agent of a profile for launchd, with its domain.
    fn target(self, paths: &Paths) -> String {
        format!("{}/{}", domain(), self.name(paths))
    }

    fn run(self, arguments: &[&str]) -> Result<()> {
        let (program, line) = (self.control(), format!("{} {}", self.control(), arguments.join(" ")));
        let done = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::unavailable(format!("`{program}` cannot be run: {error}")))?;
        if done.status.success() {
            return Ok(());
        }
        let stderr_line = String::from_utf8_lossy(&done.stderr);
        let stderr_line = stderr_line.lines().next().unwrap_or("no error message").trim();
        Err(Error::unavailable(format!("`{line}` failed: {stderr_line}")))
    }
}

/// The domain of the user's agents.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// A unit for systemd of type `notify`: the daemon reports that it is ready and alive.
fn unit(service: &Service) -> String {
    let mut start = unit_word(&service.program.to_string_lossy());
    service.arguments.iter().for_each(|word| {
        // Writing to a string cannot fail.
        let _ = write!(start, " {}", unit_word(word));
    });
    let environment: String = service
        .environment
        .iter()
        .map(|(name, path)| {
            let assignment = format!("{name}={}", path.display());
            // `$` is not special in `Environment=`.
            format!("Environment={}\n", unit_word(&assignment).replace("$$", "$"))
        })
        .collect();
    format!(
        "# Written by `poc-memory daemon install`.\n\
         [Unit]\n\
         Description=poc-memory daemon\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={start}\n\
         {environment}\
         # Opening a store after a crash reads its log.\n\
         TimeoutStartSec=15min\n\
         # `[daemon] shutdown-grace` and a little more.\n\
         TimeoutStopSec={STOP_SECONDS}\n\
         WatchdogSec=60\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         # The settings are invalid: another start would not help.\n\
         RestartPreventExitStatus=78\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// A word of a unit file: quoted, with `%` and `$` escaped.
fn unit_word(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{word}\"")
}

/// An agent for launchd.
fn property_list(service: &Service) -> String {
    let string = |text: &str| format!("<string>{}</string>", xml(text));
    let words = std::iter::once(service.program.to_string_lossy().into_owned());
    let words: String =
        words.chain(service.arguments.clone()).map(|word| format!("    {}\n", string(&word))).collect();
    let pairs: String = service
        .environment
        .iter()
        .map(|(name, path)| format!("    <key>{name}</key>{}\n", string(&path.to_string_lossy())))
        .collect();
    let label = match service.arguments.last() {
        Some(profile) => format!("poc-memory.{profile}"),
        None => "poc-memory".to_owned(),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- Written by `poc-memory daemon install`. -->\n\
         <plist version=\"1.0\">\n\
         <dict>\n  \
           <key>Label</key>{}\n  \
           <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  \
           <key>EnvironmentVariables</key>\n  <dict>\n{pairs}  </dict>\n  \
           <key>RunAtLoad</key><true/>\n  \
           <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n  \
           <!-- `[daemon] shutdown-grace` and a little more. -->\n  \
           <key>ExitTimeOut</key><integer>{STOP_SECONDS}</integer>\n  \
           <!-- The default of 256 is too low for the connections of `max-connections`. -->\n  \
           <key>SoftResourceLimits</key><dict><key>NumberOfFiles</key><integer>1024</integer></dict>\n  \
           <key>StandardErrorPath</key>{}\n\
         </dict>\n\
         </plist>\n",
        string(&label),
        string(&service.log.with_extension("launchd.log").to_string_lossy()),
    )
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            program: "/opt/a b/poc-daemon".into(),
            arguments: vec!["--profile".into(), "work".into()],
            environment: vec![("POC_MEMORY_HOME", "/m/100%/$x".into())],
            log: "/m/daemon.log".into(),
        }
    }

    #[test]
    fn a_unit_notifies_and_escapes_special_characters() {
        insta::assert_snapshot!(ServiceManager::Systemd.text(&service()), @r#"
        # Written by `poc-memory daemon install`.
        [Unit]
        Description=poc-memory daemon

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart="/opt/a b/poc-daemon" "--profile" "work"
        Environment="POC_MEMORY_HOME=/m/100%%/$x"
        # Opening a store after a crash reads its log.
        TimeoutStartSec=15min
        # `[daemon] shutdown-grace` and a little more.
        TimeoutStopSec=45
        WatchdogSec=60
        Restart=on-failure
        RestartSec=5
        # The settings are invalid: another start would not help.
        RestartPreventExitStatus=78

        [Install]
        WantedBy=default.target
        "#);
    }

    #[test]
    fn an_agent_of_launchd_starts_again_after_a_failure() {
        insta::assert_snapshot!(ServiceManager::Launchd.text(&service()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- Written by `poc-memory daemon install`. -->
        <plist version="1.0">
        <dict>
          <key>Label</key><string>poc-memory.work</string>
          <key>ProgramArguments</key>
          <array>
            <string>/opt/a b/poc-daemon</string>
            <string>--profile</string>
            <string>work</string>
          </array>
          <key>EnvironmentVariables</key>
          <dict>
            <key>POC_MEMORY_HOME</key><string>/m/100%/$x</string>
          </dict>
          <key>RunAtLoad</key><true/>
          <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
          <!-- `[daemon] shutdown-grace` and a little more. -->
          <key>ExitTimeOut</key><integer>45</integer>
          <!-- The default of 256 is too low for the connections of `max-connections`. -->
          <key>SoftResourceLimits</key><dict><key>NumberOfFiles</key><integer>1024</integer></dict>
          <key>StandardErrorPath</key><string>/m/daemon.launchd.log</string>
        </dict>
        </plist>
        "#);
    }
}
