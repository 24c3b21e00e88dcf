//! The messages of the protocol.

use super::PROTOCOL;
use crate::ops::{Principal, Progress};
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Frame {
    /// The first message of either side.
    Hello {
        /// The sender's protocol and version.
        hello: Hello,
    },
    /// A request to run an op.
    Request {
        /// Chosen by the client; the answer has the same id.
        id: u64,
        /// Name of the op.
        op: String,
        /// Its arguments.
        args: Value,
        /// The actor on whose behalf the op runs; a person if absent.
        #[serde(skip_serializing_if = "is_person")]
        actor: Principal,
    },
    /// The op succeeded.
    Ok {
        /// The id of the request.
        id: u64,
        /// The answer.
        ok: Value,
    },
    /// The op failed.
    Err {
        /// The id of the request.
        id: u64,
        /// The error.
        err: Error,
    },
    /// The op advanced.
    Progress {
        /// The id of the request.
        id: u64,
        /// The progress of the op.
        progress: Progress,
    },
}

/// The sender's protocol and version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version.
    pub protocol: u32,
    /// The version of the program.
    pub version: String,
}

impl Hello {
    /// The hello of this program.
    pub fn current() -> Hello {
        Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
    }

    /// Fails when the other side speaks another protocol. `peer` names it in the message: `the daemon`.
    pub fn check(&self, peer: &str) -> Result<()> {
        if self.protocol == PROTOCOL {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{peer} is version {} and speaks protocol {}, but this program is version {} and speaks protocol {PROTOCOL}",
            self.version,
            self.protocol,
            env!("CARGO_PKG_VERSION")
        ))
        .hint(
            "use `poc-memory` and `poc-daemon` of the same version; after an update, end the former daemon \
             with SIGTERM (`store/lock` has the number of its process), and start the new one",
        ))
    }
}

fn is_person(actor: &Principal) -> bool {
    *actor == Principal::Person
}
