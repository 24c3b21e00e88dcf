//! Tests of the parser of schedules and of the times that they name.

use super::*;
use proptest::prelude::*;

const ZONES: [Tz; 3] = [Tz::Europe__Berlin, Tz::America__New_York, Tz::Australia__Lord_Howe];

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text, "linker").unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The next `count` slots in local time.
fn slots(text: &str, zone: Tz, after: &str, count: usize) -> String {
    let schedule = schedule(text);
    let mut now = at(after);
    let shown: Vec<String> = (0..count)
        .map(|_| {
            now = schedule.next_after(now, zone).unwrap();
            now.utc().unwrap().with_timezone(&zone).format("%a %d %H:%M:%S %:z").to_string()
        })
        .collect();
    shown.join(", ")
}

fn error_of(text: &str) -> String {
    let error = Schedule::parse(text, "linker").unwrap_err();
    assert_eq!(error.code, poc_graph::error::Code::InvalidConfig, "{text}");
    format!("{}; {}", error.message, error.hint.unwrap())
}

#[test]
fn every_schedule_form_parses() {
    let zone = Tz::Europe__Berlin;
    let from = "2026-11-21T12:00:00Z";
    insta::assert_snapshot!(slots("daily at 03:30", zone, from, 2), @"Sun 22 03:30:00 +01:00, Mon 23 03:30:00 +01:00");
    insta::assert_snapshot!(slots("weekly on monday at 9:05", zone, from, 2), @"Mon 23 09:05:00 +01:00, Mon 30 09:05:00 +01:00");
    insta::assert_snapshot!(slots("every 6h", Tz::UTC, from, 3), @"Sat 21 18:00:00 +00:00, Sun 22 00:00:00 +00:00, Sun 22 06:00:00 +00:00");
    insta::assert_snapshot!(slots("cron 0 3 * * 1-5", zone, from, 6), @"Mon 23 03:00:00 +01:00, Tue 24 03:00:00 +01:00, Wed 25 03:00:00 +01:00, Thu 26 03:00:00 +01:00, Fri 27 03:00:00 +01:00, Mon 30 03:00:00 +01:00");
    insta::assert_snapshot!(slots("monthly on 15 at 03:30", zone, from, 2), @"Tue 15 03:30:00 +01:00, Fri 15 03:30:00 +01:00");
    insta::assert_snapshot!(slots("monthly on last at 03:30", zone, from, 4), @"Mon 30 03:30:00 +01:00, Thu 31 03:30:00 +01:00, Sun 31 03:30:00 +01:00, Sun 28 03:30:00 +01:00");
    assert_eq!(schedule("on-demand").next_after(at(from), zone), None);
}

#[test]
fn unspecified_times_follow_from_the_agents_name() {
    let zone = Tz::UTC;
    let from = at("2026-11-21T00:00:00Z");
    let minute = |text: &str, agent: &str| {
        let slot = Schedule::parse(text, agent).unwrap().next_after(from, zone).unwrap();
        slot.0.rem_euclid(Span::DAY.0) / Span::MINUTE.0
    };
    let (mut starts, mut days) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for agent in ["facts", "quotations", "linker", "separator", "replay", "transfer", "rename", "split"] {
        for text in ["daily", "weekly", "weekly on friday", "monthly", "monthly on 3", "monthly on last"] {
            assert!((120..300).contains(&minute(text, agent)), "{text} {agent}");
        }
        assert!((60..300).contains(&minute("daily between 01:00 and 05:00", agent)));
        let day = Schedule::parse("monthly", agent).unwrap().next_after(from, zone).unwrap().utc().unwrap();
        assert!((1..=28).contains(&chrono::Datelike::day(&day)), "{agent} on {day}");
        days.insert(chrono::Datelike::day(&day));
        let night = minute("daily between 23:00 and 01:00", agent);
        assert!(!(60..23 * 60).contains(&night), "{agent} at {night}");
        assert_eq!(minute("daily", agent), minute("daily", agent));
        starts.insert(minute("daily", agent));
    }
    assert!(starts.len() > 3 && days.len() > 3, "{starts:?} {days:?}");
    // These must never change: an upgrade must not move slots.
    insta::assert_snapshot!(slots("hourly", zone, "2026-11-21T00:00:00Z", 2), @"Sat 21 00:49:00 +00:00, Sat 21 01:49:00 +00:00");
    insta::assert_snapshot!(slots("daily", zone, "2026-11-21T00:00:00Z", 2), @"Sat 21 02:49:00 +00:00, Sun 22 02:49:00 +00:00");
    insta::assert_snapshot!(slots("weekly", zone, "2026-11-21T00:00:00Z", 2), @"Thu 26 02:49:00 +00:00, Thu 03 02:49:00 +00:00");
    insta::assert_snapshot!(slots("monthly", zone, "2026-11-21T00:00:00Z", 2), @"Sat 19 02:49:00 +00:00, Tue 19 02:49:00 +00:00");
}

