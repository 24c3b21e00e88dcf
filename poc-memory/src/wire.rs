//! The socket protocol between the command line and the daemon.
//!
//! A frame is its length (four bytes, big-endian) and a MessagePack map with named fields. Each side first
//! sends `{hello}`. Then the client sends `{id, op, args}` (with `actor: model` on behalf of a model), and
//! the daemon answers with any number of `{id, progress}` and one `{id, ok}` or `{id, err}`. Several requests
//! may be pending; `id` matches answers to requests. Id 0 is the connection itself: `{id: 0, err}` says why
//! it is about to be closed.

use crate::ops::{Actor, Progress};
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_path_to_error::Segment;
use std::io::{ErrorKind, Read, Write};

/// The version of the protocol. It is raised by a change that an older peer would misread.
pub const PROTOCOL: u32 = 1;

/// Maximum nesting of values in a frame, including the frame itself.
const MAX_DEPTH: usize = 64;

/// The length prefix of a frame.
pub type Header = [u8; 4];

/// The id of frames that concern the whole connection.
pub const CONNECTION: u64 = 0;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Frame {
    /// The first message of either side.
    Hello {
        /// The sender's protocol and version.
        hello: Hello,
    },
    /// A request to run an op.
    Request {
        /// Chosen by the client; the answer has the same id.
        id: u64,
        /// Name of the op.
        op: String,
        /// Its arguments.
        args: Value,
        /// On whose behalf; a person if absent.
        #[serde(skip_serializing_if = "is_person")]
        actor: Actor,
    },
    /// The op succeeded.
    Ok {
        /// The id of the request.
        id: u64,
        /// The answer.
        ok: Value,
    },
    /// The op failed.
    Err {
        /// The id of the request.
        id: u64,
        /// Why.
        err: Error,
    },
    /// The op advanced.
    Progress {
        /// The id of the request.
        id: u64,
        /// How far it has come.
        progress: Progress,
    },
}

/// The sender's protocol and version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version.
    pub protocol: u32,
    /// The version of the program.
    pub version: String,
}

impl Hello {
    /// The hello of this program.
    pub fn current() -> Hello {
        Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
    }

    /// Fails when the other side speaks another protocol. `peer` names it in the message: `the daemon`.
    pub fn check(&self, peer: &str) -> Result<()> {
        if self.protocol == PROTOCOL {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{peer} is version {} and speaks protocol {}, this program is version {} and speaks protocol {PROTOCOL}",
            self.version,
            self.protocol,
            env!("CARGO_PKG_VERSION")
        ))
        .hint("use `poc-memory` and `poc-daemon` of the same version, and restart the daemon after an update"))
    }
}

fn is_person(actor: &Actor) -> bool {
    *actor == Actor::Person
}

/// The fields of all frames; which are present determines the kind of frame.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    hello: Option<Hello>,
    id: Option<u64>,
    op: Option<String>,
    #[serde(default, deserialize_with = "present")]
    args: Option<Value>,
    actor: Option<Actor>,
    #[serde(default, deserialize_with = "present")]
    ok: Option<Value>,
    err: Option<Error>,
    progress: Option<Progress>,
}

/// Distinguishes a null field from an absent one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
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
        return Err(malformed(format!("{} bytes follow the map", rest.len())));
    }
    Ok(match fields {
        Fields {
            hello: Some(hello),
            id: None,
            op: None,
            args: None,
            actor: None,
            ok: None,
            err: None,
            progress: None,
        } => Frame::Hello { hello },
        Fields {
            hello: None,
            id: Some(id),
            op: Some(op),
            args,
            actor,
            ok: None,
            err: None,
            progress: None,
        } => {
            let args = args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            Frame::Request { id, op, args, actor: actor.unwrap_or_default() }
        }
        Fields {
            hello: None,
            id: Some(id),
            op: None,
            args: None,
            actor: None,
            ok: Some(ok),
            err: None,
            progress: None,
        } => Frame::Ok { id, ok },
        Fields {
            hello: None,
            id: Some(id),
            op: None,
            args: None,
            actor: None,
            ok: None,
            err: Some(err),
            progress: None,
        } => Frame::Err { id, err },
        Fields {
            hello: None,
            id: Some(id),
            op: None,
            args: None,
            actor: None,
            ok: None,
            err: None,
            progress: Some(progress),
        } => Frame::Progress { id, progress },
        _ => return Err(malformed("its fields do not go together".into())),
    })
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
        // A reset means that the peer closed with unread data of ours.
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

