-- The facts of the first whole path: who was probed, what was sent, what came back, what it proves.
-- Never in here: response text, documents, canaries in writing, credentials, key material.

create table endpoints (
    id                    bigint generated always as identity primary key,
    name                  text not null,
    api                   text not null,
    base_url              text not null,
    model                 text not null,
    context_tokens        bigint not null,
    measured_limit_tokens bigint,
    first_seen_at         timestamptz not null,
    updated_at            timestamptz not null,
    constraint endpoints_name_unique unique (name),
    constraint endpoints_context_positive check (context_tokens > 0),
    constraint endpoints_limit_positive check (measured_limit_tokens > 0)
);
comment on table endpoints is 'One base URL + API + model that is probed';
comment on column endpoints.context_tokens is 'Advertised context window, in tokens (from the configuration)';
comment on column endpoints.measured_limit_tokens is
    'The limit the endpoint itself named when it last refused a prompt as too long, in tokens';

create table tenants (
    id            bigint generated always as identity primary key,
    endpoint_id   bigint not null references endpoints (id),
    name          text not null,
    number        smallint generated always as identity (minvalue 0 maxvalue 4095 start 0),
    first_seen_at timestamptz not null,
    constraint tenants_name_unique unique (endpoint_id, name),
    constraint tenants_number_unique unique (number),
    constraint tenants_number_range check (number between 0 and 4095)
);
comment on table tenants is 'Synthetic customers of an endpoint';
comment on column tenants.number is 'What the canaries of this tenant say (12 bits)';

create table key_ids (
    id            text primary key,
    first_seen_at timestamptz not null,
    constraint key_ids_form check (id ~ '^[0-9a-f]{16}$')
);
comment on table key_ids is 'Public names of canary keys that were used to mint; never key material';

create table rounds (
    id          bigint generated always as identity primary key,
    endpoint_id bigint not null references endpoints (id),
    scenario    text not null,
    name        text not null,
    seed        bigint,
    key_id      text references key_ids (id),
    state       text not null,
    due_at      timestamptz,
    started_at  timestamptz not null,
    finished_at timestamptz,
    verdict     text,
    reason      text,
    probes      integer not null default 0,
    leaks       integer not null default 0,
    asked       integer not null default 0,
    recalled    integer not null default 0,
    -- The same act repeated after a lost acknowledgement changes nothing.
    constraint rounds_once unique (endpoint_id, name, started_at),
    constraint rounds_state_known check (state in ('running', 'finished', 'skipped')),
    constraint rounds_verdict_known check (verdict in ('leak', 'finding', 'clean', 'inconclusive')),
    constraint rounds_finished_complete
        check (state <> 'finished' or (finished_at is not null and verdict is not null)),
    constraint rounds_seed_known check (state = 'skipped' or seed is not null),
    constraint rounds_skipped_reason check (state <> 'skipped' or reason is not null),
    constraint rounds_recall_counts check (recalled between 0 and asked)
);
comment on table rounds is 'One execution of a scenario against an endpoint';
comment on column rounds.scenario is 'The kind of scenario: overflow, crosstalk';
comment on column rounds.name is 'The scenario''s name in the configuration; the kind unless another was given';
comment on column rounds.seed is 'Reproduces the schedule; null for a skipped round';
comment on column rounds.due_at is 'The place on the time grid; null for a round started by hand';
comment on column rounds.reason is 'Why a round is inconclusive or was skipped';
comment on column rounds.probes is 'Probes judged, calibration left out';
comment on column rounds.leaks is 'Probes whose response held a foreign canary';
comment on column rounds.asked is 'Answered probes whose question asked for an own canary';
comment on column rounds.recalled is 'Of those, how many gave one back: recalled / asked is the sensitivity';
create index rounds_endpoint_started on rounds (endpoint_id, started_at desc);

