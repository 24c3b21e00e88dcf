use super::*;
use crate::testing;
use poc_agent::model::RejectedReply;
use poc_agent::testing::request::TestRequest;
use poc_config::{Config, ProviderKind};
use poc_graph::time::Span;
use std::time::Instant;

fn model(command: &[&str]) -> Result<CommandModel, String> {
    let config = Config::defaults().unwrap();
    let provider = ProviderConfig {
        command: Some(command.iter().map(|word| (*word).to_owned()).collect()),
        ..testing::provider(ProviderKind::Command)
    };
    let mut model = config.models["sonnet"].clone();
    model.provider = "mine".into();
    CommandModel::new(model, &provider, config.calls, &crate::environment::environment)
}

/// The reply of a model that is this shell script.
fn shell(script: &str, turn: &TestRequest) -> Result<Reply, CallError> {
    let mut model = model(&["sh", "-c", script]).unwrap();
    model.calls.max_answer_bytes = 100_000;
    model.calls.backoff = Span(0);
    model.call(&turn.request()).map_err(|failed| failed.error)
}

/// The cost of a call in US dollars and whether it is estimated, whether the call succeeds or fails.
fn dollars(script: &str, turn: &TestRequest) -> (f64, bool) {
    let mut model = model(&["sh", "-c", script]).unwrap();
    model.calls.backoff = Span(0);
    let outcome = model.call(&turn.request());
    let spent = outcome.map_or_else(|failed| failed.spent, |reply| reply.spent);
    (spent.iter().filter_map(|spent| spent.cost).sum(), spent.iter().any(|spent| spent.estimated))
}

fn text(script: &str) -> String {
    shell(script, &TestRequest::new("linker")).unwrap().text
}

fn failure(script: &str) -> CallError {
    shell(script, &TestRequest { attempts: 1, ..TestRequest::new("linker") }).unwrap_err()
}

#[test]
fn the_prompt_goes_in_and_the_reply_comes_out() {
    let text = text("cat");
    assert!(text.starts_with("the system\n\nthe prompt\n\nAnswer with one JSON object"), "{text}");
}

#[test]
fn the_program_runs_in_an_empty_temporary_folder() {
    let folder = text("ls -A; pwd");
    assert_eq!(folder.lines().count(), 1, "{folder}");
    assert!(!std::path::Path::new(folder.trim()).exists());
}

#[test]
fn claudes_envelope_is_unwrapped() {
    let reply =
        shell("cat >&2; printf '%s' '{\"type\":\"result\",\"result\":\"{}\"}'", &TestRequest::new("linker"))
            .unwrap();
    assert_eq!(reply.text, "{}");
}

#[test]
fn a_program_may_ignore_its_input() {
    let turn = TestRequest {
        corrections: vec![RejectedReply { reply: "x".repeat(1 << 20), correction: "again".into() }],
        ..TestRequest::new("linker")
    };
    assert_eq!(shell("exec 0<&-; echo {}", &turn).unwrap().text.trim(), "{}");
}

#[test]
fn a_failure_message_ends_with_standard_error() {
    let CallError::Down(message) = failure("echo start >&2; echo 'not logged in' >&2; exit 3") else {
        panic!()
    };
    insta::assert_snapshot!(message, @"`mine` ended with exit status: 3: start not logged in");
    let CallError::Down(message) = failure("yes error | head -c 100000 >&2; echo last >&2; exit 1") else {
        panic!()
    };
    assert!(message.len() < 600 && message.ends_with("last"), "{}", message.len());
    let CallError::Down(message) = failure("exit 1") else { panic!() };
    insta::assert_snapshot!(message, @"`mine` ended with exit status: 1: it wrote nothing");
}

#[test]
fn the_length_of_the_output_is_limited() {
    let CallError::Down(message) = failure("yes") else { panic!() };
    insta::assert_snapshot!(message, @"`mine` wrote more than the 100000 bytes of `calls.max-answer-bytes`");
    let CallError::Down(message) = failure("head -c 100001 /dev/zero") else { panic!() };
    insta::assert_snapshot!(message, @"`mine` wrote more than the 100000 bytes of `calls.max-answer-bytes`");
}

#[test]
fn the_process_group_is_killed_at_the_deadline() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("sleep 600 & echo $! > {}; wait", file.path().display());
    let turn = TestRequest { timeout: Span(300), ..TestRequest::new("linker") };
    assert_eq!(shell(&script, &turn), Err(CallError::TimedOut(Span(300))));
    check_ended(file.path());
}

#[test]
fn processes_that_a_program_leaves_behind_are_killed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let begun = Instant::now();
    assert_eq!(text(&format!("sleep 600 & echo $! > {}; echo {{}}", file.path().display())).trim(), "{}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    check_ended(file.path());
}

#[test]
fn cancellation_kills_the_program() {
    let turn = TestRequest::new("linker");
    turn.cancellation.cancel();
    assert_eq!(shell("echo {}", &turn), Err(CallError::Stopped));
    let turn = TestRequest::new("linker");
    let cancellation = turn.cancellation.clone();
    let pipe = poc_graph::testing::folder();
    let begun = pipe.path().join("begun");
    let script = format!("touch {}; sleep 600", begun.display());
    let stopper = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::yield_now();
        }
        cancellation.cancel();
    });
    assert_eq!(shell(&script, &turn), Err(CallError::Stopped));
    stopper.join().unwrap();
}

