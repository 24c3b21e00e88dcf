//! The socket protocol between the command line and the daemon.
//!
//! A frame is its length (four bytes, big-endian) and a MessagePack map with named fields. Each side first
//! sends `{hello}`. Then the client sends `{id, op, args}` (with `actor: model` on behalf of a model), and
//! the daemon answers with any number of `{id, progress}` and one `{id, ok}` or `{id, err}`. Several requests
//! may be pending; `id` matches answers to requests. Id 0 is the connection itself: `{id: 0, err}` says why
//! it is about to be closed.

mod frame;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
#[cfg(test)]
mod tests;

pub use frame::{Frame, Hello};

use crate::ops::{Principal, Progress};
use poc_graph::error::{Error, Result};
use poc_graph::json::UniqueFields;
use poc_graph::plural;
use serde::{Deserialize, Deserializer, Serialize as _};
use serde_json::Value;
use serde_path_to_error::Segment;
use std::io::{ErrorKind, Read, Write};

/// The version of the protocol. It is raised for changes that an older peer would misread. Protocol 2 renamed
/// the texts of requests to `text`, which release 0.1 does not know.
pub const PROTOCOL: u32 = 2;

/// Maximum nesting of values in a frame, including the frame itself.
const MAX_DEPTH: usize = 64;

/// The length prefix of a frame.
pub type Header = [u8; 4];

/// The id of frames that concern the whole connection.
pub const CONNECTION: u64 = 0;

/// The fields of all frames; which are present determines the kind of frame.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    hello: Option<Hello>,
    id: Option<u64>,
    op: Option<String>,
    #[serde(default, deserialize_with = "present")]
    args: Option<Value>,
    actor: Option<Principal>,
    #[serde(default, deserialize_with = "present")]
    ok: Option<Value>,
    err: Option<Error>,
    progress: Option<Progress>,
}

impl Fields {
    /// The frame that consists of these fields; `None` if there is no such frame.
    fn frame(self) -> Option<Frame> {
        let Fields { hello, id, op, args, actor, ok, err, progress } = self;
        Some(match (hello, id, op, args, actor, ok, err, progress) {
            (Some(hello), None, None, None, None, None, None, None) => Frame::Hello { hello },
            (None, Some(id), Some(op), args, actor, None, None, None) => {
                let args = args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                Frame::Request { id, op, args, actor: actor.unwrap_or_default() }
            }
            (None, Some(id), None, None, None, Some(ok), None, None) => Frame::Ok { id, ok },
            (None, Some(id), None, None, None, None, Some(err), None) => Frame::Err { id, err },
            (None, Some(id), None, None, None, None, None, Some(progress)) => {
                Frame::Progress { id, progress }
            }
            _ => return None,
        })
    }
}

/// Distinguishes a null field from an absent one, and refuses objects that have a field twice.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    UniqueFields::deserialize(deserializer).map(|UniqueFields(value)| Some(value))
}

/// The bytes of a frame with its length prefix. A frame of more than `limit` bytes is an error.
pub fn encode(frame: &Frame, limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Header::default().to_vec();
    let mut serializer = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    frame
        .serialize(&mut serializer)
        .map_err(|error| Error::internal(format!("a frame cannot be encoded: {error}")))?;
    let length = bytes.len() - size_of::<Header>();
    let header =
        u32::try_from(length).ok().filter(|_| length <= limit).ok_or_else(|| too_long(length, limit))?;
    if let Some(place) = bytes.first_chunk_mut() {
        *place = header.to_be_bytes();
    }
    Ok(bytes)
}

/// The length in a header. More than `limit` bytes is an error.
pub fn length(header: Header, limit: usize) -> Result<usize> {
    let length = u32::from_be_bytes(header) as usize;
    if length <= limit { Ok(length) } else { Err(too_long(length, limit)) }
}

/// Decodes a frame from its bytes without the length prefix.
pub fn decode(bytes: &[u8]) -> Result<Frame> {
    let mut rest = bytes;
    let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
    deserializer.set_max_depth(MAX_DEPTH);
    let fields: Fields =
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            match error.path().iter().next() {
                Some(field @ Segment::Map { .. }) => malformed(format!("`{field}`: {}", error.inner())),
                _ => malformed(error.inner().to_string()),
            }
        })?;
    if !rest.is_empty() {
        return Err(malformed(format!("the map is followed by {}", plural(rest.len() as u64, "byte"))));
    }
    fields.frame().ok_or_else(|| malformed("its fields do not go together".into()))
}

/// Writes a frame.
pub fn write(to: &mut impl Write, frame: &Frame, limit: usize) -> Result<()> {
    to.write_all(&encode(frame, limit)?).and_then(|()| to.flush()).map_err(broken)
}

/// Reads a frame; `None` when the other side closed the connection between two frames. Memory grows with the
/// bytes that arrive, not with the announced length.
pub fn read(from: &mut impl Read, limit: usize) -> Result<Option<Frame>> {
    let mut header = Header::default();
    match from.read_exact(&mut header) {
        Ok(()) => {}
        // A reset means that the peer closed the connection without reading all our data.
        Err(error) if [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset].contains(&error.kind()) => {
            return Ok(None);
        }
        Err(error) => return Err(broken(error)),
    }
    let length = length(header, limit)?;
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes).map_err(broken)?;
    decode_whole(&bytes, length).map(Some)
}

/// Decodes a frame; fails when fewer than `length` bytes arrived.
pub fn decode_whole(bytes: &[u8], length: usize) -> Result<Frame> {
    if bytes.len() < length {
        return Err(malformed(format!("it ends after {} of {}", bytes.len(), plural(length as u64, "byte"))));
    }
    decode(bytes)
}

fn malformed(why: String) -> Error {
    Error::invalid(format!("the frame cannot be read: {why}")).hint(
        "a frame is a MessagePack map `{id, op, args}`, with its length in four bytes, big-endian, in front",
    )
}

fn too_long(length: usize, limit: usize) -> Error {
    Error::invalid(format!("a frame of {length} bytes is longer than the {limit} that are allowed"))
        .hint("ask for less at a time, or raise `max-frame-bytes` under `[daemon]` in config.toml")
}

/// The error for a broken connection.
pub fn broken(error: std::io::Error) -> Error {
    Error::unavailable(format!("the connection broke: {error}"))
}
