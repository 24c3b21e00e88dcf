#!/bin/sh
# Calls the compiler for a crate of the workspace. Arguments: the compiler, then the arguments that Cargo has for it.
#
# Test programs that Cargo would optimise, as it does with `--release`, get other levels of optimisation than their
# crates (docs/adr/096-crates-in-one-unit.md). The libraries that they are linked with are optimised as in a build.
# Cargo compiles nothing again after a change of this file.
is_test= level=
case " $* " in *" --test "*) is_test=yes ;; esac
case "$is_test $* " in
"yes "*" -C opt-level="*)
    case " $* " in
    # Their own loops take most of the time of their tests, so they keep the levels of their crates.
    *" --crate-name poc_graph "* | *" --crate-name poc_rank "* | *" --crate-name poc_embed "*) ;;
    *" --crate-name poc_store "* | *" --crate-name poc_index "* | *" --crate-name poc_search "*) level=z ;;
    *) level=0 ;;
    esac
    ;;
esac
# Of several levels, the last one applies. Level 0 would turn on assertions that the programs do not have.
exec "$@" ${level:+-C opt-level=$level -C debug-assertions=off}
