#![allow(clippy::unwrap_used)]

mod faults;

use super::*;
use crate::engine::Thinking;
use crate::engine::request::Transfer;
use crate::engine::thinking::{CLOSING, OPENING};
use crate::kv::{Key, PAGE_TOKENS, PageId, pages_for};
use crate::token::{Token, text_of, tokenize};
use proptest::prelude::*;
use std::collections::HashMap;

const BUDGET: Budget = Budget {
    prefill: 700,
    transfer: 3,
    decode: 1,
};

/// A small engine whose pools hold a few requests at most, over tiers that hold a few more.
fn scheduler() -> Scheduler {
    Scheduler::new(small())
}

fn small() -> Config {
    Config {
        context_tokens: 2_048,
        prefill_tokens: 2_048,
        decode_tokens: Some(2_048),
        host_tokens: Some(1_024),
        disk_tokens: Some(1_024),
        ..Config::default()
    }
}

/// A prompt of about so many tokens; `stem` of them are the same for everybody.
fn prompt(owner: u8, stem: usize, tokens: usize) -> Vec<Token> {
    let mut all = tokenize(&"The board agreed. ".repeat(stem));
    all.truncate(stem);
    let mut section = 0;
    while all.len() < tokens {
        section += 1;
        let code = code(owner, section);
        all.extend(tokenize(&format!(
            "\n\nSection {section}\n\nCode {code}. Good."
        )));
    }
    all.extend(tokenize("\n\nList the access codes."));
    all
}

/// A code that begins with its owner's letter.
fn code(owner: u8, section: usize) -> String {
    let letter = char::from(b'A' + owner).to_string();
    format!("{}-12345-67890-00000-{section:06}", letter.repeat(5))
}

fn submission(owner: u8, prompt: Vec<Token>, most: usize) -> Submission {
    Submission {
        prompt: prompt.into(),
        most,
        tenant: format!("tenant {owner}"),
        salt: String::new(),
        adapter: None,
        thinking: None,
    }
}

fn prefill_pages(scheduler: &Scheduler) -> (usize, usize) {
    let pages = scheduler.state().prefill;
    (pages.free, pages.all)
}

fn decode_pages(scheduler: &Scheduler) -> (usize, usize) {
    let pages = scheduler.state().decode;
    (pages.free, pages.all)
}

/// What a request is answered alone, without a batch, a cache or a draft.
fn whole_answer(submission: &Submission) -> Vec<Token> {
    let text = text_of(&submission.prompt);
    let mut whole = Vec::new();
    if let Some(Thinking { budget }) = submission.thinking {
        let body = tokenize(&crate::model::thoughts(text.as_bytes()));
        let within = budget.map_or(body.len(), |budget| budget.min(body.len()));
        whole = [&OPENING[..], &body[..within], &CLOSING[..]].concat();
    }
    whole.extend(tokenize(&crate::model::answer(text.as_bytes())));
    whole.truncate(submission.most);
    whole
}

/// What must hold of a healthy engine between any two steps.
fn check(scheduler: &Scheduler) {
    let tables = |of: fn(&Request) -> &Vec<PageId>| {
        let requests = scheduler.requests.values();
        requests.flat_map(of).copied().collect::<Vec<PageId>>()
    };
    let mut decode = tables(|request| &request.decode_table);
    let held = decode.len();
    decode.sort_unstable();
    decode.dedup();
    assert_eq!(decode.len(), held, "a decode page has two owners");
    assert_eq!(
        scheduler.decode.free_pages() + held,
        scheduler.decode.pages()
    );

    let mut holders: HashMap<PageId, u32> = HashMap::new();
    let prefill = tables(|request| &request.prefill_table);
    for page in prefill.into_iter().chain(scheduler.prefix.held()) {
        *holders.entry(page).or_default() += 1;
    }
    for (&page, &count) in &holders {
        assert_eq!(
            scheduler.prefill.holders(page),
            count,
            "references do not balance"
        );
    }
    let all = scheduler.prefill.free_pages() + holders.len();
    assert_eq!(all, scheduler.prefill.pages(), "a prefill page leaks");

    for request in scheduler.requests.values() {
        let (pool, table, tokens) = match request.stage {
            Stage::Prefill { computed } => (&scheduler.prefill, &request.prefill_table, computed),
            Stage::Transfer(transfer) => {
                let tokens = request.prompt.len().min(transfer.sent * PAGE_TOKENS);
                (&scheduler.decode, &request.decode_table, tokens)
            }
            Stage::Decode => (&scheduler.decode, &request.decode_table, request.length()),
            Stage::Loading(_) | Stage::Swapped(_) => continue,
        };
        let own = [&request.prompt[..], &request.given[..]].concat();
        assert!(
            pool.text(table, tokens) == text_of(&own[..tokens]).as_bytes(),
            "a request reads what is not its own at {:?}",
            request.stage
        );
        assert!(table.len() >= pages_for(tokens));
    }
    for (row, id) in scheduler.batch.iter().enumerate() {
        let request = &scheduler.requests[id];
        let budget = ThinkingBudget::after(request.thinking, &request.given);
        assert_eq!(scheduler.budgets[row], budget, "a row has another's budget");
        assert_eq!(
            scheduler.verified_rows[row], row,
            "a row reads another's drafts"
        );
    }
    assert_eq!(scheduler.budgets.len(), scheduler.batch.len());
    let slots = scheduler
        .requests
        .values()
        .filter(|request| request.metadata_slot.is_some());
    assert_eq!(
        scheduler.free_metadata.len() + slots.count(),
        METADATA_SLOTS
    );
}

