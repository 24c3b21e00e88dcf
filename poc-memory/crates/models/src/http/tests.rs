use super::*;
use crate::mock_model::{Answer, MockModel};
use parking_lot::Mutex;
use poc_agent::testing::request::TestRequest;
use poc_config::Config;
use serde_json::json;
use std::sync::Arc;

/// A provider at the mock server with the key `sk-secret`, which records the waits instead of waiting.
pub(in super::super) fn provider(url: &str) -> (Http, Arc<Mutex<Vec<Duration>>>) {
    let config = Config::defaults().unwrap();
    let mut provider = config.providers["openai"].clone();
    provider.base_url = Some(url.to_owned());
    let key = ApiKey::find(&provider, &|_| Some("sk-secret".into())).unwrap();
    let mut http = Http::new("mock", &provider, &config.calls, key).unwrap();
    http.calls.max_answer_bytes = 100_000;
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = waits.clone();
    http.wait = Box::new(move |delay, _| {
        noted.lock().push(delay);
        true
    });
    (http, waits)
}

struct ObservedCall {
    answer: Result<Value, CallError>,
    waits: Vec<Duration>,
    asked: usize,
}

fn ask_with(server: &MockModel, turn: &TestRequest) -> ObservedCall {
    let (http, waits) = provider(&server.url());
    let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({"a": 1}));
    let answer = http.post(&post, &turn.request(), &CallProgress::start(turn.timeout));
    let waits = waits.lock().clone();
    ObservedCall {
        answer: answer.map_err(|failure| failure.into_call("mock")),
        waits,
        asked: server.requests().len(),
    }
}

fn ask(answers: Vec<Answer>) -> ObservedCall {
    ask_with(&MockModel::script(answers), &TestRequest::new("linker"))
}

fn ok() -> Answer {
    Answer::ok(json!({"fine": true}))
}

