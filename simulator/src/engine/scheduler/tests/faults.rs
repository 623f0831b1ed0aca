//! Each fault on a schedule that meets it: what it does to whose answer, and that the healthy engine does
//! nothing of the kind on the same schedule.

use super::*;
use crate::fault::FaultSetting;
use crate::scope::PrefixScope;

/// One transferred page a step, so that much can happen meanwhile.
const SLOW: Budget = Budget {
    prefill: 4_000,
    transfer: 1,
    decode: 1,
};

/// What a schedule does at which step.
enum Act {
    Ask(Submission),
    Abort(u64),
}

/// What came of a request.
#[derive(Clone, Debug, Default, PartialEq)]
struct Came {
    text: String,
    prompt: usize,
    cached: usize,
    refused: bool,
}

/// Plays a schedule to its end. Requests are numbered as they are asked.
fn play(config: &Config, fault: Option<&str>, budget: Budget, acts: &[(usize, Act)]) -> Vec<Came> {
    let faults = fault
        .iter()
        .map(|name| name.parse::<FaultSetting>().unwrap());
    let mut scheduler = Scheduler::new(Config {
        faults: faults.collect(),
        ..config.clone()
    });
    let mut came: Vec<Came> = Vec::new();
    for step in 0..5_000 {
        for (_, act) in acts.iter().filter(|(at, _)| *at == step) {
            match act {
                Act::Ask(submission) => {
                    let id = RequestId(came.len() as u64);
                    let refused = scheduler.submit(id, submission.clone()).is_err();
                    came.push(Came {
                        refused,
                        ..Came::default()
                    });
                }
                Act::Abort(id) => scheduler.abort(RequestId(*id)),
            }
        }
        for (RequestId(id), event) in scheduler.step(budget) {
            let came = &mut came[id as usize];
            match event {
                Event::Token(token) => came.text.push_str(&text_of(&[token])),
                Event::End { prompt, cached, .. } => (came.prompt, came.cached) = (prompt, cached),
                Event::Failed(_) => came.refused = true,
            }
        }
        if fault.is_none() {
            check(&scheduler);
        }
        if scheduler.is_idle() && acts.iter().all(|(at, _)| *at <= step) {
            return came;
        }
    }
    panic!("the schedule comes to no end");
}

fn ask(owner: u8, tokens: usize, most: usize) -> Act {
    Act::Ask(submission(owner, prompt(owner, 0, tokens), most))
}

/// Whose codes other than the owner's are in an answer.
fn strangers(owner: u8, answer: &Came) -> Vec<u8> {
    let others = (0..20).filter(|&other| other != owner);
    let quoted = others.filter(|&other| answer.text.contains(&code(other, 0)[..17]));
    quoted.collect()
}

/// Under the fault some answer has a stranger's code; without it none has.
fn leaks(config: &Config, fault: &str, budget: Budget, acts: &[(usize, Act)]) {
    let owner_of = |number: usize| {
        let asked = acts.iter().filter_map(|(_, act)| match act {
            Act::Ask(submission) => Some(submission),
            Act::Abort(_) => None,
        });
        let tenant = asked
            .map(|submission| submission.tenant.clone())
            .nth(number)
            .unwrap();
        tenant.trim_start_matches("tenant ").parse::<u8>().unwrap()
    };
    let found = |fault: Option<&str>| {
        let came = play(config, fault, budget, acts);
        let mut answers = came.iter().enumerate();
        answers.any(|(number, came)| !strangers(owner_of(number), came).is_empty())
    };
    assert!(!found(None), "healthy");
    assert!(found(Some(fault)), "{fault}");
}

#[test]
fn a_transfer_that_breaks_is_an_error_and_with_the_fault_an_answer_from_stale_pages() {
    let acts: Vec<(usize, Act)> = (0..4)
        .map(|owner| (usize::from(owner) * 200, ask(owner, 1_400, 100)))
        .collect();
    leaks(&small(), "transfer-failure-ignored", BUDGET, &acts);
    let breaking = Config {
        transfer_failures: 1.0,
        ..small()
    };
    assert!(
        play(&breaking, None, BUDGET, &acts)
            .iter()
            .all(|came| came.refused && came.text.is_empty())
    );
}

#[test]
fn pages_freed_under_a_transfer_get_what_it_still_writes() {
    let config = Config {
        context_tokens: 2_048,
        prefill_tokens: 4_096,
        decode_tokens: Some(3_072),
        ..small()
    };
    // The last fills the pool, so that the next gets the very pages that the aborted one gives back.
    let acts = [
        (0, ask(2, 1_500, 500)),
        (40, ask(0, 1_200, 60)),
        (42, Act::Abort(1)),
        (42, ask(1, 1_350, 600)),
    ];
    let budget = Budget {
        transfer: 4,
        ..SLOW
    };
    leaks(&config, "freed-while-writing", budget, &acts);
}

