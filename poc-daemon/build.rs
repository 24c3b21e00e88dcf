//! Options of the linker for the programs.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // At a fixed address nothing is left to relocate when a program starts (ADR 097).
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // Released programs have no symbols: that is a fifth of their size (ADR 089). `strip` in the profile has no effect
    // on a package that has an `opt-level` of its own. Without symbols, backtraces of panics show no names of
    // functions; the message and the location of a panic are in the program's data. Test programs keep theirs, because
    // the option is only for binaries, and so does a build with debug information (`CARGO_PROFILE_RELEASE_DEBUG=1`).
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("DEBUG", "false") {
        // Apple's linker ignores `-s`; `-x` leaves out all symbols that no other program needs.
        let option = if target("VENDOR") == "apple" { "-x" } else { "-s" };
        println!("cargo::rustc-link-arg-bins=-Wl,{option}");
    }
}
