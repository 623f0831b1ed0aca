//! What is told of everything at once, for the metrics: few rows of sums and of what is unresolved.

use super::{History, Store, StoreError, query_error};
use crate::budget::{Cost, Money, day_of};
use crate::incident::State;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use std::collections::HashMap;
use time::{Duration, OffsetDateTime};

/// Sensitivity is that of so long a time.
const OF_LATE: Duration = Duration::days(7);
/// A round that proved something longer ago than this is not looked for.
const FORGOTTEN: Duration = Duration::days(30);

/// How it stands with everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// Incidents that are not resolved.
    pub incidents: Vec<UnresolvedIncidents>,
    /// Scenarios at endpoints that have had a round.
    pub lines: Vec<LineSurvey>,
    /// By endpoint: what was charged to the day. Nothing, if it is missing.
    pub spent: HashMap<String, Cost>,
    /// Receivers that a prober has known.
    pub receivers: Vec<ReceiverSurvey>,
    /// Endpoints that have had a drill.
    pub drills: Vec<DrillSurvey>,
}

/// Drills of an endpoint that have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillSurvey {
    /// The name of the endpoint.
    pub endpoint: String,
    /// When one was last taken by every receiver in time, if one is kept that was.
    pub arrived_at: Option<OffsetDateTime>,
    /// Whether the last one was.
    pub has_last_arrived: bool,
}

/// Incidents of one endpoint, kind and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedIncidents {
    /// The name of the endpoint.
    pub endpoint: String,
    /// The kind of their findings.
    pub kind: String,
    /// How far they are.
    pub state: State,
    /// How many.
    pub count: u64,
}

/// A scenario at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSurvey {
    /// The name of the endpoint.
    pub endpoint: String,
    /// The name of the scenario.
    pub scenario: String,
    /// What all its rounds counted.
    pub history: History,
    /// Answered probes of the last seven days (UTC) whose question asked for an own canary.
    pub asked_of_late: u64,
    /// Of those, how many gave one back.
    pub recalled_of_late: u64,
    /// When a round last ended that proved something, if that was in the last 30 days.
    pub last_conclusive_at: Option<OffsetDateTime>,
}

/// A receiver, and what waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverSurvey {
    /// Its name.
    pub name: String,
    /// How often in a row it did not take a message.
    pub failures: u64,
    /// Whether it said that it is gone.
    pub is_disabled: bool,
    /// Urgent messages that wait.
    pub urgent: Waiting,
    /// Others.
    pub others: Waiting,
}

/// Messages that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub count: u64,
    /// When what the oldest tells was written.
    pub oldest_at: Option<OffsetDateTime>,
}