#[test]
fn invalid_schedules_are_reported() {
    insta::assert_snapshot!(error_of("yearly"), @"`yearly` is not a schedule; write `on-demand`, `on-change`, `hourly`, `daily`, `daily at 03:30`, `daily between 01:00 and 05:00`, `weekly`, `weekly on monday`, `weekly on monday at 03:30`, `monthly`, `monthly on 15`, `monthly on last at 03:30`, `every 6h` or `cron 0 3 * * 1-5`");
    insta::assert_snapshot!(error_of("monthly on 31"), @"`31` in `monthly on 31` is not a day that every month has; write a day from `1` to `28`, or `last`");
    insta::assert_snapshot!(error_of("daily at 25:00"), @"`25:00` is not a time of day; write hours and minutes from `00:00` to `23:59`");
    insta::assert_snapshot!(error_of("daily between 03:00 and 03:00"), @"the window of `daily between 03:00 and 03:00` is empty; write two different times: `daily between 01:00 and 05:00`");
    insta::assert_snapshot!(error_of("weekly on funday"), @"`funday` in `weekly on funday` is not a day of the week; write one of `sunday`, `monday`, `tuesday`, `wednesday`, `thursday`, `friday`, `saturday`");
    insta::assert_snapshot!(error_of("every 0s"), @"the period of `every 0s` is too short; the shortest is `every 1s`");
    insta::assert_snapshot!(error_of("every soon"), @"`soon` is not a duration; write a period such as `every 6h`");
    insta::assert_snapshot!(error_of("every tuesday at 07:30"), @"`every tuesday at 07:30` is not a schedule; write `weekly on tuesday at 07:30`");
    insta::assert_snapshot!(error_of("every day at nine"), @"`every day at nine` is not a schedule; write the time in hours and minutes: `daily at 03:30`");
    insta::assert_snapshot!(error_of("every monday 9:00"), @"`every monday 9:00` is not a schedule; write the time in hours and minutes: `weekly on monday at 03:30`");
    insta::assert_snapshot!(error_of("every day"), @"`every day` is not a schedule; write `daily`");
    insta::assert_snapshot!(error_of("every hour"), @"`every hour` is not a schedule; write `hourly`");
    insta::assert_snapshot!(error_of("cron 0 3 * *"), @"`cron 0 3 * *` has 4 cron fields, not five; the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`");
    insta::assert_snapshot!(error_of("cron 61 3 * * *"), @"`cron 61 3 * * *` is not a cron rule: Component error: Number out of bounds; the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`");
    insta::assert_snapshot!(error_of("cron , 3 * * *"), @"`,` in `cron , 3 * * *` has a comma with nothing beside it; write numbers on both sides of a comma: `cron 0,30 3 * * *`");
    insta::assert_snapshot!(error_of("cron 0 3 1, * *"), @"`1,` in `cron 0 3 1, * *` has a comma with nothing beside it; write numbers on both sides of a comma: `cron 0,30 3 * * *`");
    insta::assert_snapshot!(error_of("cron 0 3 2 2 +ü74"), @r"`cron 0 3 2 2 +ü74` is not a cron rule: no field has a 'ü'; write letters, digits and `*`, `/`, `,`, `-`, `#`: `cron 0 3 * * 1-5`");
    insta::assert_snapshot!(error_of("cron 0 0 31 2 *"), @"`cron 0 0 31 2 *` never fires; no year has such a day; check the day of the month and the month");
    for text in [
        "",
        "daily at",
        "daily at 3",
        "daily at 3:5",
        "every",
        "hourly at 3",
        "on-change daily",
        "Daily",
        "monthly on",
        "monthly on 0",
        "monthly on +1",
        "monthly at",
        "monthly on monday",
    ] {
        error_of(text);
    }
}