create table probes (
    id                bigint generated always as identity (minvalue 1 maxvalue 17179869183) primary key,
    round_id          bigint not null references rounds (id),
    tenant_id         bigint not null references tenants (id),
    step              integer not null,
    role              text not null,
    form              text not null,
    layout            text not null,
    stride_tokens     integer,
    document_seed     bytea not null,
    tokens_wanted     bigint not null,
    planned_at        timestamptz not null,
    measure_overhead  double precision,
    measure_unit      double precision,
    measure_canary    double precision,
    tokens_estimated  bigint,
    slots             integer,
    asked_slot        integer,
    request_bytes     bigint,
    sent_at           timestamptz,
    finished_at       timestamptz,
    outcome           text,
    status            smallint,
    finish_reason     text,
    prompt_tokens     bigint,
    completion_tokens bigint,
    cached_tokens     bigint,
    response_bytes    bigint,
    ttft_ms           bigint,
    duration_ms       bigint,
    own_canaries      integer,
    verdict           text,
    reason            text,
    constraint probes_verdict_known check (verdict in ('leak', 'clean', 'inconclusive')),
    constraint probes_judged_when_finished check ((finished_at is null) = (verdict is null)),
    constraint probes_inconclusive_reason check (verdict <> 'inconclusive' or reason is not null),
    constraint probes_seed_length check (octet_length(document_seed) = 32)
);
comment on table probes is 'One request and its response; planned before it is sent, so that its canaries can always be attributed';
comment on column probes.id is 'The probe number in its canaries (34 bits)';
comment on column probes.step is 'Probes of one step are sent at once; a step begins when the one before has ended';
comment on column probes.role is 'What the probe is for: calibration, donor, victim, overlong, peer';
comment on column probes.document_seed is 'With key, measure and layout it gives the same document again';
comment on column probes.tokens_wanted is 'Wanted prompt length, in tokens';
comment on column probes.tokens_estimated is 'Prompt length by the calibrated estimate, in tokens';
comment on column probes.prompt_tokens is 'Prompt length the endpoint reported';
comment on column probes.slots is 'Slots 0..slots of its document carry a canary';
comment on column probes.own_canaries is 'Different own canaries that the answer gave back';
comment on column probes.reason is 'Why it is inconclusive, or how clean is proven (recall, rejected)';
create index probes_round on probes (round_id, step, id);
create index probes_finished on probes (finished_at);

create table sightings (
    id            bigint generated always as identity primary key,
    probe_id      bigint not null references probes (id),
    donor_tenant  smallint not null,
    donor_probe   bigint not null,
    slot          smallint not null,
    key_id        text not null,
    form          text not null,
    strength      text not null,
    own           boolean not null,
    place         text not null,
    byte_offset   bigint not null,
    byte_length   integer not null,
    occurrences   integer not null,
    constraint sightings_strength_known check (strength in ('exact')),
    constraint sightings_slot_range check (slot between 0 and 16383),
    constraint sightings_once unique (probe_id, donor_tenant, donor_probe, slot, key_id)
);
comment on table sightings is 'Canaries found in responses';
comment on column sightings.probe_id is 'The probe whose response held it';
comment on column sightings.donor_tenant is 'Tenant number in the canary';
comment on column sightings.donor_probe is 'Probe number in the canary; not always a probe of this database';
comment on column sightings.place is 'Where in the response it was first seen: raw body, header, JSON path';
comment on column sightings.byte_offset is 'Offset of that first place, in bytes from the start of its text';
comment on column sightings.occurrences is 'How often it was seen, over all places';

create table findings (
    id              bigint generated always as identity primary key,
    round_id        bigint not null references rounds (id),
    probe_id        bigint not null references probes (id),
    kind            text not null,
    certainty       text not null,
    found_at        timestamptz not null,
    donor_tenant_id bigint references tenants (id),
    donor_probe     bigint,
    donor_relation  text,
    planted_at      timestamptz,
    slots           integer[] not null default '{}',
    first_token     bigint,
    last_token      bigint,
    detail          jsonb not null default '{}',
    constraint findings_kind_known check (kind in ('leak', 'limit_violation')),
    constraint findings_certainty_known check (certainty in ('confirmed', 'suspected')),
    constraint findings_relation_known
        check (donor_relation in ('other_tenant', 'same_tenant', 'unknown')),
    constraint findings_leak_complete
        check (kind <> 'leak' or (donor_probe is not null and donor_relation is not null and slots <> '{}'))
);
comment on table findings is 'What the judge concluded beyond a verdict';
comment on column findings.probe_id is 'The probe whose response proves it';
comment on column findings.donor_relation is
    'Whose canary a leak held: another tenant''s, the same tenant''s from another request, or one this database does not know';
comment on column findings.planted_at is 'When the donor''s request was sent';
comment on column findings.first_token is 'Estimated token of the donor''s context at which the first leaked slot begins';
comment on column findings.detail is 'Numbers behind the finding; never response text';
create index findings_found on findings (found_at desc);
create index findings_round on findings (round_id);