/// Decodes a frame; an error when fewer than `length` bytes arrived.
pub fn decode_whole(bytes: &[u8], length: usize) -> Result<Frame> {
    if bytes.len() < length {
        return Err(malformed(format!("it ends after {} of {length} bytes", bytes.len())));
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const LIMIT: usize = 1 << 16;

    fn through(frame: &Frame) -> Frame {
        let bytes = encode(frame, LIMIT).unwrap();
        read(&mut bytes.as_slice(), LIMIT).unwrap().unwrap()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".{0,6}", inner), 0..6)
                    .prop_map(|pairs| pairs.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let progress = (".{0,8}", any::<u64>(), any::<Option<u64>>())
            .prop_map(|(what, done, total)| Progress { what, done, total });
        prop_oneof![
            (any::<u32>(), ".{0,8}")
                .prop_map(|(protocol, version)| Frame::Hello { hello: Hello { protocol, version } }),
            (any::<u64>(), "[a-z ]{0,8}", any_value()).prop_map(|(id, op, args)| Frame::Request {
                id,
                op,
                args,
                actor: if id % 2 == 0 { Actor::Person } else { Actor::Model },
            }),
            (any::<u64>(), any_value()).prop_map(|(id, ok)| Frame::Ok { id, ok }),
            (any::<u64>(), ".{0,20}")
                .prop_map(|(id, text)| Frame::Err { id, err: Error::conflict(text).hint("h").field("f") }),
            (any::<u64>(), progress).prop_map(|(id, progress)| Frame::Progress { id, progress }),
        ]
    }

    proptest! {
        #[test]
        fn frames_round_trip(frame in any_frame()) {
            prop_assert_eq!(through(&frame), frame);
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            let _ = decode(&bytes);
            let _ = read(&mut bytes.as_slice(), LIMIT);
        }

        #[test]
        fn a_damaged_frame_never_panics(
            frame in any_frame(), at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = encode(&frame, LIMIT).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
            let _ = read(&mut bytes.as_slice(), LIMIT);
        }
    }

    /// A peer that announces a length and sends nothing more.
    struct Announced(usize);

    impl Read for Announced {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            assert!(buffer.len() < LIMIT, "room for {} bytes was made before one arrived", buffer.len());
            let header = (LIMIT as u32).to_be_bytes();
            let rest = header.get(self.0..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            self.0 += count;
            Ok(count)
        }
    }

    #[test]
    fn memory_grows_with_received_bytes_not_with_the_announced_length() {
        read(&mut Announced(0), LIMIT).unwrap_err();
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_on_both_sides() {
        let frame = Frame::Ok { id: 1, ok: json!("x".repeat(LIMIT)) };
        encode(&frame, LIMIT).unwrap_err();
        let bytes = encode(&frame, 2 * LIMIT).unwrap();
        insta::assert_snapshot!(
            read(&mut bytes.as_slice(), LIMIT).unwrap_err(),
            @"a frame of 65549 bytes is longer than the 65536 that are allowed"
        );
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth| (0..depth).fold(json!(1), |value, _| json!([value]));
        through(&Frame::Ok { id: 1, ok: nested(MAX_DEPTH - 2) });
        let bytes = encode(&Frame::Ok { id: 1, ok: nested(MAX_DEPTH) }, LIMIT).unwrap();
        insta::assert_snapshot!(
            read(&mut bytes.as_slice(), LIMIT).unwrap_err(),
            @"the frame cannot be read: `ok`: depth limit exceeded"
        );
        let deep = [vec![0x82, 0xa2, b'i', b'd', 1, 0xa2, b'o', b'k'], vec![0x91; 60_000]].concat();
        decode(&deep).unwrap_err();
    }

    #[test]
    fn invalid_frames_are_described() {
        let check = |value: Value, expected: &str| {
            let error = decode(&rmp_serde::to_vec_named(&value).unwrap()).unwrap_err();
            assert_eq!(error.message, format!("the frame cannot be read: {expected}"), "{value}");
        };
        check(json!({"id": 1}), "its fields do not go together");
        check(
            json!({"id": 1, "ok": null, "err": {"code": "internal", "message": ""}}),
            "its fields do not go together",
        );
        check(json!({"id": "1", "op": "get"}), "`id`: wrong msgpack marker FixStr(1)");
        check(
            json!({"id": 1, "verb": "get"}),
            "`verb`: unknown field `verb`, expected one of `hello`, `id`, `op`, `args`, `actor`, `ok`, `err`, `progress`",
        );
    }

    #[test]
    fn another_protocol_is_refused_with_a_hint() {
        let error = Hello { protocol: 2, version: "9.0.0".into() }.check("the daemon").unwrap_err();
        assert!(error.message.starts_with("the daemon is version 9.0.0 and speaks protocol 2"), "{error}");
        assert!(error.hint.is_some());
    }
}
