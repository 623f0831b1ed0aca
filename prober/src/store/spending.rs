//! What endpoints were charged, by day, and what decides where a budget is spent.

use super::{Store, StoreError, bigint, query_error};
use crate::budget::{Budget, Cost, Money, day_of};
use crate::ids::EndpointId;
use canary_gen::ProbeNumber;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use std::collections::{BTreeMap, HashMap};
use time::{Date, OffsetDateTime};

/// What is known of an endpoint that its next rounds depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What was charged on the day in question.
    pub spent: Cost,
    /// The limit it named when it last refused a prompt, in tokens.
    pub measured_limit: Option<u64>,
    /// When it last changed: a new model, address, window or build.
    pub changed_at: OffsetDateTime,
    /// By name of the scenario: when the last round that has ended began.
    pub last_rounds: HashMap<String, OffsetDateTime>,
}

impl Standing {
    /// Whether a scenario has run since the endpoint last changed.
    #[must_use]
    pub fn has_run_since_change(&self, scenario: &str) -> bool {
        let last = self.last_rounds.get(scenario);
        last.is_some_and(|&at| at > self.changed_at)
    }
}

impl Store {
    /// Charges a probe with what it may cost at most, unless the day's limits do not allow it: then nothing
    /// is charged, and the answer is false. Doing it twice charges once. One statement: however many probers
    /// do it at once, no limit is passed.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn reserve(
        &self,
        endpoint: EndpointId,
        probe: ProbeNumber,
        cost: Cost,
        limits: &Budget,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "/* reserve */
             with fresh as (
                 -- Charged already: the acknowledgement was lost.
                 select id from probes where id = $1 and charged_on is null for update
             ),
             paid as (
                 -- The row of the day stays locked until the end, and a later one sees what an earlier one added.
                 insert into spending as s (endpoint_id, day, requests, prompt_tokens, answer_tokens, micros)
                 select $2, $3, 1, $4, $5, $6 from fresh
                 where $4 + $5 <= coalesce($7, 9223372036854775807) and $6 <= coalesce($8, 9223372036854775807)
                 on conflict on constraint spending_once do update
                 set requests = s.requests + 1, prompt_tokens = s.prompt_tokens + excluded.prompt_tokens,
                     answer_tokens = s.answer_tokens + excluded.answer_tokens, micros = s.micros + excluded.micros
                 where s.prompt_tokens + s.answer_tokens + excluded.prompt_tokens + excluded.answer_tokens
                           <= coalesce($7, 9223372036854775807)
                   and s.micros + excluded.micros <= coalesce($8, 9223372036854775807)
                 returning day
             ),
             charged as (
                 update probes set charged_on = paid.day, charged_prompt_tokens = $4, charged_answer_tokens = $5,
                                   charged_micros = $6
                 from paid where probes.id = $1
                 returning probes.id
             )
             select exists (select from charged)
                 or exists (select from probes where id = $1 and charged_on is not null)",
        )
        .bind(bigint(probe.get()))
        .bind(endpoint.0)
        .bind(day_of(now))
        .bind(bigint(cost.prompt_tokens))
        .bind(bigint(cost.answer_tokens))
        .bind(bigint(cost.money.micros()))
        .bind(limits.tokens_per_day.map(bigint))
        .bind(limits.money_per_day.map(|money| bigint(money.micros())))
        .fetch_one(&self.pool)
        .await
        .map_err(query_error("charge a probe to the budget"))
    }

    /// What an endpoint was charged on a day.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn spent(&self, endpoint: EndpointId, day: Date) -> Result<Cost, StoreError> {
        let act = "look up what was spent";
        let row = sqlx::query(
            "/* spent */ select prompt_tokens, answer_tokens, micros from spending where endpoint_id = $1 and day = $2",
        )
        .bind(endpoint.0)
        .bind(day)
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        row.as_ref()
            .map_or(Ok(Cost::default()), cost)
            .map_err(query_error(act))
    }

    /// What is known of an endpoint by name; `None` if it was never probed.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn standing(&self, name: &str, day: Date) -> Result<Option<Standing>, StoreError> {
        let act = "look up an endpoint";
        let row = sqlx::query(
            "/* standing */
             select id, measured_limit_tokens, changed_at, coalesce(prompt_tokens, 0) as prompt_tokens,
                    coalesce(answer_tokens, 0) as answer_tokens, coalesce(micros, 0) as micros
             from endpoints left join spending on endpoint_id = id and day = $2
             where name = $1",
        )
        .bind(name)
        .bind(day)
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        let Some(row) = row else {
            return Ok(None);
        };
        let id: i64 = row.try_get("id").map_err(query_error(act))?;
        let rounds: Vec<(String, OffsetDateTime)> = sqlx::query_as(
            "/* last_rounds */
             -- From name to name: an endpoint has few, and any number of rounds of each.
             with recursive last as (
                 (select name, started_at from rounds where endpoint_id = $1 and state = 'finished'
                  order by name, started_at desc limit 1)
                 union all
                 select next.name, next.started_at
                 from last cross join lateral (
                     select name, started_at from rounds
                     where endpoint_id = $1 and state = 'finished' and name > last.name
                     order by name, started_at desc limit 1) next
             )
             select name, started_at from last",
        )
        .bind(id)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let measured: Option<i64> = row
            .try_get("measured_limit_tokens")
            .map_err(query_error(act))?;
        Ok(Some(Standing {
            spent: cost(&row).map_err(query_error(act))?,
            measured_limit: measured.and_then(|limit| u64::try_from(limit).ok()),
            changed_at: row.try_get("changed_at").map_err(query_error(act))?,
            last_rounds: rounds.into_iter().collect(),
        }))
    }

    /// Records that an answer came from a build. One that was not seen for a day is a change of the
    /// endpoint, but for the very first; true if it is one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn record_build(
        &self,
        endpoint: EndpointId,
        (model, fingerprint): (&str, &str),
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "/* record_build */
             with known as (
                 select bool_or(model = $2 and fingerprint = $3 and last_seen_at > $4 - interval '1 day') as this,
                        count(*) > 0 as any
                 from builds where endpoint_id = $1
             ),
             seen as (
                 insert into builds (endpoint_id, model, fingerprint, first_seen_at, last_seen_at)
                 values ($1, $2, $3, $4, $4)
                 on conflict on constraint builds_once do update set last_seen_at = excluded.last_seen_at
             ),
             changed as (
                 update endpoints set changed_at = $4 from known where id = $1 and known.any and not known.this
                 returning id
             )
             select exists (select from changed)",
        )
        .bind(endpoint.0)
        .bind(model)
        .bind(fingerprint)
        .bind(now)
        .fetch_one(&self.pool)
        .await
        .map_err(query_error("record the build of an endpoint"))
    }
}