#[test]
fn a_missing_program_is_reported_before_the_call() {
    insta::assert_snapshot!(model(&["no-such-program"]).err().unwrap(), @"install `no-such-program`, or use its absolute path; it is not on the `PATH`");
    insta::assert_snapshot!(model(&["/no/such/program"]).err().unwrap(), @"the program `/no/such/program` does not exist");
    insta::assert_snapshot!(model(&["bin/program"]).err().unwrap(), @"write `bin/program` as an absolute path or with `~/` in front");
    insta::assert_snapshot!(model(&[]).err().unwrap(), @r#"put `providers.mine.command = ["program", "argument"]` into config.toml"#);
}

/// Waits until the process whose id a script wrote to a file has ended; it may stay a zombie.
fn check_ended(file: &std::path::Path) {
    let pid = std::fs::read_to_string(file).unwrap();
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if status.is_empty() || status.contains(") Z ") {
            return;
        }
        assert!(Instant::now() < limit, "{status}");
        std::thread::yield_now();
    }
}

#[test]
fn the_cost_is_the_reported_one_or_an_estimate_or_the_upper_bound() {
    let turn = TestRequest { attempts: 1, ..TestRequest::new("linker") };
    let reported = r#"printf '%s' '{"is_error":true,"result":"no","total_cost_usd":0.25}'"#;
    assert_eq!(dollars(reported, &turn), (0.25, false));
    assert_eq!(dollars(&format!("{reported}; exit 1"), &turn), (0.25, false));
    assert_eq!(dollars("exit 1", &turn), (0.0, false));
    // Without a cost, tokens have the prices of the settings.
    let counted = r#"printf '%s' '{"result":"{}","usage":{"input_tokens":2000,"output_tokens":1000}}'"#;
    let (cost, estimated) = dollars(counted, &turn);
    let prices = Config::defaults().unwrap().models["sonnet"].clone();
    let expected = (prices.input_price.unwrap() * 2000.0 + prices.output_price.unwrap() * 1000.0) / 1e6;
    assert!((cost - expected).abs() < 1e-9 && !estimated, "{cost}, not {expected}");
    // A program that reports nothing costs what its texts suggest, and not the longest possible reply.
    let (small, estimated) = dollars("echo {}", &turn);
    assert!(small > 0.0 && small < 0.02 && estimated, "{small}");
    let (long, _) = dollars("head -c 30000 /dev/zero | tr '\\0' x", &turn);
    assert!(long > small + 9000.0 * prices.output_price.unwrap() / 1e6, "{long}");
    let hasty = TestRequest { timeout: Span(100), ..TestRequest::new("linker") };
    let (max_cost, estimated) = dollars("sleep 60", &hasty);
    assert!(max_cost > 0.1 && max_cost > long && estimated, "{max_cost}");
    assert!(model(&["sh", "-c", "sleep 60"]).unwrap().max_cost(&turn.request()).unwrap() <= max_cost);
}

#[test]
fn the_program_gets_only_the_usual_and_the_named_variables() {
    let config = Config::defaults().unwrap();
    let provider = ProviderConfig {
        key_env: Some("MY_KEY".into()),
        command: Some(vec!["/bin/sh".into(), "-c".into(), "env; echo sk-my-secret >&2; exit $CODE".into()]),
        env: Some(vec!["MY_SETTING".into(), "UNSET".into(), "CODE".into()]),
        ..testing::provider(ProviderKind::Command)
    };
    let environment = |code: &'static str| {
        move |name: &str| match name {
            "UNSET" => None,
            "CODE" => Some(code.to_owned()),
            "MY_KEY" => Some("sk-my-secret".to_owned()),
            "PATH" => Some("/usr/bin:/bin".to_owned()),
            other => Some(format!("the {other}")),
        }
    };
    let model = |code| {
        let mut model = config.models["sonnet"].clone();
        model.provider = "mine".into();
        CommandModel::new(model, &provider, config.calls.clone(), &environment(code)).unwrap()
    };
    let turn = TestRequest { attempts: 1, ..TestRequest::new("linker") };
    let text = model("0").call(&turn.request()).unwrap().text;
    let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    let expected = [
        "CODE",
        "HOME",
        "LANG",
        "LC_ALL",
        "LOGNAME",
        "MY_KEY",
        "MY_SETTING",
        "PATH",
        "POC_MEMORY_AGENT",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    ];
    assert_eq!(names, expected);
    assert!(
        text.contains("POC_MEMORY_AGENT=linker\n") && text.contains("MY_SETTING=the MY_SETTING\n"),
        "{text}"
    );
    // No message contains its key.
    let CallError::Down(message) = model("3").call(&turn.request()).unwrap_err().error else { panic!() };
    insta::assert_snapshot!(message, @"`mine` ended with exit status: 3: [key]");
}

#[test]
fn a_transient_failure_is_retried_and_each_attempt_is_charged() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let count = file.path().display();
    let script = format!(
        r#"echo x >> {count}; printf '{{"is_error":%s,"result":"{{}}","total_cost_usd":0.25}}' $(test $(wc -l < {count}) -lt 3 && echo true || echo false)"#
    );
    assert_eq!(dollars(&script, &TestRequest::new("linker")), (0.75, false));
    let begun = format!("echo x >> {count}; exit 1");
    assert!(matches!(shell(&begun, &TestRequest::new("linker")), Err(CallError::Down(_))));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap().lines().count(), 3 + 4);
}

#[test]
fn permanent_failures_are_recognized() {
    for message in ["Credit balance is too low", "Claude AI usage limit reached|1760000000"] {
        let script = format!(r#"printf '%s' '{{"is_error":true,"result":"{message}"}}'; exit 1"#);
        let failed = shell(&script, &TestRequest::new("linker")).unwrap_err();
        assert!(matches!(&failed, CallError::NoCredit(text) if text.contains(message)), "{failed:?}");
    }
    let login = r#"printf '%s' '{"is_error":true,"result":"Invalid API key · Please run /login"}'"#;
    assert!(matches!(shell(login, &TestRequest::new("linker")), Err(CallError::KeyRefused(_))));
}
