-- What endpoints were charged, by day: budgets are hard limits over restarts. And when an endpoint last
-- changed: what has not run since then goes first.

create table spending (
    endpoint_id   bigint not null references endpoints (id),
    day           date not null,
    requests      bigint not null,
    prompt_tokens bigint not null,
    answer_tokens bigint not null,
    micros        bigint not null,
    constraint spending_once primary key (endpoint_id, day),
    constraint spending_not_negative
        check (requests >= 0 and prompt_tokens >= 0 and answer_tokens >= 0 and micros >= 0)
);
comment on table spending is 'What requests to an endpoint were charged in a day: reserved at most before each leaves, settled when its answer has come. A killed prober''s reservations stay';
comment on column spending.day is 'The day of UTC on which they were sent';
comment on column spending.requests is 'How many were charged, free ones too';
comment on column spending.prompt_tokens is 'Of prompts, in tokens';
comment on column spending.answer_tokens is 'Of answers, in tokens';
comment on column spending.micros is 'Money, in millionths of the configured currency, at the prices of when it was charged; 0 without prices';

alter table probes
    add column charged_on date,
    add column charged_prompt_tokens bigint,
    add column charged_answer_tokens bigint,
    add column charged_micros bigint,
    add constraint probes_charge_complete
        check ((charged_on is null) = (charged_prompt_tokens is null)
           and (charged_on is null) = (charged_answer_tokens is null)
           and (charged_on is null) = (charged_micros is null));
comment on column probes.charged_on is 'The day of spending that it is charged to; null for probes of before budgets and such as were not sent';
comment on column probes.charged_prompt_tokens is 'What of that day is this prompt''s, in tokens: at most until it has a verdict, then settled';
comment on column probes.charged_answer_tokens is 'Likewise of the answer';
comment on column probes.charged_micros is 'Likewise money, in millionths of the configured currency';

create table builds (
    endpoint_id   bigint not null references endpoints (id),
    model         text not null,
    fingerprint   text not null,
    first_seen_at timestamptz not null,
    last_seen_at  timestamptz not null,
    constraint builds_once primary key (endpoint_id, model, fingerprint)
);
comment on table builds is 'What endpoints say they are in their answers: behind one address there may be several at once';
comment on column builds.model is 'The model''s name in answers; empty if it is not told';
comment on column builds.fingerprint is 'The build or configuration (system_fingerprint) in answers; empty if it is not told';

alter table endpoints add column changed_at timestamptz;
update endpoints set changed_at = first_seen_at;
-- With a default, so that probers of before can go on to write.
alter table endpoints alter column changed_at set default now(), alter column changed_at set not null;
comment on column endpoints.changed_at is 'When its model, address or window was configured anew, or an answer came from a build that had not been seen for a day';
