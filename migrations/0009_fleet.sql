-- Several probers share the work: who has an endpoint leases it, and every tick of every scenario's time grid has one
-- outcome.

create table leases (
    endpoint_id bigint not null references endpoints (id),
    token       bigint not null default 0,
    holder      text,
    leased_at   timestamptz,
    expires_at  timestamptz,
    constraint leases_once primary key (endpoint_id),
    constraint leases_token_grows check (token >= 0),
    constraint leases_whole check ((holder is null) = (expires_at is null) and (holder is null) = (leased_at is null)),
    constraint leases_forward check (expires_at > leased_at)
);
comment on table leases is 'Which prober has the sole right to carry out the due rounds of an endpoint. Times are of the database''s clock';
comment on column leases.token is 'Fencing token: grows with every lease; who comes with an older one is refused';
comment on column leases.holder is 'The name of the prober; null while nobody has it';
comment on column leases.expires_at is 'From then on another one may take it; who holds it stops before';

create table lines (
    endpoint_id   bigint not null references endpoints (id),
    name          text not null,
    decided_until timestamptz not null,
    constraint lines_once primary key (endpoint_id, name)
);
comment on table lines is 'The time grid of a scenario at an endpoint';
comment on column lines.name is 'The scenario''s name in the configuration';
comment on column lines.decided_until is 'Every tick up to then has its outcome: a round, or a row that says why there is none';

alter table rounds
    drop constraint rounds_state_known,
    add column prober text,
    add column lease_token bigint,
    add column last_due_at timestamptz,
    add column ticks bigint not null default 1,
    add constraint rounds_state_known check (state in ('running', 'finished', 'skipped', 'lost')),
    add constraint rounds_lost_reason check (state <> 'lost' or reason is not null),
    add constraint rounds_ticks check (ticks >= 1 and (ticks = 1 or (state = 'skipped' and last_due_at > due_at)));
comment on column rounds.state is 'running, finished, skipped; lost: its prober lost the lease before its end, what it brings later stands here and in no sum, and its tick was given to another round';
comment on column rounds.prober is 'The name of the prober that carried it out or decided against it; null if started by hand';
comment on column rounds.lease_token is 'The fencing token it had; null if started by hand';
comment on column rounds.last_due_at is 'Of ticks skipped in a row, the last; due_at is the first';
comment on column rounds.ticks is 'How many ticks were skipped in a row; 1 for a round';
-- Each tick has one outcome; and the same act repeated after a lost acknowledgement changes nothing.
alter table rounds drop constraint rounds_once;
create unique index rounds_by_hand_once on rounds (endpoint_id, name, started_at) where lease_token is null;
create index rounds_running on rounds (endpoint_id) where state = 'running';
create unique index rounds_tick_once on rounds (endpoint_id, name, due_at)
    where lease_token is not null and state <> 'lost';

alter table findings add column late boolean not null default false;
comment on column findings.late is 'Its round had lost its lease before: proven all the same, but in no sum';
