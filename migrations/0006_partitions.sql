-- Probes and sightings in partitions of a week, so that old ones go by dropping a table; and sums by the hour and by
-- the day, so that what people look at takes as long however many rows there are.

-- A finding outlives its probe: it keeps what is asked of it.
alter table findings
    drop constraint findings_probe_id_fkey,
    add column tenant_id bigint references tenants (id),
    add column probe_planned_at timestamptz;
update findings set tenant_id = probes.tenant_id, probe_planned_at = probes.planned_at
from probes where probes.id = findings.probe_id;
alter table findings alter column tenant_id set not null, alter column probe_planned_at set not null;
comment on column findings.probe_id is 'The probe whose response proves it; gone when its week is pruned';
comment on column findings.tenant_id is 'The tenant whose response proves it';
comment on column findings.probe_planned_at is 'With probe_id it names the probe in its partition';

-- The old tables give way. Numbers of probes go on: they stand in canaries.
create sequence probe_numbers minvalue 1 maxvalue 17179869183;
select setval('probe_numbers', coalesce(max(id) + 1, 1), false) from probes;
alter table probes drop constraint probes_repeats_fkey;
alter table sightings drop constraint sightings_probe_id_fkey, drop column id;
alter table probes rename to probes_before;
alter table sightings rename to sightings_before;

create table probes
    (like probes_before including defaults including constraints including comments)
    partition by range (planned_at);
create table sightings
    (like sightings_before including defaults including constraints including comments,
     probe_planned_at timestamptz not null)
    partition by range (probe_planned_at);
comment on table probes is 'One request and its response; planned before it is sent, so that its canaries can always be attributed. A partition for each week (UTC) in which probes were planned';
comment on table sightings is 'Canaries found in responses; in partitions as their probes';
comment on column sightings.probe_planned_at is 'With probe_id it names the probe in its partition';

-- A partition for each week of UTC, from Monday on; made ahead, and when probes are planned for another week. It is
-- made apart and attached then, which lets readers and writers of the other weeks go on.
-- With the rights of its owner: whoever writes probes need not be allowed to make tables.
create function weekly_partition(parent text, at timestamptz) returns void
    language plpgsql security definer set search_path from current as
$$
declare
    first_day date := date_trunc('week', at at time zone 'UTC')::date;
    week      text := format('%s_%s', parent, to_char(first_day, 'YYYY_MM_DD'));
begin
    if to_regclass(quote_ident(week)) is not null then
        return;
    end if;
    -- One makes it, and whoever waited finds it: by a query, which sees what was committed meanwhile (looking a
    -- name up may tell what it was before).
    perform pg_advisory_xact_lock(hashtext(week));
    if exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid
               where inhparent = parent::regclass and relname = week) then
        return;
    end if;
    execute format('create table %I (like %I including defaults including constraints including comments)', week, parent);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, week,
                   first_day::timestamp at time zone 'UTC', (first_day + 7)::timestamp at time zone 'UTC');
end
$$;
revoke all on function weekly_partition(text, timestamptz) from public;
comment on function weekly_partition(text, timestamptz) is 'Makes the partition of a table for the week of a moment, unless there is one';

drop index probes_round, probes_finished;
alter table probes_before drop constraint probes_pkey;
alter table probes
    alter column id set default nextval('probe_numbers'),
    add constraint probes_pkey primary key (id, planned_at),
    add constraint probes_number_range check (id between 1 and 17179869183),
    add constraint probes_round_known foreign key (round_id) references rounds (id),
    add constraint probes_tenant_known foreign key (tenant_id) references tenants (id);
create index probes_round on probes (round_id, step, id);
create index probes_finished on probes (finished_at);
alter table sightings_before drop constraint sightings_once;
alter table sightings
    add constraint sightings_once
        primary key (probe_id, probe_planned_at, donor_tenant, donor_probe, slot, key_id),
    add constraint sightings_probe_known
        foreign key (probe_id, probe_planned_at) references probes (id, planned_at);

do
$$
declare
    moment timestamptz;
begin
    for moment in select distinct date_trunc('week', planned_at at time zone 'UTC') at time zone 'UTC' from probes_before loop
        perform weekly_partition('probes', moment);
        perform weekly_partition('sightings', moment);
    end loop;
