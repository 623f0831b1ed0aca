-- Probes of the rounds of a week. A round's number tells those of its probes, so they ascend with time.
insert into probes (id, round_id, tenant_id, step, role, form, layout, document_seed, tokens_wanted, planned_at,
                    measure_overhead, measure_unit, measure_canary, measure_digit, tokens_estimated, slots, asked_slot,
                    request_bytes, sent_at, finished_at, outcome, status, finish_reason, prompt_tokens,
                    completion_tokens, cached_tokens, response_bytes, ttft_ms, duration_ms, own_canaries, verdict,
                    reason, charged_on, charged_prompt_tokens, charged_answer_tokens, charged_micros)
select probe, rounds.id, (endpoint_id - 1) * 3 + 1 + place % 3, place / 4,
       case when place = 0 then 'calibration' when place % 3 = 1 then 'donor' when place % 3 = 2 then 'victim' else 'peer' end,
       'code', 'dense', sha256(probe::text::bytea), 100000, probes_planned_at, 17, 1.3, 14, 0.4, 100000, 1500, 750, 420000,
       started_at + place * interval '2 seconds', started_at + place * interval '4 seconds', 'answered', 200, 'stop',
       100000, 60, 0, 5000, 900, 4000, case when verdict = 'clean' then 2 else 0 end, verdict,
       case verdict when 'clean' then case when place % 7 = 3 then 'rejected' else 'recall' end
                    when 'inconclusive' then case when place = 0 then 'calibration' when chance % 2 = 0 then 'no_recall'
                                                  when chance % 3 = 0 then 'timeout' else 'rate_limited' end end,
       started_at::date, 100000, 60, 12
from (select rounds.id, rounds.endpoint_id, rounds.started_at, rounds.probes_planned_at, place,
             (rounds.id - 1) * {probes_a_round} + place + 1 as probe,
             abs(hashint4((rounds.id * {probes_a_round} + place)::integer)::bigint) as chance,
             bench_finds((rounds.id - 1) * {probes_a_round} + place + 1, rounds.endpoint_id)
                 and bench_kind(rounds.name) = 'leak' as leaks
      from rounds cross join generate_series(0, {probes_a_round} - 1) place
      where rounds.state = 'finished' and rounds.started_at >= '{from}' and rounds.started_at < '{until}') rounds
     cross join lateral (select case when leaks then 'leak' when place = 0 or chance % 100 < 4 then 'inconclusive'
                                     else 'clean' end as verdict) judged
order by probe;
