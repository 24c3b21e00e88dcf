//! Whether an agent is due: a pure function over definitions, ledger and time.
