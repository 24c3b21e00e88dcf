//! The media types that a request accepts (RFC 9110, section 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The highest quality, 0 to 1, that a request gives to a media type by name; 0 if it does not name it.
/// Ranges such as `*/*` do not count.
pub(super) fn quality(headers: &HeaderMap, media_type: &str) -> f64 {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(media_range);
    let named = ranges.filter(|(name, _)| name.eq_ignore_ascii_case(media_type));
    named.map(|(_, quality)| quality).fold(0.0, f64::max)
}

/// A media range without its parameters, and its quality from 0 to 1.
fn media_range(range: &str) -> (&str, f64) {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse().ok());
    (media, quality.unwrap_or(1.0))
}