/// How much more than what was reserved for it a probe did cost; less, if negative.
pub(super) struct Settled {
    pub(super) endpoint: EndpointId,
    /// The day that it was charged to.
    pub(super) day: Date,
    pub(super) prompt_tokens: i64,
    pub(super) answer_tokens: i64,
    pub(super) micros: i64,
}

/// Charges days with what probes did cost instead of what was reserved for them.
pub(super) async fn settle(
    connection: &mut PgConnection,
    probes: impl Iterator<Item = Settled>,
) -> Result<(), StoreError> {
    let mut days: BTreeMap<_, [i64; 3]> = BTreeMap::new();
    for one in probes {
        let sums = days.entry((one.endpoint.0, one.day)).or_default();
        let more = [one.prompt_tokens, one.answer_tokens, one.micros];
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }
    if days.is_empty() {
        return Ok(());
    }
    let (endpoints, dates): (Vec<i64>, Vec<Date>) = days.keys().copied().unzip();
    let column = |place: usize| days.values().map(|sums| sums[place]).collect::<Vec<_>>();
    // In a fixed order of rows: so two transactions never wait for each other.
    sqlx::query(
        "/* settle */
         with due as materialized (
             select due.* from unnest($1::bigint[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[])
                               due (endpoint_id, day, prompt_tokens, answer_tokens, micros)
                  join spending on spending.endpoint_id = due.endpoint_id and spending.day = due.day
             order by due.endpoint_id, due.day for no key update of spending
         )
         update spending set prompt_tokens = spending.prompt_tokens + due.prompt_tokens,
                             answer_tokens = spending.answer_tokens + due.answer_tokens,
                             micros = spending.micros + due.micros
         from due where spending.endpoint_id = due.endpoint_id and spending.day = due.day",
    )
    .bind(endpoints)
    .bind(dates)
    .bind(column(0))
    .bind(column(1))
    .bind(column(2))
    .execute(connection)
    .await
    .map_err(query_error("settle what probes cost"))?;
    Ok(())
}

fn cost(row: &PgRow) -> Result<Cost, sqlx::Error> {
    let column = |name| row.try_get::<i64, _>(name).map(i64::cast_unsigned);
    Ok(Cost {
        prompt_tokens: column("prompt_tokens")?,
        answer_tokens: column("answer_tokens")?,
        money: Money::from_micros(column("micros")?),
    })
}
