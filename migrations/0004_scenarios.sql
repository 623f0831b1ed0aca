-- Every scenario: documents with a common head, requests that are sent again, at a time, or left; findings
-- that several probes prove together; what a replay needs.

alter table rounds
    add column plan jsonb,
    add column replay_of bigint references rounds (id),
    add column responses integer not null default 0,
    add column cancelled integer not null default 0;
comment on column rounds.scenario is 'The kind of scenario: overflow, crosstalk, cancel, pressure, return, sandwich, boundary, burst, prefix, twin, identity, limits';
comment on column rounds.plan is 'With the seed it gives the same schedule again: recipe and everything else a scenario looks at; null for rounds of before';
comment on column rounds.replay_of is 'The round whose schedule this one repeated';
comment on column rounds.responses is 'Responses that could have told of a leak: with an own canary, or leaked';
comment on column rounds.cancelled is 'Probes whose client went away, as planned';

alter table probes
    add column question text not null default 'one',
    add column head_seed bytea,
    add column head_units bigint,
    add column repeats bigint references probes (id),
    add column set_number integer not null default 0,
    add column after_ms integer not null default 0,
    add column cancel_after_ms integer,
    add column cancel_after_pieces integer,
    add column shared_id bigint,
    add constraint probes_question_known check (question in ('one', 'list')),
    add constraint probes_head_complete check ((head_seed is null) = (head_units is null)),
    add constraint probes_head_seed_length check (octet_length(head_seed) = 32),
    add constraint probes_one_way_to_leave check (cancel_after_ms is null or cancel_after_pieces is null);
comment on column probes.role is 'What the probe is for: calibration, donor, victim, overlong, peer, leaver, returner, solo, amid, primer, reader, control, fresh, twin';
comment on column probes.question is 'What its document asks for: one of its canaries, or a list of all';
comment on column probes.head_seed is 'Of the beginning that other documents have, too';
comment on column probes.head_units is 'Length of that beginning in words, punctuation marks and paragraph breaks';
comment on column probes.repeats is 'The probe whose very document it sends again: its own canaries say this number';
comment on column probes.set_number is 'Probes of a round with the same number above 0 are compared with each other';
comment on column probes.after_ms is 'When it is sent, in milliseconds after its step began';
comment on column probes.cancel_after_ms is 'Its client goes away so many milliseconds after it began to send';
comment on column probes.cancel_after_pieces is 'Its client goes away after so many pieces of the answer';
comment on column probes.shared_id is 'What it calls itself, if others of its step call themselves the same';

alter table findings
    drop constraint findings_kind_known,
    drop constraint findings_relation_known,
    add constraint findings_kind_known
        check (kind in ('leak', 'limit_violation', 'usage_anomaly', 'truncation', 'shared_prefix_cache',
                        'shared_response', 'divergence')),
    add constraint findings_relation_known
        check (donor_relation in ('other_tenant', 'same_tenant', 'other_endpoint', 'retired_key', 'unknown'));
comment on column findings.donor_relation is
    'Whose canary a leak held: another tenant''s, the same tenant''s from another request, one planted at another endpoint, or one this database does not know, of a retired key or of the present one';
comment on column findings.slots is 'The leaked slots of the donor''s context, in the order in which they came out';
comment on column findings.first_token is 'Estimated token of the donor''s context at which the first of the leaked slots begins';
comment on column findings.last_token is 'Likewise, the last of them';
comment on column findings.detail is 'Numbers behind the finding, of a leak its map: runs of slots in the order in which they came out; never response text';
create index findings_probe on findings (probe_id);
