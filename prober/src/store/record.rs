//! Recording judged probes: as many as there are in a few statements, all or none of them.
//!
//! Whatever several transactions may change is locked in one order, so that none waits for another that waits for it:
//! probes by number, sums by key, endpoints' incidents by endpoint, spending by endpoint and day.

use super::evidence::insert_evidence;
use super::findings::insert_finding;
use super::probes::ProbeRecord;
use super::spending::{Settled, settle};
use super::{Store, StoreError, bigint, incidents, integer, query_error};
use crate::ids::{EndpointId, IncidentId};
use crate::incident::Rules;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use std::collections::{BTreeSet, HashMap};
use time::{Date, OffsetDateTime};

/// A record whose probe has none yet.
struct Fresh<'a> {
    record: &'a ProbeRecord,
    /// With its number it names the probe in its partition.
    planned_at: OffsetDateTime,
    endpoint: EndpointId,
    charged: Option<Charged>,
}

/// What was reserved for a probe.
struct Charged {
    day: Date,
    prompt_tokens: i64,
    answer_tokens: i64,
    micros: i64,
}

impl Store {
    /// Records a judged probe: a batch of one, see [`Store::record_probes`].
    ///
    /// # Errors
    /// When the database fails; nothing is recorded then.
    pub async fn record_probe(
        &self,
        record: &ProbeRecord,
        rules: &Rules,
    ) -> Result<Vec<IncidentId>, StoreError> {
        let mut incidents = self
            .record_probes(std::slice::from_ref(record), rules)
            .await?;
        Ok(incidents.pop().unwrap_or_default())
    }

    /// Records judged probes with their sightings and findings, in one transaction; for each, the incidents of its
    /// findings. Doing it twice changes nothing, so it may be retried after a lost acknowledgement: what was recorded
    /// before is left alone and tells no incidents, and of two records of one probe the first counts.
    ///
    /// # Errors
    /// When the database fails; nothing is recorded then.
    pub async fn record_probes(
        &self,
        records: &[ProbeRecord],
        rules: &Rules,
    ) -> Result<Vec<Vec<IncidentId>>, StoreError> {
        let act = "record probes";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let fresh = lock_fresh(&mut transaction, records).await?;
        if !fresh.is_empty() {
            update_and_sum_up(&mut transaction, &fresh).await?;
            insert_sightings(&mut transaction, &fresh).await?;
        }
        let found = record_findings(&mut transaction, records, &fresh, rules).await?;
        settle(&mut transaction, fresh.iter().filter_map(settled)).await?;
        transaction.commit().await.map_err(query_error(act))?;
        if found.iter().any(|incidents| !incidents.is_empty()) {
            self.alerted.notify_one();
        }
        Ok(found)
    }
}

/// The first record of each probe that has none in the database, by number of the probe. They are this transaction's
/// to record: another one that has some of them waits, and finds them recorded.
async fn lock_fresh<'a>(
    connection: &mut PgConnection,
    records: &'a [ProbeRecord],
) -> Result<Vec<Fresh<'a>>, StoreError> {
    let act = "look for probes without a record";
    let mut first = HashMap::with_capacity(records.len());
    for record in records {
        first.entry(bigint(record.probe.get())).or_insert(record);
    }
    let (probes, rounds): (Vec<i64>, Vec<i64>) = first
        .iter()
        .map(|(&probe, record)| (probe, record.round.0))
        .unzip();
    let rows = sqlx::query(
        "/* lock_fresh_probes */
         with records as materialized (
             -- The round tells the week; of one that does not, every week is searched.
             select probe, endpoint_id, coalesce(probes_planned_at, '-infinity') as earliest,
                    coalesce(probes_planned_at, 'infinity') as latest
             from unnest($1::bigint[], $2::bigint[]) records (probe, round) join rounds on rounds.id = records.round
         )
         select probes.id, planned_at, endpoint_id, charged_on, charged_prompt_tokens, charged_answer_tokens, charged_micros
         from records join probes on probes.id = probe and planned_at between earliest and latest
         where finished_at is null
         order by probes.id for no key update of probes",
    )
    .bind(probes)
    .bind(rounds)
    .fetch_all(connection)
    .await
    .map_err(query_error(act))?;
    let fresh = |row: &PgRow| -> Result<Fresh<'a>, sqlx::Error> {
        let charged_on: Option<Date> = row.try_get("charged_on")?;
        let charged = match charged_on {
            None => None,
            Some(day) => Some(Charged {
                day,
                prompt_tokens: row.try_get("charged_prompt_tokens")?,
                answer_tokens: row.try_get("charged_answer_tokens")?,
                micros: row.try_get("charged_micros")?,
            }),
        };
        Ok(Fresh {
            // It was asked for by this number.
            record: first[&row.try_get::<i64, _>("id")?],
            planned_at: row.try_get("planned_at")?,
            endpoint: EndpointId(row.try_get("endpoint_id")?),
            charged,
        })
    };
    let fresh: Result<_, sqlx::Error> = rows.iter().map(fresh).collect();
    fresh.map_err(query_error(act))
}

