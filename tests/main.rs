//! Stories: the real binaries, driven from outside.

mod support;
