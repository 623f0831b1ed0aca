select setval('probe_numbers', (select max(id) from probes));

-- Sums, from the rows.
insert into probe_sums
select 'hour', date_trunc('hour', probes.finished_at), endpoint_id, name, role, probes.verdict, coalesce(probes.reason, ''),
       count(*), sum(prompt_tokens), sum(completion_tokens), sum(response_bytes), sum(duration_ms)
from probes join rounds on rounds.id = round_id
group by 2, 3, 4, 5, 6, 7 order by 2, 3, 4;
insert into probe_sums
select 'day', span_begin('day', begins_at), endpoint_id, name, role, verdict, reason, sum(probes), sum(prompt_tokens),
       sum(answer_tokens), sum(response_bytes), sum(duration_ms)
from probe_sums group by 2, 3, 4, 5, 6, 7 order by 2, 3, 4;
-- Its triggers did not run.
insert into endpoint_sums
select span, begins_at, endpoint_id, verdict, reason, sum(probes)
from probe_sums where role <> 'calibration' group by 1, 2, 3, 4, 5 order by 1, 2, 3;
insert into spending (endpoint_id, day, requests, prompt_tokens, answer_tokens, micros)
select endpoint_id, (begins_at at time zone 'UTC')::date, sum(probes), sum(prompt_tokens), sum(answer_tokens), sum(probes) * 12
from probe_sums where span = 'day' group by 1, 2;

-- Findings. The first three endpoints have had their defects all the time; those of the others are over each week.
create temporary table bench_found as
select probes.id as probe_id, probes.planned_at, tenant_id, round_id, endpoint_id, probes.finished_at as found_at, kind,
       case kind when 'leak' then 'other_tenant/over_limit/text' when 'limit_violation' then 'answered'
                 when 'usage_anomaly' then 'fewer' when 'truncation' then 'fewer' when 'shared_prefix_cache' then 'counted'
                 when 'shared_response' then 'same_id' else 'beside' end as signature,
       case when endpoint_id <= 3 then '-infinity' else date_trunc('week', probes.finished_at) end as episode,
       null::bigint as incident_id
from probes join rounds on rounds.id = round_id cross join lateral (select bench_kind(name) as kind) kinds
where bench_finds(probes.id, endpoint_id);

create temporary table bench_incidents as
select row_number() over (order by min(found_at)) as id, endpoint_id, kind, signature, episode, min(found_at) as opened_at,
       max(found_at) as last_at, count(*) as findings,
       lead(1) over (partition by endpoint_id, kind, signature order by episode) is not null as is_over
from bench_found group by endpoint_id, kind, signature, episode;
insert into incidents (id, endpoint_id, kind, signature, state, opened_at, last_finding_at, findings, acknowledged_at,
                       acknowledged_by, resolved_at, resolved_by)
overriding system value
select id, endpoint_id, kind, signature, case when is_over then 'resolved' else 'open' end, opened_at, last_at, findings,
       case when is_over then opened_at + interval '1 hour' end, case when is_over then 'Ada' end,
       case when is_over then last_at + interval '1 second' end, case when is_over then 'Ada' end
from bench_incidents order by id;
select setval(pg_get_serial_sequence('incidents', 'id'), (select max(id) from incidents));
insert into incident_events (incident_id, at, what, who)
select id, at, what, who
from (select id, opened_at as at, 'opened' as what, null as who from incidents
      union all select id, acknowledged_at, 'acknowledged', acknowledged_by from incidents where state = 'resolved'
      union all select id, resolved_at, 'resolved', resolved_by from incidents where state = 'resolved') events
order by at, id;

insert into findings (round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at, donor_tenant_id,
                      donor_probe, donor_relation, planted_at, slots, first_token, last_token, detail, incident_id)
select round_id, probe_id, planned_at, tenant_id, found.kind, 'confirmed', found_at,
       case when found.kind = 'leak' then tenant_id end, case when found.kind = 'leak' then greatest(probe_id - 1, 1) end,
       case when found.kind = 'leak' then 'other_tenant' end,
       case when found.kind = 'leak' then found_at - interval '1 minute' end,
       case when found.kind = 'leak' then '{11,12,13,14}'::integer[] else '{}' end, 704, 896,
       '{"donor_tenant_number": 2, "key": "{key}", "map": [{"slots": [11, 14], "tokens": [704, 896]}]}',
       incidents.id
from bench_found found
     join bench_incidents incidents on incidents.endpoint_id = found.endpoint_id and incidents.kind = found.kind
                                   and incidents.signature = found.signature and incidents.episode = found.episode
order by found_at;

update rounds set verdict = case when bad.leaks > 0 then 'leak' else 'finding' end, leaks = bad.leaks
from (select round_id, count(*) filter (where kind = 'leak')::integer as leaks from findings group by 1) bad
where rounds.id = bad.round_id;
insert into round_sums
select span, span_begin(span, coalesce(finished_at, started_at)), endpoint_id, name, coalesce(verdict, 'skipped'),
       count(*), sum(greatest(responses, leaks)), sum(leaks), sum(asked), sum(recalled)
from rounds cross join (values ('hour'), ('day')) spans (span)
where state in ('finished', 'skipped')
group by 1, 2, 3, 4, 5 order by 2, 3, 4;

-- Evidence of leaks: what is older than thirty days was erased.
insert into evidence (probe_id, round_id, key_id, sealed, plain_bytes, is_cut, kept_at, erased_at, erased_by)
select probe_id, round_id, '{key}', case when is_kept then decode(repeat(md5(probe_id::text), 64), 'hex') end, 900,
       false, found_at, case when not is_kept then found_at + interval '30 days' end,
       case when not is_kept then 'retention' end
from findings cross join lateral (select found_at > (select max(found_at) from findings) - interval '30 days' as is_kept) kept
where kind = 'leak' order by found_at;
insert into finding_evidence select id, probe_id from findings where kind = 'leak';

drop function bench_finds, bench_kind;
