//! Tests of downloads from a local hub.

use super::*;
use parking_lot::Mutex;
use poc_config::Config;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::Arc;

/// The response of a hub: status, additional headers, body.
type Response = (u16, String, Vec<u8>);

/// Starts a local hub that answers by path; returns its address and the heads of the received requests.
fn serve(answer: impl Fn(&str) -> Response + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap() > 2 {}
            let path = head.split(' ').nth(1).unwrap().to_owned();
            kept.lock().push(head);
            let (status, headers, body) = answer(&path);
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n");
            // The client may have disconnected.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (address, requests)
}

fn ok(body: &[u8]) -> Response {
    (200, format!("content-length: {}\r\n", body.len()), body.to_vec())
}

fn redirect(to: &str) -> Response {
    (302, format!("location: {to}\r\ncontent-length: 0\r\n"), Vec::new())
}

/// The answer of the hub to a request for the files of the model.
const MODEL_INFO: &[u8] = br#"{"sha": "c0ffee", "siblings": [{"rfilename": "config.json"}, {"rfilename": "vocab.txt"},
    {"rfilename": "pytorch_model.bin"}, {"rfilename": "1_Pooling/config.json"}, {"rfilename": "model.safetensors"}]}"#;

/// Serves the complete model `o/n`.
fn complete_model(path: &str) -> Response {
    match path {
        "/api/models/o/n/revision/main" => ok(MODEL_INFO),
        "/o/n/resolve/c0ffee/model.safetensors" => {
            let sum: String = Sha256::digest(b"weights").iter().map(|byte| format!("{byte:02x}")).collect();
            let (status, headers, body) = ok(b"weights");
            (status, format!("{headers}x-linked-etag: \"{sum}\"\r\n"), body)
        }
        path if path.starts_with("/o/n/resolve/c0ffee/") => ok(path.as_bytes()),
        _ => (404, "content-length: 0\r\n".into(), Vec::new()),
    }
}

struct TestCache {
    folder: tempfile::TempDir,
}

impl TestCache {
    fn new() -> TestCache {
        TestCache { folder: poc_graph::testing::folder() }
    }

    fn cache(&self) -> HubCache {
        let folder = self.folder.path().display().to_string();
        HubCache::from_env(&|name| (name == "HF_HUB_CACHE").then(|| folder.clone())).unwrap()
    }

    fn fetch(&self, address: &str, model: &str) -> Result<FetchedModel> {
        let config = Config::defaults().unwrap().hub;
        let variable = |name: &str| match name {
            "HF_ENDPOINT" => Some(address.to_owned()),
            "HF_TOKEN" => Some("hf_secret".to_owned()),
            _ => None,
        };
        HubClient::new(&config, &variable)?.fetch(&model.parse()?, &self.cache(), &mut |_, _, _| {})
    }

    /// The error message without the address.
    fn report(&self, address: &str, model: &str) -> String {
        self.fetch(address, model).unwrap_err().to_string().replace(address, "HUB")
    }

    fn has_incomplete_files(&self) -> bool {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "incomplete") {
                    return true;
                }
            }
        }
        false
    }
}

#[test]
fn a_model_is_fetched_once_and_found_by_its_name() {
    let (address, requests) = serve(complete_model);
    let test = TestCache::new();
    let first = test.fetch(&address, "o/n").unwrap();
    assert_eq!((first.revision.as_str(), first.files.len()), ("c0ffee", 4));
    assert_eq!(test.cache().find(&"o/n".parse().unwrap()), Some(first.folder.clone()));
    assert_eq!(fs::read(first.folder.join("model.safetensors")).unwrap(), b"weights");
    assert!(first.folder.join("1_Pooling/config.json").is_file());
    assert!(!first.folder.join("pytorch_model.bin").exists() && !test.has_incomplete_files());
    assert!(
        requests.lock().iter().all(|head| head.to_lowercase().contains("authorization: bearer hf_secret"))
    );
    let before = requests.lock().len();
    let second = test.fetch(&address, "o/n").unwrap();
    assert_eq!(second, FetchedModel { bytes: 0, ..first });
    assert_eq!(requests.lock().len(), before + 1);
}

