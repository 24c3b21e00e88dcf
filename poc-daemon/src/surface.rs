//! The servers through which ops are called.

/// The server that a call came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The Unix socket.
    Socket,
    /// REST, called by a program.
    Rest,
    /// The page.
    Page,
    /// MCP over HTTP.
    Mcp,
}

impl Surface {
    /// Its name in the labels of metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Surface::Socket => "socket",
            Surface::Rest => "rest",
            Surface::Page => "page",
            Surface::Mcp => "mcp",
        }
    }
}