#[test]
fn a_rule_with_day_of_month_and_day_of_week_is_warned_about() {
    insta::assert_snapshot!(schedule("cron 0 3 1 * 1").warning().unwrap(), @"`cron 0 3 1 * 1` has a day of the month and a day of the week: it fires on every day that matches one of them");
    for text in ["cron 0 3 1 * *", "cron 0 3 * * 1", "cron 0 3 1 * +1", "daily", "every 6h"] {
        assert_eq!(schedule(text).warning(), None, "{text}");
    }
}

#[test]
fn a_skipped_local_time_maps_to_the_first_instant_after_the_gap() {
    insta::assert_snapshot!(slots("daily at 02:30", Tz::Europe__Berlin, "2026-03-28T00:00:00Z", 3), @"Sat 28 02:30:00 +01:00, Sun 29 03:00:00 +02:00, Mon 30 02:30:00 +02:00");
    insta::assert_snapshot!(slots("daily at 02:30", Tz::America__New_York, "2026-03-07T00:00:00Z", 3), @"Sat 07 02:30:00 -05:00, Sun 08 03:00:00 -04:00, Mon 09 02:30:00 -04:00");
    // Lord Howe Island skips half an hour.
    insta::assert_snapshot!(slots("daily at 02:15", Tz::Australia__Lord_Howe, "2026-10-02T18:00:00Z", 3), @"Sun 04 02:30:00 +11:00, Mon 05 02:15:00 +11:00, Tue 06 02:15:00 +11:00");
    insta::assert_snapshot!(slots("monthly on 28 at 02:30", Tz::Europe__Berlin, "2027-02-28T12:00:00Z", 2), @"Sun 28 03:00:00 +02:00, Wed 28 02:30:00 +02:00");
    insta::assert_snapshot!(slots("monthly on last at 02:30", Tz::Europe__Berlin, "2024-02-29T12:00:00Z", 2), @"Sun 31 03:00:00 +02:00, Tue 30 02:30:00 +02:00");
    // Several skipped times of one rule give one slot.
    insta::assert_snapshot!(slots("cron */20 2 * * *", Tz::Europe__Berlin, "2026-03-28T12:00:00Z", 2), @"Sun 29 03:00:00 +02:00, Mon 30 02:00:00 +02:00");
}

