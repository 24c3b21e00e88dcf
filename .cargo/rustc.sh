#!/bin/sh
# Calls the compiler for a crate of the workspace. Arguments: the compiler, then the arguments that Cargo has for it.
#
# Test programs are not optimised, except those of crates whose own loops take most of the time of their tests
# (docs/adr/096-crates-in-one-unit.md). What a test program is linked with is optimised as in a build.
case " $* " in
*" --crate-name poc_graph "* | *" --crate-name poc_rank "* | *" --crate-name poc_embed "*) ;;
*" --crate-name poc_store "* | *" --crate-name poc_index "* | *" --crate-name poc_search "*) ;;
# The last of several levels applies.
*" --test "*) set -- "$@" -C opt-level=0 ;;
esac
exec "$@"
