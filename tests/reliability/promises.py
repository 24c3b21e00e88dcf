"""The promises of RELIABILITY.md, each with the tests that hold it and how often they try."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Promise:
    """A promise and the tests that hold it."""

    name: str
    text: str
    # Parts of the names of tests. Each must match at least one test.
    tests: list[str]
    # Environment of the quick and of the full form.
    quick: dict[str, str] = field(default_factory=dict)
    full: dict[str, str] = field(default_factory=dict)
    # Tests that only the full form runs, because they are ignored by default.
    ignored: list[str] = field(default_factory=list)


PROMISES = [
    Promise(
        "R1",
        "An acknowledged write survives kill -9",
        ["kill::", "schedule::a_killed_run_is_interrupted_and_repeated"],
        {"POC_MEMORY_KILLS": "60"},
        {"POC_MEMORY_KILLS": "2000"},
    ),
    Promise(
        "R2",
        "An acknowledged write survives a power cut",
        ["tests::power_cut::", "sync_order::"],
        {"PROPTEST_CASES": "200", "POC_MEMORY_ACKNOWLEDGEMENTS": "200"},
        {"PROPTEST_CASES": "1000", "POC_MEMORY_ACKNOWLEDGEMENTS": "2000"},
    ),
    Promise(
        "R4",
        "A disk that fails or is full stops writes and not reads, and acknowledges nothing falsely",
        ["tests::full_disk::", "full_disk::", "engine::sled::tests::a_failing_disk_is_not_damage"],
        {"PROPTEST_CASES": "96"},
        {"PROPTEST_CASES": "1000", "POC_MEMORY_DISK_ERRORS": "1000"},
        ["full_disk::however_a_disk_fills", "full_disk::random_errors_of_the_system"],
    ),
    Promise(
        "R5",
        "A damaged index is found and built again",
        [
            "mentions::tests::damaged_snapshots_are_not_loaded",
            "text::tests::damaged_snapshots_are_not_loaded",
            "vectors::tests::damaged_files_are_not_loaded",
            "structure::tests::a_damaged_file_is_not_loaded",
            "per_tenant::tests::damaged_files_of_one_tenant_do_not_affect_others",
            "table::tests::every_damaged_byte_is_detected",
            "tests::fresh::",
        ],
        {},
        {"PROPTEST_CASES": "600"},
    ),
    Promise(
        "R6",
        "A damaged log loses nothing that another part of the store has",
        [
            "tests::read_only::",
            "tests::damage::",
            "tests::checked_segments::",
            "damaged_store::",
            "tests::verify::",
            "doctor::a_deep_check_finds_damage",
            "doctor::a_daemon_verifies_every_week",
        ],
        {},
        {"PROPTEST_CASES": "600"},
    ),
    Promise(
        "R7",
        "A backup restores",
        [
            "backup::tests::",
            "backup::backups_under_load_restore_every_state",
            "backup::a_killed_backup",
            "backup::one_file_is_a_backup",
        ],
        {},
        {"PROPTEST_CASES": "200", "POC_MEMORY_DRILLS": "200"},
        ["backup::many_backups_under_load_restore_every_state"],
    ),
    Promise(
        "R8",
        "Only permitted actions are applied",
        ["tests::hostile_replies::", "candle::tests::every_reply_is_permitted_whatever_the_model"],
        {"POC_MEMORY_HOSTILE": "5000"},
        {"POC_MEMORY_HOSTILE": "100000"},
    ),
    Promise(
        "R9",
        "The content of notes is data",
        ["tests::prompt_injection::", "prompt::fence::", "tests::no_harm::"],
        {},
        {"POC_MEMORY_INERT": "1000000"},
    ),
    Promise(
        "R10",
        "A run can be undone",
        [
            "tests::undo::undo_after_run_is_identity",
            "tests::undo::undo_keeps_later_edits_and_reports_conflicts",
            "tests::undo::undo_skips_and_reports_notes_changed_since",
        ],
        {},
        {"PROPTEST_CASES": "1000"},
    ),
    Promise(
        "R11",
        "No write is overwritten unnoticed",
        [
            "tests::concurrent_writers::",
            "tests::targets::changes_to_neighbors_during_the_call",
            "tests::versions::",
            "callers::none_of_256_simultaneous_changes_is_lost",
        ],
    ),
    Promise(
        "R12",
        "No slot is missed or run twice, and what would run now is predicted",
        [
            "due_slots::tests::year::",
            "tests::week::",
            "tests::races::",
            "schedule::a_daemon_keeps_its_schedule_when_the_clock_jumps",
            "agent_explain::every_run_happens_as_it_was_predicted",
        ],
        {},
        {"POC_MEMORY_YEARS": "1000", "POC_MEMORY_WEEKS": "100"},
    ),
    Promise(
        "R13",
        "Budgets hold",
        ["tests::runaway_agents::", "tests::budgets::", "budget::tests::"],
        {},
        {"POC_MEMORY_RUNAWAY": "500"},
    ),
    Promise(
        "R14",
        "No input ends the daemon",
        [
            "fuzzing::",
            "query::tests::robust::",
            "any_text_is_parsed_or_reported_with_a_position",
            "garbage_is_an_error_and_not_a_panic",
            "records_are_found_among_garbage",
            "no_text_makes_the_parser_panic",
            "wire::tests::random_bytes_never_panic",
            "wire::tests::a_damaged_frame_never_panics",
            "no_query_panics",
            "no_body_panics",
            "view::snapshot::tests::damaged_bytes_do_not_panic",
            "bad_input::",
            "rest::limits::bytes_that_are_not_http_end_only_their_connection",
            "candle::tests::a_damaged_file_is_an_error_not_a_panic",
        ],
        {},
        {"PROPTEST_CASES": "1000000", "POC_MEMORY_FRAMES": "100000"},
        ["bad_input::malformed_frames_neither_end_the_daemon"],
    ),
    Promise(
        "R15",
        "Other users and foreign pages do not reach the memory",
        [
            "only_its_owner_may_use_the_socket",
            "another_user_is_refused_at_the_socket",
            "origin_guard::",
            "rest::token::",
            "sessions::",
            "page::a_",
        ],
    ),
    Promise(
        "R16",
        "Only hosts in the settings are called",
        [
            "a_redirect_is_not_followed",
            "redirects_to_unlisted_hosts_are_rejected",
            "embed::a_model_is_downloaded_on_request",
        ],
    ),
    Promise(
        "R17",
        "Keys and secrets are stored and shown nowhere",
        [
            "key::tests::",
            "no_message_contains_a_part_of_the_key",
            "no_key_is_written_anywhere",
            "secrets::",
            "a_restored_memory_has_settings_and_runs_and_no_secrets",
        ],
    ),
    Promise(
        "R18",
        "Only a person decides",
        [
            "page::only_a_person_decides",
            "callers::frames_of_a_model_are_refused_what_only_a_person_may_do",
            "callers::tokens_have_roles",
            "ops::tests::callers::",
            "only_people_call_what_is_for_people",
            "tests::reader::",
            "tests::callers::",
            "origin_guard::delete_exists_when_it_is_enabled",
        ],
    ),
    Promise(
        "R19",
        "One process owns a store, and every answer says how fresh it is",
        ["lock::tests::", "tests::fresh::", "opening::", "callers::a_starting_daemon_waits"],
        {"POC_MEMORY_STARTS": "2"},
        {"POC_MEMORY_STARTS": "200"},
    ),
    Promise(
        "R20",
        "Compaction keeps every live note, and an erased text is in no file",
        ["tests::compact::", "compact::", "erasure::tests::"],
        {},
        {"PROPTEST_CASES": "200"},
    ),
    Promise(
        "R21",
        "A request stops computing when nobody waits for its answer",
        [
            "ops::tests::callers::",
            "structure::tests::an_interrupted_computation_ends_early",
            "rest::limits::",
        ],
    ),
    Promise(
        "R22",
        "Daemons over one log lose no acknowledged write and apply none twice",
        [
            "tests::shared_log::",
            "tests::shared_snapshot::",
            "tests::shared_history::",
            "tests::several_daemons::",
            "tests::cut_connections::",
            "tests::other_clock::",
            "shared_log::",
        ],
        {},
        {"PROPTEST_CASES": "2000", "POC_MEMORY_FAULTS": "200"},
        [
            "cut_connections::calls_and_stores",
            "cut_connections::a_daemon_recovers_from_a_cut_at_every_message",
            "histories::writers_lose_and_repeat_nothing_over_many",
        ],
    ),
]
