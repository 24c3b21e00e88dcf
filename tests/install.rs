//! `packaging/install.sh` with made-up archives: what it installs, and what it refuses.

use crate::support::World;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that prints the name under which it was started.
const PROGRAM: &str = "#!/bin/sh\necho \"${0##*/} 9.9.9\"\n";

/// The name of the archive for this system, without `.tar.gz`.
fn archive_name() -> String {
    let system = match std::env::consts::OS {
        "macos" => "apple-darwin",
        _ => "unknown-linux-gnu",
    };
    format!("poc-memory-9.9.9-{}-{system}", std::env::consts::ARCH)
}

/// Writes an archive with a program, and its checksum, into the folder `release` of the home. Returns `false`, with a
/// message, where a tool that the script or this test needs is not installed.
#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
fn write_release(world: &World, program: &str) -> bool {
    let missing = world.shell(
        "for tool in tar gzip; do command -v $tool >/dev/null || echo $tool; done; \
         command -v sha256sum >/dev/null || command -v shasum >/dev/null || echo sha256sum",
    );
    if !missing.is_empty() {
        eprintln!("not run: {} is not installed", missing.trim().replace('\n', ", "));
        return false;
    }
    let name = archive_name();
    let path = world.write(&format!("release/{name}/bin/poc-memory"), program);
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    symlink("poc-memory", path.with_file_name("poc-daemon")).unwrap();
    world.write(&format!("release/{name}/share/man/man1/poc-memory.1"), "a manual page\n");
    let made = world.shell(&format!(
        "cd release && tar -czf {name}.tar.gz {name} && rm -r {name} && \
         if command -v sha256sum >/dev/null; then sha256sum {name}.tar.gz; else shasum -a 256 {name}.tar.gz; fi \
         >SHA256SUMS && echo made"
    ));
    assert_eq!(made, "made\n");
    true
}

/// Installs from a source into the folder `prefix` of the home. Returns standard output, or standard error if it failed.
fn install(world: &World, source: &str) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/install.sh");
    let mut command = Command::new("sh");
    command.arg(script).args([source, "prefix"]).current_dir(world.home()).stdin(Stdio::null());
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}

#[test]
fn a_released_archive_is_installed_with_both_programs() {
    let world = World::new();
    if !write_release(&world, PROGRAM) {
        return;
    }
    // An update replaces the programs.
    for _ in 0..2 {
        let output = install(&world, "release").unwrap();
        assert!(output.starts_with("installed poc-memory 9.9.9 into prefix\n"), "{output}");
    }
    let bin = world.home().join("prefix/bin");
    for program in ["poc-memory", "poc-daemon"] {
        let ran = Command::new(bin.join(program)).arg("--version").output().unwrap();
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), format!("{program} 9.9.9\n"));
    }
    assert_eq!(fs::read_dir(&bin).unwrap().count(), 2, "nothing else is there");
    assert!(world.home().join("prefix/share/man/man1/poc-memory.1").is_file());
}

#[test]
fn nothing_is_installed_from_a_wrong_archive() {
    let world = World::new();
    if !write_release(&world, PROGRAM) {
        return;
    }
    let refused = |source: &str, reason: &str| {
        let error = install(&world, source).unwrap_err();
        assert!(error.contains("error: ") && error.contains(reason), "{error}");
        assert!(!world.home().join("prefix").exists(), "{reason}");
    };
    let sums = world.home().join("release/SHA256SUMS");
    let right = fs::read_to_string(&sums).unwrap();
    let digit = if right.starts_with('0') { "1" } else { "0" };
    fs::write(&sums, format!("{digit}{}", &right[1..])).unwrap();
    refused("release", &format!("the checksum of {}.tar.gz is wrong", archive_name()));
    fs::write(&sums, right.replace("9.9.9-", "9.9.9-sparc-")).unwrap();
    refused(
        "release",
        &format!("`{}.tar.gz` cannot be read", archive_name().replace("9.9.9-", "9.9.9-sparc-")),
    );
    fs::write(&sums, right.replace(std::env::consts::ARCH, "sparc")).unwrap();
    refused("release", "SHA256SUMS lists no archive for ");
    refused("nowhere", "`SHA256SUMS` cannot be read from nowhere");
    refused("http://example.org/release", "is not an https address");
    // The checksum is right, and the program does not start.
    fs::remove_dir_all(world.home().join("release")).unwrap();
    assert!(write_release(&world, "#!/bin/sh\nexit 1\n"));
    refused("release", "the program does not start on this system");
}