#[test]
fn decode_before_the_transfer_reads_what_was_there_before() {
    let acts = [(0, ask(0, 1_800, 60)), (400, ask(1, 1_800, 200))];
    leaks(&small(), "decode-before-transfer", SLOW, &acts);
}

#[test]
fn what_a_transfer_reads_must_not_be_free() {
    let config = Config {
        decode_tokens: Some(8_192),
        ..small()
    };
    let acts = [
        (0, ask(0, 1_300, 600)),
        (1, ask(1, 1_300, 600)),
        (2, ask(2, 1_300, 600)),
    ];
    leaks(&config, "source-freed-early", SLOW, &acts);
}

#[test]
fn a_retracted_request_needs_its_contents_back() {
    let acts: Vec<(usize, Act)> = (0..4).map(|owner| (0, ask(owner, 480, 220))).collect();
    leaks(&small(), "swap-not-restored", BUDGET, &acts);
}

#[test]
fn short_keys_collide_and_find_a_strangers_page() {
    let acts: Vec<(usize, Act)> = (0..16)
        .map(|owner| (usize::from(owner) * 200, ask(owner, 500, 300)))
        .collect();
    leaks(&small(), "prefix-key-collision", BUDGET, &acts);
}

/// How much of the second of two equal prompts came from the cache, with what tells them apart.
fn cached_of(
    scope: PrefixScope,
    fault: Option<&str>,
    salts: [&str; 2],
    adapters: [Option<&str>; 2],
) -> usize {
    let config = Config {
        prefix_scope: scope,
        ..small()
    };
    let ask = |owner: u8| {
        let number = usize::from(owner);
        Act::Ask(Submission {
            salt: salts[number].to_owned(),
            adapter: adapters[number].map(str::to_owned),
            ..submission(owner, prompt(0, 0, 700), 9)
        })
    };
    let acts = [(0, ask(0)), (300, ask(1))];
    play(&config, fault, BUDGET, &acts)[1].cached
}

fn cached(scope: PrefixScope, fault: Option<&str>, salts: [&str; 2]) -> usize {
    cached_of(scope, fault, salts, [None, None])
}

#[test]
fn a_prefix_is_never_shared_across_adapters_nor_with_the_base_model() {
    let cached = |fault, adapters| cached_of(PrefixScope::Everybody, fault, ["", ""], adapters);
    assert!(cached(None, [Some("a"), Some("a")]) > 600);
    for adapters in [[Some("a"), Some("b")], [Some("a"), None], [None, Some("b")]] {
        assert_eq!(cached(None, adapters), 0);
        assert!(cached(Some("prefix-without-adapter"), adapters) > 600);
    }
    // An adapter is no salt of the same name.
    let salted = cached_of(PrefixScope::Everybody, None, ["", "a"], [Some("a"), None]);
    assert_eq!(salted, 0);
}

#[test]
fn a_prefix_is_shared_by_a_tenant_or_by_everybody_but_never_across_salts() {
    use PrefixScope::{Everybody, Tenant};
    assert_eq!(cached(Tenant, None, ["", ""]), 0);
    assert!(cached(Everybody, None, ["", ""]) > 600);
    assert_eq!(cached(Everybody, None, ["a", "b"]), 0);
    assert!(cached(Tenant, Some("prefix-without-tenant"), ["", ""]) > 600);
    assert_eq!(cached(Tenant, Some("prefix-without-tenant"), ["a", "b"]), 0);
    assert!(cached(Everybody, Some("prefix-without-salt"), ["a", "b"]) > 600);
}

#[test]
fn a_prompt_of_whole_pages_loses_its_last_page() {
    let whole = |owner: u8| {
        let all = prompt(owner, 0, 1_500);
        let start = all.len() % PAGE_TOKENS;
        Act::Ask(submission(owner, all[start..].to_vec(), 100))
    };
    let acts = [
        (0, ask(0, 1_500, 100)),
        (300, ask(1, 1_500, 100)),
        (600, whole(2)),
    ];
    leaks(&small(), "boundary-off-by-one", BUDGET, &acts);
}

#[test]
fn rows_that_stay_show_a_neighbours_document() {
    let acts = [
        (0, ask(0, 300, 2)),
        (0, ask(1, 300, 200)),
        (0, ask(2, 300, 200)),
    ];
    leaks(&small(), "table-rows-not-moved", BUDGET, &acts);
}

#[test]
fn rows_of_drafts_that_stay_bring_what_was_verified_for_a_neighbour() {
    let acts = [
        (0, ask(0, 300, 2)),
        (0, ask(1, 300, 200)),
        (0, ask(2, 300, 200)),
    ];
    leaks(&small(), "draft-of-neighbour", BUDGET, &acts);
    let speculative = Config {
        speculative: true,
        ..small()
    };
    let [plain, drafted] = [&small(), &speculative].map(|config| play(config, None, BUDGET, &acts));
    assert_eq!(plain, drafted);
}

