//! Parses schedules.

use super::{Schedule, reference};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;

/// An example of each form of schedule.
const EXAMPLES: [&str; 13] = [
    "on-demand",
    "on-change",
    "hourly",
    "daily",
    "daily at 03:30",
    "daily between 01:00 and 05:00",
    "weekly",
    "weekly on monday",
    "weekly on monday at 03:30",
    "monthly",
    "monthly on 15",
    "monthly on last at 03:30",
    "every 6h",
];

/// An example of a cron rule, suggested for schedules that no other form can express.
const CRON: &str = "cron 0 3 * * 1-5";

/// How to write a cron rule.
const CRON_HINT: &str =
    "the fields are minute, hour, day of month, month and day of week: `cron 0 3 * * 1-5`";

const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const MINUTES_OF_DAY: u32 = 24 * 60;

/// The number of days that every month has.
const DAYS_OF_MONTH: u32 = 28;

/// Default time window of `daily`, `weekly` and `monthly`, in minutes since midnight.
const QUIET_HOURS: (u32, u32) = (2 * 60, 5 * 60);

impl Schedule {
    /// Parses `on-demand`, `on-change`, `hourly`, `daily`, `weekly`, `monthly`, `daily at 03:30`, `daily between 01:00
    /// and 05:00`, `weekly on monday`, `monthly on 15`, `monthly on last` (the last three also with `at` or `between`),
    /// `every 6h` and `cron 0 3 * * 1-5`.
    ///
    /// Unspecified parts are derived from a hash of the agent's name, so that agents do not all start together: the
    /// minute of `hourly`, a minute between 02:00 and 05:00 for `daily`, `weekly` and `monthly`, the minute within
    /// `between`, the day of `weekly`, and the day of `monthly` from 1 to 28.
    ///
    /// # Errors
    /// `invalid_config`, with the valid forms as a hint.
    pub fn parse(text: &str, agent: &str) -> Result<Schedule> {
        Schedule::parse_with(text, agent, &EXAMPLES)
    }

    /// Like [`Schedule::parse`], for other tasks than agents. The hint does not list `on-change`, which only agents
    /// have.
    pub(crate) fn parse_timed(text: &str, name: &str) -> Result<Schedule> {
        let examples: Vec<&str> = EXAMPLES.into_iter().filter(|example| *example != "on-change").collect();
        Schedule::parse_with(text, name, &examples)
    }

    fn parse_with(text: &str, agent: &str, examples: &[&str]) -> Result<Schedule> {
        let at = |time: &[&str], days: &str| -> Result<Schedule> {
            calendar(text, &cron_expression(time_of_day(text, time, agent, examples)?, days))
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["on-demand"] => Ok(Schedule::OnDemand),
            ["on-change"] => Ok(Schedule::OnChange),
            ["hourly"] => Ok(Schedule::Every {
                text: text.into(),
                period: Span::HOUR,
                phase: Span(Span::MINUTE.0 * i64::from(pick(agent, "minute", 60))),
            }),
            ["daily", time @ ..] => at(time, "* * *"),
            ["weekly", "on", day, time @ ..] => at(time, &format!("* * {}", day_of_week(text, day)?)),
            ["weekly", time @ ..] => at(time, &format!("* * {}", pick(agent, "day", 7))),
            ["monthly", "on", day, time @ ..] => at(time, &format!("{} * *", day_of_month(text, day)?)),
            ["monthly", time @ ..] => {
                at(time, &format!("{} * *", 1 + pick(agent, "day of month", DAYS_OF_MONTH)))
            }
            ["every", period, time @ ..] => match meant_by_every(period, time) {
                Some(schedule) => {
                    let meant = [&[schedule.as_str()][..], time].concat().join(" ");
                    let hint = match Schedule::parse_with(&meant, agent, examples) {
                        Ok(_) => format!("write `{meant}`"),
                        Err(_) => format!("write the time in hours and minutes: `{schedule} at 03:30`"),
                    };
                    Err(Error::config(format!("`{text}` is not a schedule")).hint(hint))
                }
                None if time.is_empty() => every(text, period),
                None => Err(unknown(text, examples)),
            },
            ["cron", fields @ ..] => cron_rule(text, fields),
            _ => Err(unknown(text, examples)),
        }
    }

    /// An example of each form.
    pub fn examples() -> impl Iterator<Item = &'static str> {
        EXAMPLES.into_iter().chain([CRON])
    }

    /// A regular expression that matches every schedule. A cron rule that matches may still be invalid.
    pub fn pattern() -> String {
        let clock = "([01]?[0-9]|2[0-3]):[0-5][0-9]";
        let time = format!(r"(\s+at\s+{clock}|\s+between\s+{clock}\s+and\s+{clock})?");
        let forms = [
            "on-demand|on-change|hourly".to_owned(),
            format!("daily{time}"),
            format!(r"weekly(\s+on\s+({}))?{time}", DAYS.join("|")),
            format!(r"monthly(\s+on\s+(0?[1-9]|1[0-9]|2[0-8]|last))?{time}"),
            r"every\s+(0*[1-9][0-9]{0,8}[smhdw]?|0*[1-9][0-9]{3,8}ms)".to_owned(),
            r"cron(\s+\S+){5}".to_owned(),
        ];
        format!(r"^\s*({})\s*$", forms.join("|"))
    }
}

fn unknown(text: &str, examples: &[&str]) -> Error {
    let forms: Vec<String> = examples.iter().map(|form| format!("`{form}`")).collect();
    let forms = forms.join(", ");
    Error::config(format!("`{text}` is not a schedule")).hint(format!("write {forms} or `{CRON}`"))
}