#[test]
fn a_repeated_local_time_fires_only_once() {
    insta::assert_snapshot!(slots("daily at 02:30", Tz::Europe__Berlin, "2026-10-24T00:00:00Z", 3), @"Sat 24 02:30:00 +02:00, Sun 25 02:30:00 +02:00, Mon 26 02:30:00 +01:00");
    insta::assert_snapshot!(slots("daily at 01:45", Tz::Australia__Lord_Howe, "2026-04-03T00:00:00Z", 3), @"Sat 04 01:45:00 +11:00, Sun 05 01:45:00 +11:00, Mon 06 01:45:00 +10:30");
    insta::assert_snapshot!(slots("monthly on 28 at 02:30", Tz::Europe__Berlin, "2029-10-01T00:00:00Z", 2), @"Sun 28 02:30:00 +02:00, Wed 28 02:30:00 +01:00");
    insta::assert_snapshot!(slots("monthly on last at 02:30", Tz::Europe__Berlin, "2027-10-01T00:00:00Z", 2), @"Sun 31 02:30:00 +02:00, Tue 30 02:30:00 +01:00");
    insta::assert_snapshot!(slots("cron */20 2 * * *", Tz::Europe__Berlin, "2026-10-25T00:10:00Z", 3), @"Sun 25 02:20:00 +02:00, Sun 25 02:40:00 +02:00, Mon 26 02:00:00 +01:00");
    // Fixed periods are not affected by clock changes.
    insta::assert_snapshot!(slots("hourly", Tz::Europe__Berlin, "2026-10-24T23:50:00Z", 4), @"Sun 25 02:49:00 +02:00, Sun 25 02:49:00 +01:00, Sun 25 03:49:00 +01:00, Sun 25 04:49:00 +01:00");
}

#[test]
fn cron_rules_in_hours_count_hours_as_hourly_does() {
    insta::assert_snapshot!(slots("cron 30 * * * *", Tz::Europe__Berlin, "2026-03-29T00:00:00Z", 3), @"Sun 29 01:30:00 +01:00, Sun 29 03:30:00 +02:00, Sun 29 04:30:00 +02:00");
    insta::assert_snapshot!(slots("cron */20 * * * *", Tz::Europe__Berlin, "2026-03-29T00:30:00Z", 3), @"Sun 29 01:40:00 +01:00, Sun 29 03:00:00 +02:00, Sun 29 03:20:00 +02:00");
    insta::assert_snapshot!(slots("cron 30 * * * *", Tz::Europe__Berlin, "2026-10-24T23:50:00Z", 4), @"Sun 25 02:30:00 +02:00, Sun 25 02:30:00 +01:00, Sun 25 03:30:00 +01:00, Sun 25 04:30:00 +01:00");
    insta::assert_snapshot!(slots("cron 0 */2 * * *", Tz::Europe__Berlin, "2026-10-24T23:50:00Z", 4), @"Sun 25 02:00:00 +02:00, Sun 25 02:00:00 +01:00, Sun 25 04:00:00 +01:00, Sun 25 06:00:00 +01:00");
    // Lord Howe Island repeats half an hour.
    insta::assert_snapshot!(slots("cron 45 * * * *", Tz::Australia__Lord_Howe, "2026-04-04T14:00:00Z", 3), @"Sun 05 01:45:00 +11:00, Sun 05 01:45:00 +10:30, Sun 05 02:45:00 +10:30");
    // Slots are as far apart as those of `hourly`, also around New Year.
    for zone in ZONES {
        let (cron, mut now) = (schedule("cron 17 * * * *"), at("2026-01-01T00:00:00Z"));
        for _ in 0..365 * 24 {
            let next = cron.next_after(now, zone).unwrap();
            let gap = next.0 - now.0;
            // When a clock is set by half an hour, it shows minute 17 half an hour earlier or later
            // than usual.
            let by_half = zone == Tz::Australia__Lord_Howe && [1, 3].contains(&(2 * gap / Span::HOUR.0));
            assert!(gap == Span::HOUR.0 || by_half || now == at("2026-01-01T00:00:00Z"), "{gap} at {next}");
            now = next;
        }
    }
}

