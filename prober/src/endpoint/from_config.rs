//! From what the configuration says of an endpoint to what a request is sent to.

use super::Target;
use crate::config;

impl From<&config::Endpoint> for Target {
    fn from(endpoint: &config::Endpoint) -> Self {
        Self {
            base_url: endpoint.base_url.clone(),
            api: endpoint.api,
            model: endpoint.model.clone(),
            stream: endpoint.stream,
            limits: endpoint.limits,
        }
    }
}
