//! Frames round-trip, and damaged frames are errors.

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
    let progress = (".{0,8}", any::<u64>(), any::<Option<u64>>()).prop_map(|(what, done, total)| Progress {
        what,
        done,
        total,
    });
    prop_oneof![
        (any::<u32>(), ".{0,8}")
            .prop_map(|(protocol, version)| Frame::Hello { hello: Hello { protocol, version } }),
        (any::<u64>(), "[a-z ]{0,8}", any_value()).prop_map(|(id, op, args)| Frame::Request {
            id,
            op,
            args,
            actor: if id % 2 == 0 { Principal::Person } else { Principal::Model },
        }),
        (any::<u64>(), any_value()).prop_map(|(id, ok)| Frame::Ok { id, ok }),
        (any::<u64>(), ".{0,20}")
            .prop_map(|(id, text)| Frame::Err { id, err: Error::conflict(text).hint("h").field("f") }),
        (any::<u64>(), progress).prop_map(|(id, progress)| Frame::Progress { id, progress }),
    ]
}

poc_laws::laws! {
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
        frame in any_frame(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
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
    let error = Hello { protocol: PROTOCOL + 1, version: "9.0.0".into() }.check("the daemon").unwrap_err();
    assert!(error.message.starts_with("the daemon is version 9.0.0 and speaks protocol 3"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("`store/lock`")));
}