#[test]
fn redirects_to_unlisted_hosts_are_rejected() {
    let (other, requests) = serve(|_| ok(b"weights"));
    let to = format!("{other}/large");
    let (address, _) = serve(move |path| match path {
        "/o/n/resolve/c0ffee/model.safetensors" => redirect(&to),
        path => complete_model(path),
    });
    let test = TestCache::new();
    insta::assert_snapshot!(
        test.report(&address, "o/n"),
        @"`hub.hosts`: `HUB/` redirects to `http://127.0.0.1`, which `hosts` does not contain"
    );
    assert_eq!(requests.lock().len(), 0);
    assert!(test.cache().find(&"o/n".parse().unwrap()).is_none());
    // Redirects within the hub are followed; redirect loops are rejected.
    let (address, _) = serve(|path| match path {
        "/o/n/resolve/c0ffee/vocab.txt" => redirect("/vocabulary"),
        "/vocabulary" => ok(b"words"),
        path => complete_model(path),
    });
    let test = TestCache::new();
    let found = test.fetch(&address, "o/n").unwrap();
    assert_eq!(fs::read(found.folder.join("vocab.txt")).unwrap(), b"words");
    let (address, _) = serve(redirect);
    insta::assert_snapshot!(
        test.report(&address, "o/m"),
        @"no model can be downloaded from `HUB/`: it redirects too many times"
    );
}

#[test]
fn failed_fetches_are_reported_and_leave_no_files() {
    let test = TestCache::new();
    let report = |answer: fn(&str) -> Response, model: &str| {
        let (address, _) = serve(answer);
        let report = test.report(&address, model);
        assert!(
            !test.has_incomplete_files() && test.cache().find(&model.parse().unwrap()).is_none(),
            "{report}"
        );
        report
    };
    let report = [
        report(complete_model, "o/unknown"),
        report(|path| if path.ends_with("/main") { ok(b"hello") } else { complete_model(path) }, "o/n"),
        report(
            |path| {
                if path.ends_with("/main") {
                    ok(br#"{"sha": "../..", "siblings": []}"#)
                } else {
                    complete_model(path)
                }
            },
            "o/n",
        ),
        report(
            |path| {
                if path.ends_with("/main") {
                    ok(br#"{"sha": "c0ffee", "siblings": []}"#)
                } else {
                    complete_model(path)
                }
            },
            "o/n",
        ),
        report(
            |path| {
                if path.ends_with(".txt") {
                    (500, "content-length: 0\r\n".into(), Vec::new())
                } else {
                    complete_model(path)
                }
            },
            "o/n",
        ),
        report(
            |path| match path.ends_with(".txt") {
                true => (200, "content-length: 900\r\n".into(), b"cut off".to_vec()),
                false => complete_model(path),
            },
            "o/n",
        ),
        report(
            |path| match path.ends_with(".safetensors") {
                true => (
                    200,
                    format!("content-length: 5\r\netag: \"{}\"\r\n", "ab".repeat(32)),
                    b"other".to_vec(),
                ),
                false => complete_model(path),
            },
            "o/n",
        ),
    ];
    insta::assert_snapshot!(report.join("\n"), @r"
    `HUB/` does not give access to `/api/models/o/unknown/revision/main` (404 Not Found)
    no model can be downloaded from `HUB/`: its description of `o/n` cannot be read: expected value at line 1 column 1
    no model can be downloaded from `HUB/`: the commit `../..` of the model is not a valid name
    the model `o/n` has no `config.json`
    no model can be downloaded from `HUB/`: 500 Internal Server Error for `/o/n/resolve/c0ffee/vocab.txt`
    no model can be downloaded from `HUB/`: the download of `vocab.txt` ended early: request or response body error
    no model can be downloaded from `HUB/`: `model.safetensors` has the SHA-256 d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, but the hub announced abababababababababababababababababababababababababababababababab
    ");
    // Nothing listens at the address once the listener is dropped.
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = test.fetch(&format!("http://{unused}"), "o/n").unwrap_err();
    assert_eq!(error.code, poc_graph::error::Code::Unavailable);
    insta::assert_snapshot!(
        test.fetch("ftp://hub", "o/n").unwrap_err(),
        @"`HF_ENDPOINT`: `ftp://hub` is not an address"
    );
}
