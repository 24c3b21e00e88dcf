//! Options of the linker for the programs.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // At a fixed address nothing is left to relocate when a program starts (ADR 097).
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