impl Store {
    /// How it stands with these endpoints and receivers.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn survey(
        &self,
        endpoints: &[String],
        receivers: &[String],
        now: OffsetDateTime,
    ) -> Result<Survey, StoreError> {
        Ok(Survey {
            incidents: self.unresolved_incidents(endpoints).await?,
            lines: self.survey_lines(endpoints, now).await?,
            spent: self.spent_by_endpoint(endpoints, now).await?,
            receivers: self.survey_receivers(receivers).await?,
            drills: self.survey_drills(endpoints).await?,
        })
    }

    async fn unresolved_incidents(
        &self,
        endpoints: &[String],
    ) -> Result<Vec<UnresolvedIncidents>, StoreError> {
        let act = "count unresolved incidents";
        let rows = sqlx::query(
            "/* unresolved_incidents */
             select endpoints.name, kind, state, count(*) as count
             from incidents join endpoints on endpoints.id = endpoint_id
             where state <> 'resolved' and endpoints.name = any($1) group by 1, 2, 3",
        )
        .bind(endpoints)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let unresolved = |row: &PgRow| {
            let state: String = row.try_get("state")?;
            Ok(UnresolvedIncidents {
                endpoint: row.try_get("name")?,
                kind: row.try_get("kind")?,
                // There is no other that is not resolved; rather too loud than too quiet.
                state: State::of(&state).unwrap_or(State::Open),
                count: count(row, "count")?,
            })
        };
        let unresolved: Result<_, sqlx::Error> = rows.iter().map(unresolved).collect();
        unresolved.map_err(query_error(act))
    }

    async fn survey_lines(
        &self,
        endpoints: &[String],
        now: OffsetDateTime,
    ) -> Result<Vec<LineSurvey>, StoreError> {
        let act = "sum up the rounds of all scenarios";
        let rows = sqlx::query(
            "/* survey_lines */
             with counted as (
                 select endpoint_id, round_sums.name,
                        sum(rounds)::bigint as rounds, sum(responses)::bigint as responses, sum(leaks)::bigint as leaks,
                        sum(asked)::bigint as asked, sum(recalled)::bigint as recalled,
                        coalesce(sum(asked) filter (where begins_at > $2), 0)::bigint as asked_of_late,
                        coalesce(sum(recalled) filter (where begins_at > $2), 0)::bigint as recalled_of_late
                 from round_sums join endpoints on endpoints.id = endpoint_id
                 where span = 'day' and verdict <> 'skipped' and endpoints.name = any($1)
                 group by 1, 2
             )
             select endpoints.name as endpoint, counted.name as scenario, rounds, responses, leaks, asked, recalled,
                    asked_of_late, recalled_of_late, last_conclusive_at
             from counted join endpoints on endpoints.id = endpoint_id
                  left join lateral (
                      select finished_at as last_conclusive_at from rounds
                      where rounds.endpoint_id = counted.endpoint_id and rounds.name = counted.name
                        and state = 'finished' and verdict <> 'inconclusive' and started_at > $3
                      order by started_at desc limit 1) last on true",
        )
        .bind(endpoints)
        .bind(now - OF_LATE)
        .bind(now - FORGOTTEN)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let line = |row: &PgRow| {
            Ok(LineSurvey {
                endpoint: row.try_get("endpoint")?,
                scenario: row.try_get("scenario")?,
                history: History {
                    rounds: count(row, "rounds")?,
                    responses: count(row, "responses")?,
                    leaks: count(row, "leaks")?,
                    asked: count(row, "asked")?,
                    recalled: count(row, "recalled")?,
                },
                asked_of_late: count(row, "asked_of_late")?,
                recalled_of_late: count(row, "recalled_of_late")?,
                last_conclusive_at: row.try_get("last_conclusive_at")?,
            })
        };
        let lines: Result<_, sqlx::Error> = rows.iter().map(line).collect();
        lines.map_err(query_error(act))
    }

    async fn spent_by_endpoint(
        &self,
        endpoints: &[String],
        now: OffsetDateTime,
    ) -> Result<HashMap<String, Cost>, StoreError> {
        let act = "look up what was spent";
        let rows = sqlx::query(
            "/* spent_by_endpoint */
             select name, prompt_tokens, answer_tokens, micros
             from spending join endpoints on endpoints.id = endpoint_id where day = $2 and name = any($1)",
        )
        .bind(endpoints)
        .bind(day_of(now))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let spent = |row: &PgRow| {
            let cost = Cost {
                prompt_tokens: count(row, "prompt_tokens")?,
                answer_tokens: count(row, "answer_tokens")?,
                money: Money::from_micros(count(row, "micros")?),
            };
            Ok((row.try_get("name")?, cost))
        };
        let spent: Result<_, sqlx::Error> = rows.iter().map(spent).collect();
        spent.map_err(query_error(act))
    }

    async fn survey_receivers(
        &self,
        receivers: &[String],
    ) -> Result<Vec<ReceiverSurvey>, StoreError> {
        let act = "look up how it stands with receivers";
        let rows = sqlx::query(
            "/* survey_receivers */
             select name, failures, disabled_at is not null as is_disabled,
                    count(alerts.id) filter (where urgent) as urgent,
                    min(noted_at) filter (where urgent) as urgent_since,
                    count(alerts.id) filter (where not urgent) as others,
                    min(noted_at) filter (where not urgent) as others_since
             from receivers
                  left join deliveries on deliveries.receiver = name and deliveries.state = 'pending'
                  left join alerts on alerts.id = alert_id
             where name = any($1) group by name order by name",
        )
        .bind(receivers)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let receiver = |row: &PgRow| {
            let waiting = |many, since| -> Result<Waiting, sqlx::Error> {
                Ok(Waiting {
                    count: count(row, many)?,
                    oldest_at: row.try_get(since)?,
                })
            };
            Ok(ReceiverSurvey {
                name: row.try_get("name")?,
                failures: count(row, "failures")?,
                is_disabled: row.try_get("is_disabled")?,
                urgent: waiting("urgent", "urgent_since")?,
                others: waiting("others", "others_since")?,
            })
        };
        let receivers: Result<_, sqlx::Error> = rows.iter().map(receiver).collect();
        receivers.map_err(query_error(act))
    }

    async fn survey_drills(&self, endpoints: &[String]) -> Result<Vec<DrillSurvey>, StoreError> {
        let act = "look up how drills ended";
        let rows = sqlx::query(
            "/* survey_drills */
             select endpoint, max(ended_at) filter (where because is null) as arrived_at,
                    (array_agg(because is null order by id desc))[1] as has_last_arrived
             from drills where ended_at is not null and endpoint = any($1) group by endpoint",
        )
        .bind(endpoints)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let drill = |row: &PgRow| {
            Ok(DrillSurvey {
                endpoint: row.try_get("endpoint")?,
                arrived_at: row.try_get("arrived_at")?,
                has_last_arrived: row.try_get("has_last_arrived")?,
            })
        };
        let drills: Result<_, sqlx::Error> = rows.iter().map(drill).collect();
        drills.map_err(query_error(act))
    }
}

fn count(row: &PgRow, name: &str) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(name).map(i64::cast_unsigned)
}