/// A column of the batch.
fn each<'a, T>(fresh: &[Fresh<'a>], value: impl Fn(&'a ProbeRecord) -> T) -> Vec<T> {
    fresh.iter().map(|one| value(one.record)).collect()
}

/// Writes what the probes turned out to be, and what they did cost, and adds them to the sums.
async fn update_and_sum_up(
    connection: &mut PgConnection,
    fresh: &[Fresh<'_>],
) -> Result<(), StoreError> {
    sqlx::query(
        "/* record_probes */
         with recorded as (
             update probes set finished_at = records.finished_at, outcome = records.outcome, status = records.status,
                    finish_reason = records.finish_reason, prompt_tokens = records.prompt_tokens,
                    completion_tokens = records.completion_tokens, cached_tokens = records.cached_tokens,
                    response_bytes = records.response_bytes, ttft_ms = records.ttft_ms,
                    duration_ms = records.duration_ms, own_canaries = records.own_canaries,
                    verdict = records.verdict, reason = records.reason,
                    charged_prompt_tokens = case when charged_on is not null then cost_prompt_tokens end,
                    charged_answer_tokens = case when charged_on is not null then cost_answer_tokens end,
                    charged_micros = case when charged_on is not null then cost_micros end
             from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::text[], $5::smallint[], $6::text[],
                         $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
                         $13::integer[], $14::text[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[])
                  records (id, planned_at, finished_at, outcome, status, finish_reason,
                           prompt_tokens, completion_tokens, cached_tokens, response_bytes, ttft_ms, duration_ms,
                           own_canaries, verdict, reason, cost_prompt_tokens, cost_answer_tokens, cost_micros)
             where probes.id = records.id and probes.planned_at = records.planned_at
             returning probes.*
         )
         -- In a fixed order of rows: so two transactions never wait for each other.
         insert into probe_sums as sums (span, begins_at, endpoint_id, name, role, verdict, reason, probes,
                                         prompt_tokens, answer_tokens, response_bytes, duration_ms)
         select span, span_begin(span, recorded.finished_at), endpoint_id, name, role, recorded.verdict,
                coalesce(recorded.reason, ''), count(*), coalesce(sum(prompt_tokens), 0),
                coalesce(sum(completion_tokens), 0), coalesce(sum(response_bytes), 0), coalesce(sum(duration_ms), 0)
         from recorded join rounds on rounds.id = round_id cross join (values ('day'), ('hour')) spans (span)
         group by 1, 2, 3, 4, 5, 6, 7
         order by 1, 2, 3, 4, 5, 6, 7
         on conflict on constraint probe_sums_once do update
         set probes = sums.probes + excluded.probes, prompt_tokens = sums.prompt_tokens + excluded.prompt_tokens,
             answer_tokens = sums.answer_tokens + excluded.answer_tokens,
             response_bytes = sums.response_bytes + excluded.response_bytes,
             duration_ms = sums.duration_ms + excluded.duration_ms",
    )
    .bind(each(fresh, |record| bigint(record.probe.get())))
    .bind(fresh.iter().map(|one| one.planned_at).collect::<Vec<_>>())
    .bind(each(fresh, |record| record.finished_at))
    .bind(each(fresh, |record| record.outcome.as_ref()))
    .bind(each(fresh, |record| {
        record.status.map(|status| i16::try_from(status).unwrap_or(0))
    }))
    .bind(each(fresh, |record| record.finish_reason.as_deref()))
    .bind(each(fresh, |record| record.usage.prompt.map(bigint)))
    .bind(each(fresh, |record| record.usage.completion.map(bigint)))
    .bind(each(fresh, |record| record.usage.cached.map(bigint)))
    .bind(each(fresh, |record| bigint(record.response_bytes)))
    .bind(each(fresh, |record| record.ttft_ms.map(bigint)))
    .bind(each(fresh, |record| bigint(record.duration_ms)))
    .bind(each(fresh, |record| integer(record.own_canaries)))
    .bind(each(fresh, |record| record.verdict.as_ref()))
    .bind(each(fresh, |record| record.reason.as_deref()))
    .bind(each(fresh, |record| bigint(record.cost.prompt_tokens)))
    .bind(each(fresh, |record| bigint(record.cost.answer_tokens)))
    .bind(each(fresh, |record| bigint(record.cost.money.micros())))
    .execute(connection)
    .await
    .map_err(query_error("record probes and add them to the sums"))?;
    Ok(())
}

async fn insert_sightings(
    connection: &mut PgConnection,
    fresh: &[Fresh<'_>],
) -> Result<(), StoreError> {
    let seen: Vec<_> = fresh
        .iter()
        .flat_map(|one| one.record.seen.iter().map(move |seen| (one, seen)))
        .collect();
    if seen.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        (|$one:pat_param, $seen:pat_param| $value:expr) => {
            seen.iter().map(|($one, $seen)| $value).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "/* insert_sightings */
         insert into sightings (probe_id, probe_planned_at, donor_tenant, donor_probe, slot, key_id, form, strength, own,
                                place, byte_offset, byte_length, occurrences, damages, weight_bits, views)
         select * from unnest($1::bigint[], $2::timestamptz[], $3::smallint[], $4::bigint[], $5::smallint[], $6::text[],
                              $7::text[], $8::text[], $9::boolean[], $10::text[], $11::bigint[], $12::integer[],
                              $13::integer[], $14::smallint[], $15::integer[], $16::text[])",
    )
    .bind(column!(|one, _| bigint(one.record.probe.get())))
    .bind(column!(|one, _| one.planned_at))
    .bind(column!(|_, seen| bigint(seen.sighting.identity.tenant.get()) as i16))
    .bind(column!(|_, seen| bigint(seen.sighting.identity.probe.get())))
    .bind(column!(|_, seen| bigint(seen.sighting.identity.slot.get()) as i16))
    .bind(column!(|_, seen| seen.sighting.key.to_string()))
    .bind(column!(|_, seen| seen.sighting.form.as_str()))
    .bind(column!(|_, seen| seen.sighting.proof.as_str()))
    .bind(column!(|one, seen| {
        let identity = seen.sighting.identity;
        (identity.tenant, identity.probe) == one.record.own
    }))
    .bind(column!(|_, seen| seen.place.as_str()))
    .bind(column!(|_, seen| bigint(seen.sighting.offset)))
    .bind(column!(|_, seen| seen.sighting.length as i32))
    .bind(column!(|_, seen| integer(seen.occurrences)))
    .bind(column!(|_, seen| i16::from(seen.sighting.proof.damages())))
    .bind(column!(|_, seen| integer(seen.sighting.weight_bits)))
    .bind(column!(|_, seen| seen.sighting.views.to_string()))
    .execute(connection)
    .await
    .map_err(query_error("record sightings"))?;
    Ok(())
}

/// Evidence and findings, which are few, one by one in the order of the records; the incidents of each record.
async fn record_findings(
    connection: &mut PgConnection,
    records: &[ProbeRecord],
    fresh: &[Fresh<'_>],
    rules: &Rules,
) -> Result<Vec<Vec<IncidentId>>, StoreError> {
    let with_findings = fresh.iter().filter(|one| !one.record.findings.is_empty());
    let endpoints: BTreeSet<EndpointId> = with_findings.map(|one| one.endpoint).collect();
    for endpoint in endpoints {
        incidents::lock(connection, endpoint).await?;
    }
    let is_fresh = |record: &ProbeRecord| {
        let place = fresh.binary_search_by_key(&record.probe, |one| one.record.probe);
        place.is_ok_and(|place| std::ptr::eq(fresh[place].record, record))
    };
    let mut found = Vec::with_capacity(records.len());
    for record in records {
        let mut incidents = Vec::new();
        if is_fresh(record) {
            if let Some(sealed) = &record.evidence {
                insert_evidence(connection, sealed, record.finished_at).await?;
            }
            for finding in &record.findings {
                let of = (record.round, record.probe, record.finished_at);
                incidents.push(insert_finding(connection, of, finding, rules).await?);
            }
        }
        found.push(incidents);
    }
    Ok(found)
}

/// What a probe did cost beyond what was reserved for it; nothing if nothing was.
fn settled(one: &Fresh<'_>) -> Option<Settled> {
    let charged = one.charged.as_ref()?;
    let cost = &one.record.cost;
    Some(Settled {
        endpoint: one.endpoint,
        day: charged.day,
        prompt_tokens: bigint(cost.prompt_tokens) - charged.prompt_tokens,
        answer_tokens: bigint(cost.answer_tokens) - charged.answer_tokens,
        micros: bigint(cost.money.micros()) - charged.micros,
    })
}
