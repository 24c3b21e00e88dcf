//! Parsers for the fuzz targets, with properties that must hold for any input: see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use super::{Frame, decode, encode, read};
use crate::ops;
use poc_config::{Config, TenantSchema};
use std::sync::LazyLock;

/// Maximum size of a frame in bytes.
const LIMIT: usize = 1 << 20;

static TENANTS: LazyLock<TenantSchema> = LazyLock::new(|| Config::defaults().unwrap().tenant_schema);

/// Decodes frames: all bytes as one, and as a stream. Encoding a decoded frame and decoding it again must give the same
/// frame.
pub fn frame(bytes: &[u8]) {
    if let Ok(frame) = decode(bytes) {
        check(frame);
    }
    let mut stream = bytes;
    while let Ok(Some(frame)) = read(&mut stream, LIMIT) {
        check(frame);
    }
}

fn check(frame: Frame) {
    let encoded = encode(&frame, LIMIT).unwrap();
    assert_eq!(read(&mut encoded.as_slice(), LIMIT), Ok(Some(frame.clone())));
    if let Frame::Request { op, args, .. } = frame
        && let Some(op) = ops::find(&op)
        && let Err(error) = ops::fuzzing::decode(op, args, &TENANTS)
    {
        assert!(!error.line().is_empty());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_properties_hold_for_the_corpus() {
        poc_graph::testing::corpus("frame").iter().for_each(|bytes| super::frame(bytes));
    }
}
