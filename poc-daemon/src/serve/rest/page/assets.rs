//! The files of the page, compiled into the program.

use super::super::RestContext;
use super::super::answer::HttpError;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Request};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};

/// The path prefix of the files, before the name.
pub(super) const PATH: &str = "/page/";

/// The styles of every screen, in the order of the cascade.
pub(super) const STYLES: &[&str] = &["base.css", "parts.css", "screens.css"];

/// The modules that every screen imports. They are loaded in parallel instead of one after the other.
pub(super) const SHARED_MODULES: &[&str] = &["api.js", "dom.js", "frame.js", "live.js", "time.js"];

/// The names of the files in the folder `page/` of this package, with their contents.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../../../../page/", $name)))),*]
    };
}

const FILES: &[(&str, &[u8])] = files![
    "agent_editor.js"
    "api.js"
    "base.css"
    "diff.js"
    "dom.js"
    "frame.js"
    "graph_2d.js"
    "graph_canvas.js"
    "graph_gl.js"
    "graph_labels.js"
    "graph_groups.js"
    "graph_layers.js"
    "graph_names.js"
    "icon.svg"
    "link_kinds.js"
    "live.js"
    "parts.css"
    "pipeline_field.js"
    "runs.js"
    "screens.css"
    "screens/activity.js"
    "screens/agents.js"
    "screens/graph.js"
    "screens/health.js"
    "screens/note.js"
    "screens/review.js"
    "screens/search.js"
    "screens/today.js"
    "theme.js"
    "time.js"
    "time_travel.js"
    "undo.js"
    "undo_changes.js"
];

/// A file as it is sent.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    etag: HeaderValue,
    plain: &'static [u8],
    compressed: Bytes,
}

/// All files. They are compressed when the first one is requested.
static ASSETS: LazyLock<Vec<Asset>> =
    LazyLock::new(|| FILES.iter().filter_map(|file| Asset::new(*file)).collect());

impl Asset {
    fn new((name, plain): (&'static str, &'static [u8])) -> Option<Asset> {
        let media_type = match name.rsplit('.').next()? {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => return None,
        };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).ok()?;
        let compressed = encoder.finish().ok()?.into();
        let etag = HeaderValue::from_str(&format!("\"{}\"", blake3::hash(plain).to_hex())).ok()?;
        Some(Asset { name, media_type, etag, plain, compressed })
    }
}

/// Adds the files to a router. They are the same for everybody and need no session.
pub(super) fn add(router: Router, rest: &Arc<RestContext>) -> Router {
    let rest = rest.clone();
    let file = async move |Path(name): Path<String>, request: Request| match find(&name) {
        Some(asset) => answer(asset, request.headers()),
        None => HttpError::no_route(request.uri().path(), rest.config()).into_response(),
    };
    router.route("/page/{*name}", get(file))
}

fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let is_known = headers.get_all(IF_NONE_MATCH).iter().any(|known| known == asset.etag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if accepts_gzip(headers) {
        ([(CONTENT_ENCODING, "gzip")], asset.compressed.clone()).into_response()
    } else {
        asset.plain.into_response()
    };
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    fields.insert(ETAG, asset.etag.clone());
    fields.insert(VARY, HeaderValue::from_static("accept-encoding"));
    // Browsers cache the file but revalidate it on each use, so that a new release takes effect at once.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Whether the client accepts gzip. A quality of 0 excludes it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut encodings = lines.flat_map(|line| line.split(','));
    encodings.any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && parts.all(|part| part.strip_prefix("q=").and_then(|q| q.parse().ok()) != Some(0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    /// The files in the folder, as names below it.
    fn on_disk(folder: &str, names: &mut BTreeSet<String>) {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/page/");
        for entry in fs::read_dir(format!("{root}{folder}")).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                on_disk(&format!("{name}/"), names);
            } else {
                names.insert(name);
            }
        }
    }

    #[test]
    fn every_file_is_served_with_its_type() {
        let mut names = BTreeSet::new();
        on_disk("", &mut names);
        let served: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(served, names);
        for name in STYLES.iter().chain(SHARED_MODULES) {
            assert!(find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn no_file_names_another_server_or_parses_text_as_markup() {
        for asset in ASSETS.iter() {
            let text = std::str::from_utf8(asset.plain).unwrap();
            // The namespace of SVG is a name, not an address.
            let text = text.replace("http://www.w3.org/", "");
            let forbidden = ["http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("];
            for word in forbidden.iter().chain(&["document.write", "new Function", "@import", "localhost"]) {
                assert!(!text.contains(word), "{}: {word}", asset.name);
            }
        }
    }

    #[test]
    fn a_first_screen_is_small() {
        let first = [STYLES, SHARED_MODULES, &["icon.svg", "theme.js", "screens/today.js"]].concat();
        let bytes: usize = first.iter().map(|name| find(name).unwrap().compressed.len()).sum();
        assert!(bytes < 150_000, "{bytes} bytes");
    }

    #[test]
    fn files_are_compressed_and_revalidated() {
        let asset = find("base.css").unwrap();
        let ask = |name, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            answer(asset, &headers)
        };
        let encoded = |value| ask(ACCEPT_ENCODING, value).headers().contains_key(CONTENT_ENCODING);
        assert!(encoded("gzip") && encoded("br, GZIP;q=0.5"));
        assert!(!encoded("br") && !encoded("gzip;q=0") && !encoded(""));
        let fresh = ask(IF_NONE_MATCH, "\"other\"");
        assert_eq!(fresh.status(), StatusCode::OK);
        let etag = fresh.headers()[ETAG].to_str().unwrap();
        assert_eq!(ask(IF_NONE_MATCH, etag).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(fresh.headers()[CACHE_CONTROL], "no-cache");
    }
}