/// Steps until nothing is left to do; collects the answers.
fn drain(scheduler: &mut Scheduler, answers: &mut HashMap<RequestId, Vec<Token>>) {
    for _ in 0..100_000 {
        if scheduler.is_idle() {
            return;
        }
        collect(scheduler.step(BUDGET), answers);
        check(scheduler);
    }
    panic!("the engine comes to no end");
}

fn collect(told: Told, answers: &mut HashMap<RequestId, Vec<Token>>) {
    for (id, event) in told {
        match event {
            Event::Token(token) => answers.entry(id).or_default().push(token),
            Event::End { .. } => {}
            Event::Failed(refusal) => panic!("{refusal:?}"),
        }
    }
}

#[derive(Clone, Debug)]
enum Move {
    Submit {
        owner: u8,
        stem: usize,
        tokens: usize,
        most: usize,
        adapter: Option<&'static str>,
        thinking: Option<Thinking>,
    },
    Repeat(prop::sample::Index),
    Abort(prop::sample::Index),
    Step(u8),
}

fn thinking() -> impl Strategy<Value = Option<Thinking>> {
    let budget = prop::option::of(0usize..30);
    let thinking = budget.prop_map(|budget| Thinking { budget });
    prop::option::weighted(0.4, thinking)
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (0u8..4, prop::sample::select(&[0usize, 64, 128, 200][..]), 20usize..1_700, 0usize..200,
            prop::sample::select(&[None, Some("a"), Some("b")][..]), thinking())
            .prop_map(|(owner, stem, tokens, most, adapter, thinking)| {
                Move::Submit { owner, stem, tokens, most, adapter, thinking }
            }),
        3 => any::<prop::sample::Index>().prop_map(Move::Repeat),
        2 => any::<prop::sample::Index>().prop_map(Move::Abort),
        8 => (1u8..12).prop_map(Move::Step),
    ];
    prop::collection::vec(one, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn in_a_healthy_engine_pages_balance_and_everybody_reads_its_own_whatever_the_schedule(
        moves in moves(),
        speculative in any::<bool>(),
    ) {
        let mut scheduler = Scheduler::new(Config { speculative, ..small() });
        let mut answers = HashMap::new();
        let mut sent: Vec<Submission> = Vec::new();
        let mut expected = HashMap::new();
        for one in moves {
            let new = match one {
                Move::Submit { owner, stem, tokens, most, adapter, thinking } => Some(Submission {
                    adapter: adapter.map(str::to_owned),
                    thinking,
                    ..submission(owner, prompt(owner, stem, tokens), most)
                }),
                Move::Repeat(index) if !sent.is_empty() => Some(index.get(&sent).clone()),
                Move::Repeat(_) => None,
                Move::Abort(index) => {
                    let id = RequestId(index.index(sent.len() + 1) as u64);
                    scheduler.abort(id);
                    check(&scheduler);
                    expected.remove(&id);
                    None
                }
                Move::Step(steps) => {
                    for _ in 0..steps {
                        collect(scheduler.step(BUDGET), &mut answers);
                        check(&scheduler);
                    }
                    None
                }
            };
            if let Some(new) = new {
                let id = RequestId(sent.len() as u64);
                let answer = whole_answer(&new);
                if scheduler.submit(id, new.clone()).is_ok() {
                    expected.insert(id, answer);
                }
                sent.push(new);
            }
        }
        drain(&mut scheduler, &mut answers);
        for (id, answer) in expected {
            prop_assert!(answers.get(&id).cloned().unwrap_or_default() == answer, "{id:?}");
        }
        let counts = scheduler.state().counts;
        prop_assert_eq!(counts.requests, sent.len() as u64);
        let ended = counts.refused + counts.stopped + counts.cut + counts.aborted + counts.failed;
        prop_assert_eq!(counts.requests, ended);
        // Who was aborted in the midst of its prompt left the rest.
        prop_assert!(counts.prompt_tokens >= counts.cached() + counts.computed_tokens);
        prop_assert_eq!(prefill_pages(&scheduler), (32, 32));
        prop_assert_eq!(decode_pages(&scheduler), (32, 32));
    }
}

/// Serves one request alone; its answer, and how many tokens came from a cache.
fn serve(scheduler: &mut Scheduler, id: u64, submission: Submission) -> (String, usize) {
    scheduler.submit(RequestId(id), submission).unwrap();
    let mut answer = Vec::new();
    loop {
        for (_, event) in scheduler.step(BUDGET) {
            match event {
                Event::Token(token) => answer.push(token),
                Event::End { cached, .. } => return (text_of(&answer), cached),
                Event::Failed(refusal) => panic!("{refusal:?}"),
            }
        }
        check(scheduler);
    }
}