end
$$;
insert into probes select * from probes_before;
insert into sightings
select sightings_before.*, probes_before.planned_at
from sightings_before join probes_before on probes_before.id = sightings_before.probe_id;
drop table sightings_before, probes_before;



-- Sums. What is summed is added in the transaction that records it.

-- The hour or the day of UTC in which a moment lies.
create function span_begin(span text, at timestamptz) returns timestamptz
    language sql immutable parallel safe as
$$ select date_trunc(span, at at time zone 'UTC') at time zone 'UTC' $$;
comment on function span_begin(text, timestamptz) is 'When the hour or day (UTC) began in which a moment lies';

create table probe_sums (
    span           text not null,
    begins_at      timestamptz not null,
    endpoint_id    bigint not null references endpoints (id),
    name           text not null,
    role           text not null,
    verdict        text not null,
    reason         text not null,
    probes         bigint not null,
    prompt_tokens  bigint not null,
    answer_tokens  bigint not null,
    response_bytes bigint not null,
    duration_ms    bigint not null,
    constraint probe_sums_once primary key (span, begins_at, endpoint_id, name, role, verdict, reason),
    constraint probe_sums_span_known check (span in ('hour', 'day')),
    constraint probe_sums_span_whole check (begins_at = span_begin(span, begins_at)),
    constraint probe_sums_verdict_known check (verdict in ('leak', 'clean', 'inconclusive')),
    constraint probe_sums_counts check (probes > 0 and prompt_tokens >= 0 and answer_tokens >= 0)
);
comment on table probe_sums is 'Judged probes, summed up by the hour and by the day in which they ended';
comment on column probe_sums.span is 'hour or day: each probe is in one of either';
comment on column probe_sums.begins_at is 'When the hour or day began (UTC)';
comment on column probe_sums.name is 'The scenario''s name in the configuration';
comment on column probe_sums.reason is 'Of the verdict; empty without one';
comment on column probe_sums.prompt_tokens is 'As the endpoint reported them, where it did';
comment on column probe_sums.answer_tokens is 'Likewise';
comment on column probe_sums.duration_ms is 'Milliseconds from sending to the end, of all of them together';

create table round_sums (
    span        text not null,
    begins_at   timestamptz not null,
    endpoint_id bigint not null references endpoints (id),
    name        text not null,
    verdict     text not null,
    rounds      bigint not null,
    responses   bigint not null,
    leaks       bigint not null,
    asked       bigint not null,
    recalled    bigint not null,
    constraint round_sums_once primary key (endpoint_id, name, span, begins_at, verdict),
    constraint round_sums_span_known check (span in ('hour', 'day')),
    constraint round_sums_span_whole check (begins_at = span_begin(span, begins_at)),
    constraint round_sums_verdict_known check (verdict in ('leak', 'finding', 'clean', 'inconclusive', 'skipped')),
    constraint round_sums_counts check (rounds > 0 and leaks between 0 and responses and recalled between 0 and asked)
);
comment on table round_sums is 'Rounds, summed up by the hour and by the day in which they ended or were skipped';
comment on column round_sums.span is 'hour or day: each round is in one of either';
comment on column round_sums.begins_at is 'When the hour or day began (UTC)';
comment on column round_sums.name is 'The scenario''s name in the configuration';
comment on column round_sums.verdict is 'Of the round; skipped where there was none';
comment on column round_sums.responses is 'Responses that could have told of a leak';
comment on column round_sums.leaks is 'Of those, how many did';
comment on column round_sums.asked is 'Answered probes whose question asked for an own canary';
comment on column round_sums.recalled is 'Of those, how many gave one back';

-- What was recorded before.
insert into probe_sums
select span, span_begin(span, probes.finished_at), endpoint_id, name, role, probes.verdict, coalesce(probes.reason, ''),
       count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
       coalesce(sum(response_bytes), 0), coalesce(sum(duration_ms), 0)
from probes join rounds on rounds.id = round_id cross join (values ('hour'), ('day')) spans (span)
where probes.verdict is not null
group by 1, 2, 3, 4, 5, 6, 7;
insert into round_sums
select span, span_begin(span, coalesce(finished_at, started_at)), endpoint_id, name, coalesce(verdict, 'skipped'),
       count(*), sum(greatest(responses, leaks)), sum(leaks), sum(asked), sum(recalled)
from rounds cross join (values ('hour'), ('day')) spans (span)
where state in ('finished', 'skipped')
group by 1, 2, 3, 4, 5;
