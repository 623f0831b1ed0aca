//! Endpoints, tenants and key ids.

use super::{Store, StoreError, bigint, query_error};
use crate::ids::{EndpointId, TenantId};
use canary_gen::{KeyId, TenantNumber};
use sqlx::Row as _;
use time::OffsetDateTime;

/// What the configuration says of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointFacts {
    /// Its unique name.
    pub name: String,
    /// Its API kind.
    pub api: &'static str,
    /// Where it is.
    pub base_url: String,
    /// Which model.
    pub model: String,
    /// Advertised context window, in tokens.
    pub context_tokens: u64,
    /// Names of its tenants.
    pub tenants: Vec<String>,
}

/// An endpoint as the database knows it.
#[derive(Clone, Debug)]
pub struct RegisteredEndpoint {
    /// Its id.
    pub id: EndpointId,
    /// Its tenants, in the order of the configuration.
    pub tenants: Vec<RegisteredTenant>,
    /// The limit it named when it last refused a prompt, in tokens.
    pub measured_limit: Option<u64>,
}

/// A tenant as the database knows it.
#[derive(Clone, Debug)]
pub struct RegisteredTenant {
    /// Its id.
    pub id: TenantId,
    /// What its canaries say.
    pub number: TenantNumber,
    /// Its name.
    pub name: String,
}

impl Store {
    /// Makes an endpoint and its tenants known, or finds them again.
    ///
    /// # Errors
    /// When the database fails, or when all 4,096 tenant numbers are taken.
    pub async fn register_endpoint(
        &self,
        facts: &EndpointFacts,
        now: OffsetDateTime,
    ) -> Result<RegisteredEndpoint, StoreError> {
        let act = "register an endpoint";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let row = sqlx::query(
            "/* register_endpoint */
             insert into endpoints (name, api, base_url, model, context_tokens, first_seen_at, updated_at, changed_at)
             values ($1, $2, $3, $4, $5, $6, $6, $6)
             on conflict (name) do update
             set api = excluded.api, base_url = excluded.base_url, model = excluded.model,
                 context_tokens = excluded.context_tokens, updated_at = excluded.updated_at,
                 -- Another place, model or window: what was measured there says nothing here.
                 measured_limit_tokens = case
                     when (endpoints.base_url, endpoints.model, endpoints.context_tokens)
                        = (excluded.base_url, excluded.model, excluded.context_tokens)
                     then endpoints.measured_limit_tokens end,
                 changed_at = case
                     when (endpoints.base_url, endpoints.model, endpoints.context_tokens)
                        = (excluded.base_url, excluded.model, excluded.context_tokens)
                     then endpoints.changed_at else excluded.updated_at end
             returning id, measured_limit_tokens",
        )
        .bind(&facts.name)
        .bind(facts.api)
        .bind(&facts.base_url)
        .bind(&facts.model)
        .bind(bigint(facts.context_tokens))
        .bind(now)
        .fetch_one(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let id = EndpointId(row.try_get("id").map_err(query_error(act))?);
        let measured: Option<i64> = row
            .try_get("measured_limit_tokens")
            .map_err(query_error(act))?;
        let mut tenants = Vec::with_capacity(facts.tenants.len());
        for name in &facts.tenants {
            // A conflict must not draw a number: there are only 4,096.
            let row = sqlx::query(
                "/* register_tenant */
                 with known as (select id, number from tenants where endpoint_id = $1 and name = $2),
                 added as (
                     insert into tenants (endpoint_id, name, first_seen_at)
                     select $1, $2, $3 where not exists (select from known)
                     -- Another prober was faster.
                     on conflict (endpoint_id, name) do update set name = excluded.name
                     returning id, number
                 )
                 select id, number from known union all select id, number from added",
            )
            .bind(id.0)
            .bind(name)
            .bind(now)
            .fetch_one(&mut *transaction)
            .await
            .map_err(query_error("register a tenant"))?;
            let number: i16 = row.try_get("number").map_err(query_error(act))?;
            tenants.push(RegisteredTenant {
                id: TenantId(row.try_get("id").map_err(query_error(act))?),
                number: u64::try_from(number)
                    .ok()
                    .and_then(TenantNumber::new)
                    .ok_or(StoreError::Range {
                        what: "the tenant number",
                    })?,
                name: name.clone(),
            });
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(RegisteredEndpoint {
            id,
            tenants,
            measured_limit: measured.and_then(|limit| u64::try_from(limit).ok()),
        })
    }

    /// Records the limit an endpoint named when it refused a prompt, in tokens.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn record_measured_limit(
        &self,
        endpoint: EndpointId,
        limit: u64,
    ) -> Result<(), StoreError> {
        sqlx::query("/* record_measured_limit */ update endpoints set measured_limit_tokens = $2 where id = $1")
            .bind(endpoint.0)
            .bind(bigint(limit.max(1)))
            .execute(&self.pool)
            .await
            .map_err(query_error("record a measured limit"))?;
        Ok(())
    }

    /// Makes the public name of a minting key known.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn register_key(&self, key: KeyId, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query(
            "/* register_key */ insert into key_ids (id, first_seen_at) values ($1, $2) on conflict (id) do nothing",
        )
        .bind(key.to_string())
        .bind(now)
        .execute(&self.pool)
        .await
        .map_err(query_error("register a key id"))?;
        Ok(())
    }
}