#[test]
fn a_prompt_of_the_same_tenant_is_not_computed_twice_and_never_wholly_taken_from_the_cache() {
    let mut scheduler = scheduler();
    let long = prompt(1, 0, 1_000);
    let whole_pages = long.len() / PAGE_TOKENS * PAGE_TOKENS;
    let first = serve(&mut scheduler, 0, submission(1, long.clone(), 100));
    let second = serve(&mut scheduler, 1, submission(1, long.clone(), 100));
    assert_eq!((first.1, second.1), (0, whole_pages));
    assert_eq!(first.0, second.0);
    let page = long[..2 * PAGE_TOKENS].to_vec();
    serve(&mut scheduler, 2, submission(1, page.clone(), 1));
    assert_eq!(
        serve(&mut scheduler, 3, submission(1, page, 1)).1,
        PAGE_TOKENS
    );
    assert_eq!(serve(&mut scheduler, 4, submission(2, long, 100)).1, 0);
}

#[test]
fn what_went_out_of_the_cache_comes_back_from_the_host_and_from_the_disk() {
    let mut scheduler = scheduler();
    let first = prompt(1, 0, 1_400);
    let answer = serve(&mut scheduler, 0, submission(1, first.clone(), 50)).0;
    // Host and disk hold 16 pages each: after one other prompt some of the first are in the host's
    // memory, after two some are on the disk.
    for owner in 2..4 {
        serve(
            &mut scheduler,
            u64::from(owner),
            submission(owner, prompt(owner, 0, 1_400), 50),
        );
        let keys = Key::chain(
            Key::root(Some("tenant 1"), Some(""), None),
            &first,
            Key::BITS,
        );
        let tiers = (&scheduler.host, &scheduler.disk);
        let in_tiers = keys
            .iter()
            .filter(|&&key| tiers.0.find(key).or(tiers.1.find(key)).is_some());
        assert!(in_tiers.count() > 0, "after tenant {owner}");
    }
    let again = serve(&mut scheduler, 9, submission(1, first, 50));
    assert_eq!(again.0, answer);
}

#[test]
fn when_pages_run_out_the_latest_request_is_retracted_and_goes_on_where_it_was() {
    let mut scheduler = scheduler();
    let mut retracted = false;
    let mut answers = HashMap::new();
    for owner in 0..4 {
        let long = submission(owner, prompt(owner, 0, 480), 220);
        scheduler.submit(RequestId(u64::from(owner)), long).unwrap();
    }
    while !scheduler.is_idle() {
        collect(scheduler.step(BUDGET), &mut answers);
        check(&scheduler);
        retracted |= scheduler.swapped().is_some();
    }
    assert!(retracted);
    for owner in 0..4 {
        let text = text_of(&prompt(owner, 0, 480));
        let mut whole = tokenize(&crate::model::answer(text.as_bytes()));
        whole.truncate(220);
        assert!(answers[&RequestId(u64::from(owner))] == whole, "{owner}");
    }
}

#[test]
fn a_request_aborted_during_its_transfer_keeps_its_pages_until_the_transfer_is_through() {
    let mut scheduler = scheduler();
    scheduler
        .submit(RequestId(0), submission(0, prompt(0, 0, 600), 9))
        .unwrap();
    let one_page = Budget {
        transfer: 1,
        ..BUDGET
    };
    while !matches!(
        scheduler
            .requests
            .get(&RequestId(0))
            .map(|request| &request.stage),
        Some(Stage::Transfer(Transfer { sent: 2.., .. }))
    ) {
        scheduler.step(one_page);
    }
    scheduler.abort(RequestId(0));
    assert!(decode_pages(&scheduler).0 < decode_pages(&scheduler).1);
    for _ in 0..80 {
        let told = scheduler.step(one_page);
        assert!(told.is_empty());
        check(&scheduler);
    }
    assert!(scheduler.is_idle());
    assert_eq!(decode_pages(&scheduler), (32, 32));
}

#[test]
fn with_speculation_the_answer_is_the_same_in_fewer_steps() {
    let steps = |speculative: bool| {
        let mut scheduler = Scheduler::new(Config {
            speculative,
            ..small()
        });
        let mut answers = HashMap::new();
        for owner in 0..2 {
            let asked = submission(owner, prompt(owner, 0, 600), 400);
            scheduler
                .submit(RequestId(u64::from(owner)), asked)
                .unwrap();
        }
        let mut steps = 0;
        while !scheduler.is_idle() {
            collect(scheduler.step(BUDGET), &mut answers);
            check(&scheduler);
            steps += 1;
        }
        (answers, steps)
    };
    let (plain, speculative) = (steps(false), steps(true));
    assert!(plain.0 == speculative.0);
    assert!(
        speculative.1 * 2 < plain.1,
        "{} of {} steps",
        speculative.1,
        plain.1
    );
}
