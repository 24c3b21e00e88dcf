//! A message of an MCP client.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_memory::mcp::fuzzing::mcp_message(bytes));
