-- The responses behind findings, sealed; and who opened or erased one, and why. Nothing in here can be read without
-- the evidence keys, which are never in here.

create table evidence (
    probe_id    bigint primary key,
    round_id    bigint not null references rounds (id),
    key_id      text not null,
    sealed      bytea,
    plain_bytes bigint not null,
    is_cut      boolean not null,
    kept_at     timestamptz not null,
    erased_at   timestamptz,
    erased_by   text,
    constraint evidence_key_form check (key_id ~ '^[0-9a-f]{16}$'),
    constraint evidence_bytes_positive check (plain_bytes > 0),
    constraint evidence_sealed_or_erased check ((sealed is null) = (erased_at is not null)),
    constraint evidence_erased_complete check ((erased_at is null) = (erased_by is null)),
    constraint evidence_erased_by_known check (erased_by in ('person', 'retention'))
);
comment on table evidence is 'Responses behind findings, sealed (docs/evidence.md). Of an erased one the row stays, without the response';
comment on column evidence.probe_id is 'The probe that got the response; it may be gone when its week is pruned';
comment on column evidence.round_id is 'The round of that probe; a response opens for this probe and round only';
comment on column evidence.key_id is 'Public name of the evidence key that it is sealed with';
comment on column evidence.sealed is 'Version, key id, salt, ciphertext, tag; null once it is erased';
comment on column evidence.plain_bytes is 'How much of the response is in it, in bytes';
comment on column evidence.is_cut is 'Whether the response had more';
comment on column evidence.kept_at is 'When it was recorded: retention counts from here';
comment on column evidence.erased_by is 'person: `prober evidence erase`, see evidence_accesses; retention: it was older than it is kept';
create index evidence_kept on evidence (kept_at) where sealed is not null;

create table finding_evidence (
    finding_id bigint not null references findings (id),
    probe_id   bigint not null references evidence (probe_id),
    constraint finding_evidence_once primary key (finding_id, probe_id)
);
comment on table finding_evidence is 'Which responses prove which finding. A finding without any had none kept';
create index finding_evidence_probe on finding_evidence (probe_id);

create table evidence_accesses (
    id       bigint generated always as identity primary key,
    at       timestamptz not null,
    act      text not null,
    probe_id bigint,
    who      text not null,
    login    text not null,
    reason   text not null,
    constraint evidence_accesses_act_known check (act in ('show', 'erase', 'reseal')),
    constraint evidence_accesses_which check ((probe_id is null) = (act = 'reseal')),
    constraint evidence_accesses_who_told check (who ~ '[^[:space:]]'),
    constraint evidence_accesses_reason_told check (reason ~ '[^[:space:]]')
);
comment on table evidence_accesses is 'Who opened or erased evidence, written before anything is shown. Rows are only ever added';
comment on column evidence_accesses.act is 'show: a person asked to read it; erase: a person removed it; reseal: all of it was sealed with another key';
comment on column evidence_accesses.probe_id is 'Whose response; null for all of them';
comment on column evidence_accesses.who is 'As they said (--as), else as login';
comment on column evidence_accesses.login is 'User and host, as the operating system tells them';
comment on column evidence_accesses.reason is 'As they stated it';
create index evidence_accesses_probe on evidence_accesses (probe_id);

create function only_added() returns trigger language plpgsql as
$$
begin
    raise exception 'rows of % are only ever added', tg_table_name using errcode = 'insufficient_privilege';
end
$$;
comment on function only_added() is 'Refuses whatever its trigger stands for';
create trigger evidence_accesses_only_added before update or delete or truncate on evidence_accesses
    for each statement execute function only_added();