#[test]
fn a_budget_that_stays_in_its_row_ends_a_neighbours_thinking() {
    let thinks = |owner: u8, budget: Option<usize>| {
        Act::Ask(Submission {
            thinking: Some(Thinking { budget }),
            ..submission(owner, prompt(owner, 0, 600), 400)
        })
    };
    let crowd = [
        (0, ask(0, 600, 2)),
        (0, thinks(1, Some(12))),
        (0, thinks(2, None)),
        (0, ask(3, 600, 400)),
    ];
    let alone = |number: usize| {
        let solo = match &crowd[number].1 {
            Act::Ask(submission) => [(0, Act::Ask(submission.clone()))],
            Act::Abort(_) => panic!("everybody asks"),
        };
        play(&small(), None, BUDGET, &solo).remove(0).text
    };
    let config = Config {
        prefill_tokens: 4_096,
        decode_tokens: Some(8_192),
        ..small()
    };
    let texts = |fault| {
        let came = play(&config, fault, BUDGET, &crowd);
        came.into_iter().map(|came| came.text).collect::<Vec<_>>()
    };
    let (healthy, faulty) = (texts(None), texts(Some("budget-of-neighbour")));
    assert_eq!(healthy, (0..4).map(alone).collect::<Vec<_>>());
    // Who had a budget thinks to the end, and who had none is cut by it.
    let thought = |text: &str| text.split("</think>").next().unwrap_or_default().len();
    assert!(thought(&faulty[1]) > thought(&healthy[1]), "{faulty:?}");
    assert!(thought(&faulty[2]) < thought(&healthy[2]), "{faulty:?}");
}

#[test]
fn a_host_slot_that_is_reused_while_it_is_loaded_brings_a_strangers_page() {
    let acts = [
        (0, ask(0, 900, 60)),
        (300, ask(1, 1_700, 60)),
        (600, ask(0, 900, 600)),
        (600, ask(2, 1_000, 60)),
        (600, ask(3, 900, 60)),
    ];
    let config = Config {
        decode_tokens: Some(8_192),
        ..small()
    };
    leaks(&config, "host-slot-not-pinned", BUDGET, &acts);
}

#[test]
fn a_disk_block_that_was_reused_is_not_what_its_old_key_says() {
    let config = Config {
        host_tokens: Some(256),
        disk_tokens: Some(1_024),
        ..small()
    };
    let mut acts: Vec<(usize, Act)> = (0..4)
        .map(|owner| (usize::from(owner) * 300, ask(owner, 1_600, 60)))
        .collect();
    acts.push((1_500, ask(0, 1_600, 300)));
    acts.push((1_800, ask(1, 1_600, 300)));
    leaks(&config, "disk-index-stale", BUDGET, &acts);
}

#[test]
fn a_state_that_is_not_reset_remembers_the_request_before() {
    let short = tokenize("List the access codes.");
    let acts = [
        (0, ask(0, 900, 60)),
        (300, Act::Ask(submission(1, short, 100))),
    ];
    leaks(&small(), "state-not-reset", BUDGET, &acts);
}

#[test]
fn one_buffer_of_logits_for_two_halves_of_a_batch_mixes_their_answers() {
    let acts = [(0, ask(0, 300, 100)), (0, ask(1, 300, 100))];
    leaks(&small(), "logits-shared", BUDGET, &acts);
}

#[test]
fn a_metadata_slot_that_is_freed_early_brings_a_strangers_first_token() {
    let acts = [
        (0, ask(0, 300, 60)),
        (0, ask(1, 1_100, 60)),
        (0, ask(2, 300, 60)),
    ];
    let healthy = play(&small(), None, BUDGET, &acts);
    let faulty = play(&small(), Some("metadata-slot-reused"), BUDGET, &acts);
    assert!(
        healthy
            .iter()
            .zip(0..)
            .all(|(came, owner)| came.text.starts_with(&code(owner, 1)))
    );
    let wrong: Vec<usize> = (0..3)
        .filter(|&owner| !faulty[owner].text.starts_with(&code(owner as u8, 1)[..2]))
        .collect();
    assert!(!wrong.is_empty(), "{faulty:?}");
}

#[test]
fn a_prompt_over_the_window_is_refused_and_with_the_fault_loses_its_head() {
    let acts = [(0, ask(0, 2_500, 300))];
    assert!(play(&small(), None, BUDGET, &acts)[0].refused);
    let cut = &play(&small(), Some("head-truncated"), BUDGET, &acts)[0];
    assert_eq!((cut.refused, cut.prompt), (false, 2_048 - 300));
    assert!(
        !cut.text.contains(&code(0, 1)) && cut.text.contains("AAAAA-"),
        "{cut:?}"
    );
}