/// The cron expression for a minute of the day on some days, given as day of month, month and day of week.
fn cron_expression(minute: u32, days: &str) -> String {
    format!("{} {} {days}", minute % 60, minute / 60)
}

/// The minute of the day for `at T`, `between T and T` or no words.
fn time_of_day(text: &str, words: &[&str], agent: &str, examples: &[&str]) -> Result<u32> {
    let (from, until) = match words {
        [] => QUIET_HOURS,
        ["at", time] => return minute_of_day(time),
        ["between", from, "and", until] => (minute_of_day(from)?, minute_of_day(until)?),
        _ => return Err(unknown(text, examples)),
    };
    // The window may include midnight.
    match (until + MINUTES_OF_DAY - from) % MINUTES_OF_DAY {
        0 => Err(Error::config(format!("the window of `{text}` is empty"))
            .hint("write two different times: `daily between 01:00 and 05:00`")),
        width => Ok((from + pick(agent, "minute", width)) % MINUTES_OF_DAY),
    }
}

/// Parses `03:30` as minutes since midnight.
fn minute_of_day(text: &str) -> Result<u32> {
    let number = |digits: &str, below: u32| -> Option<u32> {
        let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten().filter(|number| *number < below)
    };
    text.split_once(':')
        .filter(|(_, minutes)| minutes.len() == 2)
        .and_then(|(hours, minutes)| Some(number(hours, 24)? * 60 + number(minutes, 60)?))
        .ok_or_else(|| {
            Error::config(format!("`{text}` is not a time of day"))
                .hint("write hours and minutes from `00:00` to `23:59`")
        })
}

fn day_of_week(text: &str, day: &str) -> Result<usize> {
    DAYS.iter().position(|name| *name == day).ok_or_else(|| {
        Error::config(format!("`{day}` in `{text}` is not a day of the week"))
            .hint(format!("write one of {}", DAYS.map(|day| format!("`{day}`")).join(", ")))
    })
}

/// A day that every month has, in cron syntax.
fn day_of_month(text: &str, day: &str) -> Result<String> {
    if day == "last" {
        return Ok("L".to_owned());
    }
    let plain = day.len() <= 2 && day.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| day.parse().ok())
        .flatten()
        .filter(|day: &u32| (1..=DAYS_OF_MONTH).contains(day))
        .map(|day| day.to_string())
        .ok_or_else(|| {
            Error::config(format!("`{day}` in `{text}` is not a day that every month has"))
                .hint("write a day from `1` to `28`, or `last`")
        })
}

/// The schedule, without its time, that `every WORD TIME` probably means, if the word is no duration.
fn meant_by_every(word: &str, time: &[&str]) -> Option<String> {
    match word {
        "hour" => time.is_empty().then(|| "hourly".to_owned()),
        "day" => Some("daily".to_owned()),
        "week" => Some("weekly".to_owned()),
        "month" => Some("monthly".to_owned()),
        day if DAYS.contains(&day) => Some(format!("weekly on {day}")),
        _ => None,
    }
}

fn every(text: &str, period: &str) -> Result<Schedule> {
    let wrong = |error: Error| Error::config(error.message).hint("write a period such as `every 6h`");
    let period = Span::parse(period).map_err(wrong)?;
    if period < Span::SECOND {
        return Err(
            Error::config(format!("the period of `{text}` is too short")).hint("the shortest is `every 1s`")
        );
    }
    Ok(Schedule::Every { text: text.into(), period, phase: Span(0) })
}

/// Parses the fields of a cron rule.
fn cron_rule(text: &str, fields: &[&str]) -> Result<Schedule> {
    if fields.len() != 5 {
        return Err(
            Error::config(format!("`{text}` has {} cron fields, not five", fields.len())).hint(CRON_HINT)
        );
    }
    // The library ignores empty list items, and searches forever for the slots of an empty field.
    if let Some(field) = fields.iter().find(|field| field.split(',').any(str::is_empty)) {
        return Err(Error::config(format!("`{field}` in `{text}` has a comma with nothing beside it"))
            .hint("write numbers on both sides of a comma: `cron 0,30 3 * * *`"));
    }
    // The library accepts other characters, and then takes seconds to find that such a field has no slot.
    let is_invalid = |char: &char| !(char.is_ascii_alphanumeric() || "*/,-#?+".contains(*char));
    if let Some(invalid) = fields.iter().flat_map(|field| field.chars()).find(is_invalid) {
        return Err(Error::config(format!("`{text}` is not a cron rule: no field has a {invalid:?}"))
            .hint(format!("write letters, digits and `*`, `/`, `,`, `-`, `#`: `{CRON}`")));
    }
    let schedule = calendar(text, &fields.join(" "))?;
    let is_hourly = fields.get(1).is_some_and(|hours| hours.starts_with('*') || *hours == "0-23");
    Ok(match schedule {
        Schedule::Calendar { text, cron, .. } => Schedule::Calendar { text, cron, is_hourly },
        other => other,
    })
}

fn calendar(text: &str, expression: &str) -> Result<Schedule> {
    let cron: Cron = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build()
        .parse(expression)
        .map_err(|error| {
            Error::config(format!("`{text}` is not a cron rule: {}", error.to_string().trim_end_matches('.')))
                .hint(CRON_HINT)
        })?;
    if cron.find_next_occurrence(&reference(), true).is_err() {
        return Err(Error::config(format!("`{text}` never fires"))
            .hint("no year has such a day; check the day of the month and the month"));
    }
    Ok(Schedule::Calendar { text: text.into(), cron: Box::new(cron), is_hourly: false })
}

/// A stable number below `below`, derived from an agent's name and a purpose.
fn pick(agent: &str, purpose: &str, below: u32) -> u32 {
    super::pick(&[agent, purpose], u64::from(below)) as u32
}
