//! Parsers for the fuzz targets, with the properties that must hold for any input; see `fuzz/` at the root of the
//! repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a violated property is a panic, which the fuzzer reports"
)]

use crate::Config;
use crate::schedule::Schedule;
use chrono_tz::Tz;
use poc_graph::time::Timestamp;

/// Instants at which clocks change, and the limits of timestamps.
const TIMES: [i64; 6] = [0, 1_774_745_999_999, 1_792_893_600_000, 1_709_164_800_000, i64::MIN, i64::MAX];

/// Parses the text of a `config.toml`.
pub fn config_file(text: &str) {
    match Config::layered(Some(("config.toml", text)), std::iter::empty()) {
        Ok(config) => assert_eq!(config.fingerprint(), config.clone().fingerprint()),
        Err(error) => assert!(!error.line().is_empty()),
    }
}

/// Parses a schedule. Printing it must give the same text, and its slots must be on the correct side of every instant.
pub fn schedule(text: &str) {
    let schedule = match Schedule::parse(text, "linker") {
        Ok(schedule) => schedule,
        Err(error) => return assert!(!error.line().is_empty()),
    };
    assert_eq!(Schedule::parse(&schedule.to_string(), "linker").as_ref(), Ok(&schedule));
    assert!(schedule.period().is_none_or(|period| period.0 > 0));
    schedule.warning();
    for time in TIMES.map(Timestamp) {
        for zone in [Tz::UTC, Tz::Europe__Berlin, Tz::Australia__Lord_Howe] {
            let (next, latest) = (schedule.next_after(time, zone), schedule.latest(time, zone));
            assert!(next.is_none_or(|slot| slot > time), "{next:?} after {time:?}");
            assert!(latest.is_none_or(|slot| slot <= time), "{latest:?} before {time:?}");
            if let Some(latest) = latest {
                assert!(schedule.next_after(latest, zone).is_none_or(|slot| slot > time));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use poc_graph::testing::corpus;

    #[test]
    fn the_properties_hold_for_the_corpora() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
        corpus("config_file").into_iter().filter_map(text).for_each(|text| super::config_file(&text));
        corpus("schedule").into_iter().filter_map(text).for_each(|text| super::schedule(&text));
    }
}