/// The message of a call that failed after one request.
fn message(answer: Answer) -> String {
    let seen = ask(vec![answer, ok()]);
    assert_eq!((seen.asked, seen.waits.len()), (1, 0), "{:?}", seen.answer);
    // The prefix names the kind of error.
    match seen.answer.unwrap_err() {
        CallError::Setup(text) => format!("setup: {text}"),
        CallError::Down(text) => format!("down: {text}"),
        CallError::NoCredit(text) => format!("no credit: {text}"),
        CallError::KeyRefused(text) => format!("key refused: {text}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_transient_failure_is_retried() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let seen = ask(vec![Answer::error(status, "overloaded_error", "later"), ok()]);
        assert_eq!((seen.answer, seen.asked), (Ok(json!({"fine": true})), 2), "{status}");
    }
    let seen = ask(vec![Answer::Half(200, b"{\"fine\": true}".to_vec()), ok()]);
    assert_eq!((seen.answer, seen.asked), (Ok(json!({"fine": true})), 2));
}

#[test]
fn a_success_without_json_is_retried() {
    let page = || Answer::Full(200, Vec::new(), b"<html>Try again</html>".to_vec());
    for lost in [page(), Answer::Full(200, Vec::new(), Vec::new())] {
        let seen = ask(vec![lost, ok()]);
        assert_eq!((seen.answer, seen.asked), (Ok(json!({"fine": true})), 2));
    }
    let seen = ask(vec![page(); 9]);
    assert_eq!((seen.asked, seen.waits.len()), (4, 3));
    let text = seen.answer.unwrap_err().to_string();
    assert!(
        text.ends_with(
            "with something that is not JSON; if this persists, check its `base-url` (after 4 attempts)"
        ),
        "{text}"
    );
}

#[test]
fn a_key_does_not_change_replies() {
    for key in ["link", "sk-secret"] {
        let server = MockModel::script(vec![Answer::ok(json!({"link": "sk-secret link"}))]);
        let (own, _) = provider(&server.url());
        let config = Config::defaults().unwrap();
        let http =
            Http { key: ApiKey::find(&config.providers["openai"], &|_| Some(key.into())).unwrap(), ..own };
        let turn = TestRequest::new("linker");
        let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
        let answer = http.post(&post, &turn.request(), &CallProgress::start(turn.timeout)).unwrap();
        assert_eq!(answer, json!({"link": "sk-secret link"}));
    }
}

#[test]
fn waits_double_with_jitter_and_retry_after_is_a_minimum() {
    let busy = || Answer::error(429, "rate_limit_error", "slow down");
    let seen = ask(vec![busy(), busy(), busy().with("retry-after", "30"), ok()]);
    assert!(seen.answer.is_ok(), "{:?}", seen.answer);
    let seconds: Vec<f64> = seen.waits.iter().map(Duration::as_secs_f64).collect();
    assert!((0.5..=1.0).contains(&seconds[0]), "{seconds:?}");
    assert!((1.0..=2.0).contains(&seconds[1]), "{seconds:?}");
    assert_eq!(seconds[2], 30.0);
}

#[test]
fn the_number_of_attempts_is_limited() {
    let seen = ask(vec![Answer::error(529, "overloaded_error", "Overloaded"); 9]);
    assert_eq!((seen.asked, seen.waits.len()), (4, 3));
    assert_eq!(
        seen.answer,
        Err(CallError::Down("`mock` is overloaded (529): Overloaded (after 4 attempts)".into()))
    );
}

#[test]
fn no_wait_starts_if_it_would_end_after_the_deadline() {
    let seen = ask(vec![Answer::error(429, "rate_limit_error", "slow down").with("retry-after", "3600")]);
    assert_eq!((seen.asked, seen.waits.len()), (1, 0));
    assert_eq!(
        seen.answer.unwrap_err().to_string(),
        "`mock` is over its rate limit (429): slow down; the next attempt is due in 1h, after the call's deadline"
    );
}

#[test]
fn a_wait_within_a_call_is_bounded() {
    // The second is more than the longest time that a wait can have.
    for wanted in ["864000", "1e18"] {
        let busy = Answer::error(429, "rate_limit_error", "slow down").with("retry-after", wanted);
        let mut turn = TestRequest::new("linker");
        turn.timeout = Span(7 * Span::DAY.0);
        let seen = ask_with(&MockModel::script(vec![busy, ok()]), &turn);
        assert_eq!(seen.answer, Ok(json!({"fine": true})), "{wanted}");
        assert_eq!(seen.waits, [Config::defaults().unwrap().calls.leave_alone.std()], "{wanted}");
    }
}

#[test]
fn a_permanent_failure_is_not_retried() {
    let quoted = Answer::error(401, "authentication_error", "Incorrect API key provided: sk-secret");
    insta::assert_snapshot!(message(quoted), @"key refused: `mock` refused the key (401); put a valid one into the variable `OPENAI_API_KEY`");
    let region = Answer::error(403, "permission_error", "no access for sk-secret");
    insta::assert_snapshot!(message(region), @"setup: `mock` denied the use of the key in the variable `OPENAI_API_KEY` (403): no access for [key]");
    insta::assert_snapshot!(message(Answer::error(422, "invalid", "temperature\n is odd")), @"setup: `mock` rejected the request (422): temperature is odd");
    insta::assert_snapshot!(message(Answer::error(413, "request_too_large", "too large")), @"setup: `mock` rejected the request (413): too large");
    insta::assert_snapshot!(message(Answer::status(402, json!({"detail": "pay first"}))), @"no credit: the credit or quota of `mock` is used up (402): pay first");
    let quota = Answer::error(429, "insufficient_quota", "You exceeded your current quota");
    insta::assert_snapshot!(message(quota), @"no credit: the credit or quota of `mock` is used up (429): You exceeded your current quota");
    let credit = Answer::error(400, "invalid_request_error", "Your credit balance is too low to go on");
    insta::assert_snapshot!(message(credit), @"no credit: the credit or quota of `mock` is used up (400): Your credit balance is too low to go on");
}

#[test]
fn messages_name_the_requested_address() {
    let without_port = |text: String| {
        let port = text.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().to_owned();
        text.replace(&port, "PORT")
    };
    let missing = Answer::error(404, "not_found_error", "model: nonsense");
    insta::assert_snapshot!(without_port(message(missing)), @"setup: `mock` has no such model or address (404 at `http://127.0.0.1:PORT/ask`): model: nonsense");
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = MockModel::script(vec![ok()]);
    let moved = Answer::status(307, json!({})).with("location", &format!("{}/ask", elsewhere.url()));
    let text = message(moved);
    assert!(text.contains("redirects are not followed"), "{text}");
    assert!(elsewhere.requests().is_empty());
    let target = |location: &str| {
        let text = message(Answer::status(308, json!({})).with("location", location));
        text.split("` to `").nth(1).unwrap().split('`').next().unwrap().to_owned()
    };
    assert_eq!(target("https://user:pass@h.example/a?key=sk-secret#x"), "https://h.example/a");
    assert_eq!(target("/v2/sk-secret/a"), "/v2/[key]/a");
    assert_eq!(target("https://h.example?api_key=abc"), "https://h.example");
}

#[test]
fn the_length_of_a_body_is_limited() {
    let long = Answer::Full(200, Vec::new(), vec![b'1'; 100_001]);
    insta::assert_snapshot!(message(long), @"down: `mock` sent more than the 100000 bytes of `calls.max-answer-bytes`");
    assert!(message(Answer::Endless).contains("`calls.max-answer-bytes`"));
}

#[test]
fn a_server_that_hangs_is_abandoned_at_the_deadline() {
    let server = MockModel::script(vec![Answer::Hang]);
    let turn = TestRequest { timeout: Span(100), ..TestRequest::new("linker") };
    assert_eq!(ask_with(&server, &turn).answer, Err(CallError::TimedOut(Span(100))));
}

#[test]
fn a_response_that_stalls_is_requested_again() {
    let server = MockModel::script(vec![Answer::Stall(b"{\"fine\": false}".to_vec()), ok()]);
    let (mut http, waits) = provider(&server.url());
    http.calls.read_timeout = Span(50);
    let (turn, progress) = (TestRequest::new("linker"), CallProgress::start(Span::MINUTE));
    let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
    assert_eq!(http.post(&post, &turn.request(), &progress).unwrap(), json!({"fine": true}));
    assert_eq!((waits.lock().len(), progress.lost(), server.requests().len()), (1, 1, 2));

    let server = MockModel::script(vec![Answer::Stall(b"{\"fine\": false}".to_vec())]);
    let (mut http, _) = provider(&server.url());
    http.calls.read_timeout = Span(50);
    let turn = TestRequest { attempts: 1, ..turn };
    let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
    let failed = http.post(&post, &turn.request(), &progress).unwrap_err().into_call("mock");
    assert!(failed.to_string().ends_with("its response stalled for 50ms"), "{failed}");
}

#[test]
fn delays_in_messages_are_rounded_up() {
    let check = |millis: u64, text: &str| {
        assert_eq!(rounded_up(Duration::from_millis(millis)).to_string(), text, "{millis}");
    };
    check(1, "1s");
    check(3_566, "4s");
    check(119_001, "2m");
    check(120_001, "3m");
    check(3_599_719, "1h");
}

#[test]
fn all_models_of_a_provider_wait_for_its_retry_after() {
    let busy = Answer::error(429, "rate_limit_error", "slow down").with("retry-after", "30");
    let server = MockModel::script(vec![busy, ok(), ok(), ok()]);
    let retry_after = RetryAfter::default();
    let sharing = || {
        let (http, waits) = provider(&server.url());
        (http.with_retry_after(&retry_after), waits)
    };
    let ask = |http: &Http, timeout: Span| {
        let turn = TestRequest { attempts: 1, timeout, ..TestRequest::new("linker") };
        let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
        http.post(&post, &turn.request(), &CallProgress::start(timeout))
            .map_err(|failure| failure.into_call("mock"))
    };
    let (one, other) = (sharing(), sharing());
    assert!(matches!(ask(&one.0, Span::MINUTE), Err(CallError::Down(_))));
    // The other client waits before its first request, or sends none if its deadline comes first.
    let late = ask(&other.0, Span(1000)).unwrap_err().to_string();
    assert!(late.starts_with("`mock` requested a pause; the next attempt is due in "), "{late}");
    assert_eq!(server.requests().len(), 1);
    assert!(ask(&other.0, Span::MINUTE).is_ok());
    let waited: Vec<f64> = other.1.lock().iter().map(Duration::as_secs_f64).collect();
    assert!(waited.len() == 1 && (20.0..=30.0).contains(&waited[0]), "{waited:?}");
    // A call for which a person waits is sent at once.
    let server_asked = server.requests().len();
    let (attended, waits) = sharing();
    let turn = TestRequest { attempts: 1, attended: true, ..TestRequest::new("linker") };
    let post = HttpRequest::post(attended.url("ask"), Vec::new(), &json!({}));
    assert!(attended.post(&post, &turn.request(), &CallProgress::start(turn.timeout)).is_ok());
    assert!(waits.lock().is_empty() && server.requests().len() == server_asked + 1);
    // A client that does not share the state does not wait.
    let (stranger, waits) = provider(&server.url());
    assert!(ask(&stranger, Span::MINUTE).is_ok() && waits.lock().is_empty());
    // A call for which a person waits is also repeated after its own delay only, however long other calls must wait.
    let server = MockModel::script(vec![
        Answer::error(429, "rate_limit_error", "slow down").with("retry-after", "3600"),
        Answer::error(503, "overloaded_error", "later"),
        ok(),
    ]);
    let (http, _) = provider(&server.url());
    assert!(matches!(ask(&http.with_retry_after(&retry_after), Span::MINUTE), Err(CallError::Down(_))));
    let (http, waits) = provider(&server.url());
    let attended = http.with_retry_after(&retry_after);
    let turn = TestRequest { attended: true, timeout: Span::MINUTE, ..TestRequest::new("linker") };
    let post = HttpRequest::post(attended.url("ask"), Vec::new(), &json!({}));
    assert!(attended.post(&post, &turn.request(), &CallProgress::start(turn.timeout)).is_ok());
    let waited: Vec<f64> = waits.lock().iter().map(Duration::as_secs_f64).collect();
    assert!(waited.len() == 1 && waited[0] < 5.0, "{waited:?}");
}

#[test]
fn a_late_response_is_discarded() {
    let mut answers = vec![Answer::Late(b"{\"late\": true}".to_vec()), ok()].into_iter();
    let server = MockModel::serve(move |_| answers.next().unwrap_or(Answer::Hang));
    let turn = TestRequest { timeout: Span(100), ..TestRequest::new("linker") };
    assert_eq!(ask_with(&server, &turn).answer, Err(CallError::TimedOut(Span(100))));
    server.release();
    assert_eq!(ask_with(&server, &TestRequest::new("linker")).answer, Ok(json!({"fine": true})));
}

#[test]
fn cancellation_ends_the_call_at_once() {
    let turn = TestRequest::new("linker");
    let cancellation = turn.cancellation.clone();
    let server = MockModel::serve(move |_| {
        cancellation.cancel();
        Answer::Hang
    });
    assert_eq!(ask_with(&server, &turn).answer, Err(CallError::Stopped));
    assert_eq!(ask_with(&server, &turn).answer, Err(CallError::Stopped));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn every_timeout_value_is_accepted() {
    for timeout in [Span(i64::MAX), Span(i64::MIN), Span(0)] {
        let turn = TestRequest { timeout, ..TestRequest::new("linker") };
        let answer = ask_with(&MockModel::script(vec![ok()]), &turn).answer;
        assert_eq!(answer.is_ok(), timeout.0 > 0, "{answer:?}");
    }
}

#[test]
fn a_refused_connection_is_reported_as_down() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (http, waits) = provider(&format!("http://{address}"));
    let turn = TestRequest::new("linker");
    let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
    let error =
        http.post(&post, &turn.request(), &CallProgress::start(turn.timeout)).unwrap_err().into_call("mock");
    let text = error.to_string().replace(&address.to_string(), "ADDRESS");
    insta::assert_snapshot!(text, @"`mock` cannot be reached at `http://ADDRESS/ask`: Connection refused (os error 111) (after 4 attempts)");
    assert!(matches!(error, CallError::Down(_)));
    assert_eq!(waits.lock().len(), 3);
}

#[test]
fn an_address_is_checked_before_it_is_used() {
    let config = Config::defaults().unwrap();
    let check = |address: Option<&str>| {
        let mut provider = config.providers["ollama"].clone();
        provider.base_url = address.map(str::to_owned);
        Http::new("p", &provider, &config.calls, None).map(|http| http.url("x").to_string())
    };
    assert_eq!(check(Some("http://h/v1/")), Ok("http://h/v1/x".into()));
    assert_eq!(check(Some("https://h")), Ok("https://h/x".into()));
    for wrong in [None, Some("h:1/v1"), Some("ftp://h"), Some("http://me:secret@h/")] {
        let help = check(wrong).unwrap_err();
        assert!(help.contains("providers.p.base-url") && !help.contains("secret"), "{help}");
    }
}

#[test]
fn no_message_contains_a_part_of_the_key() {
    // The message is truncated in the middle of the key.
    let quoted = Answer::error(403, "permission_error", &format!("{}sk-secret", "x".repeat(297)));
    let shown = message(quoted);
    assert!(!shown.contains("sk-") && shown.ends_with("x[ke"), "{shown}");

    let server = MockModel::script(vec![Answer::status(404, json!({}))]);
    let (http, _) = provider(&format!("{}?key=sk-query", server.url()));
    let turn = TestRequest::new("linker");
    let post = HttpRequest::post(http.url("ask"), Vec::new(), &json!({}));
    let answer = http.post(&post, &turn.request(), &CallProgress::start(turn.timeout));
    let shown = answer.unwrap_err().into_call("mock").to_string();
    assert!(server.requests()[0].line.contains("?key=sk-query") && !shown.contains("sk-query"), "{shown}");
}