#[test]
fn the_period_is_the_shortest_gap() {
    for (text, period) in [
        ("hourly", Span::HOUR),
        ("daily", Span::DAY),
        ("weekly", Span::WEEK),
        ("monthly", Span(28 * Span::DAY.0)),
        ("monthly on last", Span(28 * Span::DAY.0)),
        ("every 90m", Span(90 * Span::MINUTE.0)),
        ("cron 0 3 * * 1-5", Span::DAY),
        ("cron 0 9,17 * * *", Span(8 * Span::HOUR.0)),
        ("cron 0 0 29 2 *", Span(1461 * Span::DAY.0)),
    ] {
        assert_eq!(schedule(text).period(), Some(period), "{text}");
    }
    assert_eq!(schedule("on-demand").period(), None);
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let field = |top: u32| {
        prop_oneof![
            Just("*".to_owned()),
            (0..top).prop_map(|at| at.to_string()),
            (1..top).prop_map(|step| format!("*/{step}")),
            (0..top, 0..top).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        ]
    };
    prop_oneof![
        (field(60), field(24), prop_oneof![Just("*"), Just("1-5"), Just("0,3")])
            .prop_map(|(minute, hour, days)| format!("cron {minute} {hour} * * {days}")),
        (0..24u32, 0..60u32).prop_map(|(hour, minute)| format!("daily at {hour:02}:{minute:02}")),
        (1..100_000u32).prop_map(|seconds| format!("every {seconds}s")),
        Just("hourly".to_owned()),
        Just("weekly".to_owned()),
        prop_oneof![(1..29u32).prop_map(|day| day.to_string()), Just("last".to_owned())]
            .prop_map(|day| format!("monthly on {day} at 02:15")),
    ]
    .prop_map(|text| schedule(&text))
}

/// Instants of several decades, half of them near clock changes.
fn any_instant() -> impl Strategy<Value = Timestamp> {
    let changes = [
        "2026-03-29T01:00:00Z",
        "2026-10-25T01:00:00Z",
        "2026-03-08T07:00:00Z",
        "2026-11-01T06:00:00Z",
        "2026-04-04T15:00:00Z",
        "2026-10-03T15:30:00Z",
    ];
    let near = (0..changes.len(), -4 * Span::HOUR.0..4 * Span::HOUR.0)
        .prop_map(move |(change, by)| Timestamp(at(changes[change]).0 + by));
    prop_oneof![near, (0i64..2_500_000_000_000).prop_map(Timestamp)]
}

poc_laws::laws! {
    #[test]
    fn slots_increase_strictly_and_next_and_latest_agree(
        schedule in any_schedule(),
        from in any_instant(),
        zone in 0..ZONES.len(),
    ) {
        let zone = ZONES[zone];
        let mut now = from;
        for _ in 0..20 {
            let next = schedule.next_after(now, zone).unwrap();
            prop_assert!(next > now);
            prop_assert_eq!(schedule.latest(next, zone), Some(next));
            let before = Timestamp(next.0 - 1);
            prop_assert!(schedule.latest(before, zone).unwrap() <= now.max(before));
            prop_assert_eq!(schedule.next_after(before, zone), Some(next));
            now = next;
        }
        // There is no slot between the instant and the first slot after it.
        let last = schedule.latest(from, zone).unwrap();
        prop_assert!(last <= from);
        prop_assert_eq!(schedule.next_after(last, zone), schedule.next_after(from, zone));
    }

    #[test]
    fn a_daily_slot_fires_once_a_day(hour in 0..24u32, minute in 0..60u32, day in 0i64..20_000, zone in 0..ZONES.len()) {
        let zone = ZONES[zone];
        let schedule = schedule(&format!("daily at {hour:02}:{minute:02}"));
        let first = schedule.next_after(Timestamp(day * Span::DAY.0), zone).unwrap();
        let second = schedule.next_after(first, zone).unwrap();
        let shown = |at: Timestamp| at.utc().unwrap().with_timezone(&zone).date_naive();
        prop_assert_eq!(shown(first).succ_opt().unwrap(), shown(second));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,30}", cron in "[0-9*/,LW#?+@a-zA-ZäßK -]{0,24}") {
        let _ = Schedule::parse(&text, "linker");
        if let Ok(schedule) = Schedule::parse(&format!("cron {cron}"), "linker") {
            prop_assert!(schedule.next_after(Timestamp(0), Tz::UTC).is_some());
        }
    }
}
