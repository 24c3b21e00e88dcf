//! The daemon as a service: what it tells systemd, and how it is registered.

use crate::support::{WAIT_LIMIT, World, slow_agent};
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::sync::mpsc;

#[test]
fn the_daemon_tells_systemd_when_it_is_ready_alive_and_stopping() {
    let world = World::new();
    let settings = slow_agent::settings(world.home());
    world.write("config.toml", &format!("[daemon]\nshutdown-grace = \"1s\"\n{settings}"));
    world.write("agents/slow.toml", &slow_agent::agent("slow", "on-demand"));
    world.json(&["insert", "--title", "A note", "--body", "about page splits"]);
    let address = world.home().join("notify.sock");
    let socket = UnixDatagram::bind(&address).unwrap();
    let mut daemon = world
        .command("poc-daemon")
        .env("NOTIFY_SOCKET", &address)
        .env("WATCHDOG_USEC", "200000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (received, messages) = mpsc::channel();
    // Read at once, because a socket with a few messages accepts no more.
    std::thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(length) = socket.recv(&mut bytes)
            && received.send(String::from_utf8_lossy(&bytes[..length]).trim().to_owned()).is_ok()
        {}
    });
    let receive = || messages.recv_timeout(WAIT_LIMIT).unwrap();
    assert_eq!(receive(), "READY=1");
    assert_eq!(world.run(&["daemon", "status"]).status, 0, "it answers when it is ready");
    assert_eq!([receive(), receive()], ["WATCHDOG=1", "WATCHDOG=1"]);
    // It stops while the model of this run does not answer.
    let mut command = world.command("poc-memory");
    let mut caller =
        command.args(["agent", "run", "slow"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let history = ["agent", "history", "slow"];
    world.until(WAIT_LIMIT, &history, |history| slow_agent::count(history, "running") == 1);
    world.run(&["daemon", "stop"]);
    let first = std::iter::repeat_with(receive).find(|message| message != "WATCHDOG=1");
    // One second for running work and fifteen for the rest.
    assert_eq!(first.as_deref(), Some("STOPPING=1\nEXTEND_TIMEOUT_USEC=16000000"));
    assert_eq!(receive(), "WATCHDOG=1", "it is alive while the run ends");
    assert!(daemon.wait().unwrap().success());
    caller.wait().unwrap();
}

/// A substitute for `systemctl`: it logs its arguments, and starts and stops the daemon as the unit says.
#[cfg(target_os = "linux")]
fn write_systemctl(world: &World) -> std::path::PathBuf {
    let unit = "$HOME/.config/systemd/user/poc-memory.service";
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\ncase \"$*\" in\n\
         *'enable --now'*|*start*) (eval \"exec env $(sed -n 's/^Environment=//p' {unit}) $(sed -n 's/^ExecStart=//p' {unit})\") >/dev/null 2>&1 </dev/null & ;;\n\
         *'disable --now'*) kill $(cat \"$HOME/pid\") ;;\nesac\n"
    );
    let path = world.write("bin/systemctl", &script);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path.parent().unwrap().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn the_daemon_is_registered_and_removed_again() {
    let world = World::new();
    let home = world.write("user/placeholder", "").parent().unwrap().to_owned();
    let bin = write_systemctl(&world);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| {
        let mut command = world.command("poc-memory");
        let done =
            command.arg("--json").args(arguments).env("HOME", &home).env("PATH", &path).output().unwrap();
        let text = if done.status.success() { done.stdout } else { done.stderr };
        let text = String::from_utf8(text).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        (done.status.code().unwrap(), answer)
    };
    let unit = home.join(".config/systemd/user/poc-memory.service");
    let (_, shown) = run(&["daemon", "install", "--dry-run"]);
    assert!(shown["text"].as_str().unwrap().contains("Type=notify") && !unit.exists());
    let (_, installed) = run(&["daemon", "install"]);
    assert_eq!((&installed["written"], installed["pid"].is_number()), (&true.into(), true));
    assert_eq!(std::fs::read_to_string(&unit).unwrap(), shown["text"].as_str().unwrap());
    let (_, status) = run(&["daemon", "status"]);
    assert_eq!(status["pid"], installed["pid"]);
    // A second time changes nothing, and a stopped daemon is started by the service manager.
    let (_, again) = run(&["daemon", "install"]);
    assert_eq!((&again["written"], &again["pid"]), (&false.into(), &installed["pid"]));
    run(&["daemon", "stop"]);
    let (_, started) = run(&["daemon", "start"]);
    assert_eq!(started["by"], "service");
    std::fs::write(home.join("pid"), started["pid"].to_string()).unwrap();
    let (_, gone) = run(&["daemon", "uninstall"]);
    assert_eq!((&gone["removed"], unit.exists()), (&true.into(), false));
    let calls = std::fs::read_to_string(home.join("calls")).unwrap();
    assert!(calls.contains("--user enable --now poc-memory.service\n"), "{calls}");
    assert!(calls.contains("--user --no-block start poc-memory.service\n"), "{calls}");
    assert!(calls.contains("--user disable --now poc-memory.service\n"), "{calls}");
    assert_eq!(run(&["daemon", "uninstall"]).1["removed"], false);
    // A service manager that refuses leaves nothing behind.
    std::fs::write(bin.join("systemctl"), "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
        .unwrap();
    let (code, refused) = run(&["daemon", "install"]);
    assert_eq!((code, unit.exists()), (5, false));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Failed to connect to bus"), "{refused}");
}
