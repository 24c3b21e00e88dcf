//! Error codes, and the exit and HTTP statuses that they map to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a failure. Its name is stable: scripts and clients may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request is malformed: a missing, extra, wrong-typed or out-of-range argument.
    InvalidArgument,
    /// A configuration, agent or template file is malformed.
    InvalidConfig,
    /// The requested item does not exist.
    NotFound,
    /// The request contradicts the stored data: the key is taken, or the node was changed in the
    /// meantime.
    Conflict,
    /// Another process has locked the store.
    Locked,
    /// A service that the request needs is not running, not reachable or busy, or a file cannot be read or written.
    Unavailable,
    /// A permit or a budget refused the request.
    Rejected,
    /// The tenant has a key that the tenant schema does not define.
    TenantUnknownKey,
    /// The tenant has a value that its key does not permit.
    TenantEnumMismatch,
    /// A value of the tenant does not match the pattern of its key.
    TenantPatternMismatch,
    /// The tenant lacks a required key.
    TenantMissingRequired,
    /// The schema requires exactly one of several sets of keys, and the tenant has none of them.
    TenantOneOfNoMatch,
    /// The schema requires exactly one of several sets of keys, and the tenant has more than one.
    TenantOneOfMultipleMatch,
    /// The store accepts no writes because an earlier write to the disk failed.
    ReadOnly,
    /// Stored data is damaged: a checksum does not match, a part is missing, or a record cannot be decoded.
    Damaged,
    /// The request was right, but a defect of the program made it fail.
    Internal,
}

impl Code {
    /// All codes.
    pub const ALL: [Code; 16] = [
        Code::InvalidArgument,
        Code::InvalidConfig,
        Code::NotFound,
        Code::Conflict,
        Code::Locked,
        Code::Unavailable,
        Code::Rejected,
        Code::TenantUnknownKey,
        Code::TenantEnumMismatch,
        Code::TenantPatternMismatch,
        Code::TenantMissingRequired,
        Code::TenantOneOfNoMatch,
        Code::TenantOneOfMultipleMatch,
        Code::ReadOnly,
        Code::Damaged,
        Code::Internal,
    ];

    /// The name as it appears in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Code::InvalidArgument => "invalid_argument",
            Code::InvalidConfig => "invalid_config",
            Code::NotFound => "not_found",
            Code::Conflict => "conflict",
            Code::Locked => "locked",
            Code::Unavailable => "unavailable",
            Code::Rejected => "rejected",
            Code::TenantUnknownKey => "tenant_unknown_key",
            Code::TenantEnumMismatch => "tenant_enum_mismatch",
            Code::TenantPatternMismatch => "tenant_pattern_mismatch",
            Code::TenantMissingRequired => "tenant_missing_required",
            Code::TenantOneOfNoMatch => "tenant_one_of_no_match",
            Code::TenantOneOfMultipleMatch => "tenant_one_of_multiple_match",
            Code::ReadOnly => "read_only",
            Code::Damaged => "damaged",
            Code::Internal => "internal",
        }
    }

    /// Whether the request itself is wrong, so that repeating it unchanged cannot succeed.
    pub fn is_invalid(self) -> bool {
        self.statuses().1 == 400
    }

    /// The exit status of a process that fails with this error.
    pub fn exit(self) -> Exit {
        self.statuses().0
    }

    /// The HTTP status (RFC 9110) of a response with this error.
    pub fn status(self) -> u16 {
        self.statuses().1
    }

    /// The exit status and the HTTP status.
    fn statuses(self) -> (Exit, u16) {
        match self {
            Code::InvalidArgument
            | Code::TenantUnknownKey
            | Code::TenantEnumMismatch
            | Code::TenantPatternMismatch
            | Code::TenantMissingRequired
            | Code::TenantOneOfNoMatch
            | Code::TenantOneOfMultipleMatch => (Exit::Usage, 400),
            Code::InvalidConfig => (Exit::Config, 500),
            Code::Rejected => (Exit::Rejected, 403),
            Code::NotFound => (Exit::Failed, 404),
            Code::Conflict => (Exit::Failed, 409),
            Code::Locked | Code::Unavailable => (Exit::Unavailable, 503),
            Code::ReadOnly => (Exit::Failed, 503),
            Code::Damaged | Code::Internal => (Exit::Failed, 500),
        }
    }
}

/// The exit status of a process. The numbers are part of the interface of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// Failure.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Nothing to do.
    NothingToDo = 3,
    /// Rejected, or stopped by a budget.
    Rejected = 4,
    /// The daemon cannot be reached, another process holds the store, or a file cannot be read or written.
    Unavailable = 5,
    /// A configuration or agent file is invalid (`EX_CONFIG` of sysexits.h).
    Config = 78,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
