//! The frame of every screen: head, navigation, and the element for the content.

use super::super::RestContext;
use super::assets;
use super::policy;
use crate::sessions::{Session, SessionAccess};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};

/// A screen, shown by the custom element in the file `screens/ELEMENT.js`.
pub(super) struct Screen {
    /// The name in the navigation and in the title.
    pub(super) name: &'static str,
    /// The paths at which it is served.
    pub(super) paths: &'static [&'static str],
    /// The name of the element, without `-screen`.
    pub(super) element: &'static str,
}

/// The screens in the order of the navigation.
pub(super) const SCREENS: &[Screen] = &[
    Screen { name: "Today", paths: &["/"], element: "today" },
    Screen { name: "Search", paths: &["/search"], element: "search" },
    Screen { name: "Review", paths: &["/review"], element: "review" },
    Screen { name: "Agents", paths: &["/agents", "/agents/{agent}"], element: "agents" },
    Screen { name: "Activity", paths: &["/activity", "/runs/{run}"], element: "activity" },
    Screen { name: "Graph", paths: &["/graph"], element: "graph" },
    Screen { name: "Health", paths: &["/health"], element: "health" },
];

/// The screen of one note, which the navigation does not show.
pub(super) const NOTE: Screen = Screen { name: "Note", paths: &["/notes/{*node}"], element: "note" };

/// A screen with the content that browsers show before the script runs.
pub(super) fn screen(
    rest: &RestContext,
    session: &Session,
    screen: &Screen,
    title: &str,
    content: &Markup,
) -> Response {
    let script = format!("{}screens/{}.js", assets::PATH, screen.element);
    let scope = match session.scope {
        SessionAccess::ReadOnly => "read-only",
        SessionAccess::Full => "full",
        SessionAccess::Person => "person",
    };
    let profile = rest.state.memory.paths.profile();
    let tenant: Vec<String> = session.tenant.pairs().map(|(key, value)| format!("{key}={value}")).collect();
    let path = screen.paths.first().copied().unwrap_or_default();
    policy::document(html! {
        (DOCTYPE)
        html lang="en" data-scope=(scope) data-csrf=(session.csrf_token) data-profile=(profile) data-tenant=(tenant.join("\n")) {
            (head(title, Some(&script)))
            body {
                a.skip href="#content" { "Skip to content" }
                header.bar {
                    a.brand href="/" { "poc-memory" @if profile != "default" { span.profile { (profile) } }
                        @for pair in &tenant { span.profile { bdi { (pair) } } } }
                    nav aria-label="Screens" {
                        @for item in SCREENS {
                            @let item_path = item.paths.first().copied().unwrap_or_default();
                            a href=(item_path) aria-current=[(item_path == path).then_some("page")]
                                data-screen=(item.element) { (item.name) }
                        }
                    }
                    // Filled by the script: search field, theme, state of the session.
                    page-tools data-scope=(scope) {}
                }
                main id="content" tabindex="-1" {
                    (element(screen.element, content))
                    noscript { p.empty { "This page needs JavaScript from this server to show more." } }
                }
                page-status role="status" aria-live="polite" {}
            }
        }
    })
}

/// A document without navigation, for a browser that is not signed in or that requested an unknown address.
pub(super) fn without_navigation(status: StatusCode, title: &str, content: &Markup) -> Response {
    let mut response = policy::document(html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, None))
            body.sign-in { main id="content" { (content) } }
        }
    });
    *response.status_mut() = status;
    response
}

/// The element of a screen around its content. Its name is one of [`SCREENS`] or [`NOTE`], never input.
fn element(name: &str, content: &Markup) -> Markup {
    maud::PreEscaped(format!("<{name}-screen>{}</{name}-screen>", content.0))
}

/// The head of a document.
pub(super) fn head(title: &str, script: Option<&str>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · poc-memory" }
            link rel="icon" href={ (assets::PATH) "icon.svg" } type="image/svg+xml";
            @for style in assets::STYLES {
                link rel="stylesheet" href={ (assets::PATH) (style) };
            }
            // The theme must be known before the first paint.
            script src={ (assets::PATH) "theme.js" } {}
            @if let Some(script) = script {
                @for module in assets::SHARED_MODULES {
                    link rel="modulepreload" href={ (assets::PATH) (module) };
                }
                script type="module" src=(script) {}
            }
        }
    }
}
