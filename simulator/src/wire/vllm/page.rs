//! vLLM's metrics.

use crate::config::Config;
use crate::engine::{Counts, Pages, Phase, State};
use crate::kv::PAGE_TOKENS;
use crate::wire::metrics::Exposition;

/// The groups are two engines, as those of a deployment in two groups are: 0 prefills, 1 decodes.
pub(super) fn page(config: &Config, state: &State) -> String {
    let mut page = Exposition::new(&[("model_name", &config.model)]);
    gauges(&mut page, config, state);
    totals(&mut page, &state.counts);
    if config.speculates() {
        speculation(&mut page, &state.counts);
    }
    page.into_text()
}

const ENGINES: [&[(&str, &str)]; 2] = [&[("engine", "0")], &[("engine", "1")]];

fn gauges(page: &mut Exposition, config: &Config, state: &State) {
    let running = [
        state.within(Phase::Prefill) + state.within(Phase::Transfer),
        state.within(Phase::Decode),
    ];
    let waiting = [state.waiting, state.within(Phase::Retracted)];
    let pools = [state.prefill, state.decode];
    let mut by_engine = |name, help, of: &dyn Fn(usize) -> f64| {
        let samples = [0, 1].map(|engine| (ENGINES[engine], of(engine)));
        page.family(name, "gauge", help, &samples);
    };
    by_engine(
        "vllm:num_requests_running",
        "Number of requests in model execution batches.",
        &|engine| running[engine] as f64,
    );
    by_engine(
        "vllm:num_requests_waiting",
        "Number of requests waiting to be processed.",
        &|engine| waiting[engine] as f64,
    );
    by_engine(
        "vllm:kv_cache_usage_perc",
        "KV-cache usage. 1 means 100 percent usage.",
        &|engine| pools[engine].usage(),
    );
    for (engine, pool) in ["0", "1"].into_iter().zip(pools) {
        cache_config(page, config, engine, pool);
    }
}

fn cache_config(page: &mut Exposition, config: &Config, engine: &str, pool: Pages) {
    let tokens = pool.all * PAGE_TOKENS;
    let concurrency = tokens as f64 / f64::from(config.context_tokens);
    let size = PAGE_TOKENS.to_string();
    let labels = [
        ("block_size", size.as_str()),
        ("enable_prefix_caching", "True"),
        ("engine", engine),
        ("kv_cache_max_concurrency", &format!("{concurrency:?}")),
        ("kv_cache_size_tokens", &tokens.to_string()),
        ("num_gpu_blocks", &pool.all.to_string()),
    ];
    let help = "Information of the LLMEngine CacheConfig";
    page.family("vllm:cache_config_info", "gauge", help, &[(&labels, 1.0)]);
}

fn totals(page: &mut Exposition, counts: &Counts) {
    let mut of_prefill = |name, help, value: u64| {
        page.family(name, "counter", help, &[(ENGINES[0], value as f64)]);
    };
    of_prefill(
        "vllm:prefix_cache_queries_total",
        "Prefix cache queries, in terms of number of queried tokens.",
        counts.prompt_tokens,
    );
    of_prefill(
        "vllm:prefix_cache_hits_total",
        "Prefix cache hits, in terms of number of cached tokens.",
        counts.from_device,
    );
    of_prefill(
        "vllm:external_prefix_cache_hits_total",
        "External prefix cache hits, in terms of number of cached tokens.",
        counts.from_host + counts.from_disk,
    );
    of_prefill(
        "vllm:prompt_tokens_total",
        "Number of prefill tokens processed.",
        counts.prompt_tokens,
    );
    of_prefill(
        "vllm:prompt_tokens_cached_total",
        "Number of cached prompt tokens.",
        counts.cached(),
    );
    page.family(
        "vllm:prompt_tokens_by_source_total",
        "counter",
        "Number of prompt tokens by source.",
        &[
            (
                &[("engine", "0"), ("source", "local_compute")],
                counts.computed_tokens as f64,
            ),
            (
                &[("engine", "0"), ("source", "local_cache_hit")],
                counts.from_device as f64,
            ),
            (
                &[("engine", "0"), ("source", "external_kv_transfer")],
                (counts.from_host + counts.from_disk) as f64,
            ),
        ],
    );
    page.family(
        "vllm:prompt_tokens_cached_by_source_total",
        "counter",
        "Prefix-cache hit tokens by the cache tier that supplied them.",
        &[
            (
                &[("engine", "0"), ("source", "device")],
                counts.from_device as f64,
            ),
            (
                &[("engine", "0"), ("source", "host")],
                counts.from_host as f64,
            ),
            (
                &[("engine", "0"), ("source", "disk")],
                counts.from_disk as f64,
            ),
        ],
    );
    let mut of_decode = |name, help, value: u64| {
        page.family(name, "counter", help, &[(ENGINES[1], value as f64)]);
    };
    of_decode(
        "vllm:generation_tokens_total",
        "Number of generation tokens processed.",
        counts.given_tokens,
    );
    of_decode(
        "vllm:num_preemptions_total",
        "Cumulative number of preemption from the engine.",
        counts.retractions,
    );
    of_decode(
        "vllm:nixl_num_failed_transfers_total",
        "Number of failed NIXL KV Cache transfers.",
        counts.failed_transfers,
    );
    page.family(
        "vllm:request_success_total",
        "counter",
        "Count of successfully processed requests.",
        &[
            (
                &[("engine", "1"), ("finished_reason", "stop")],
                counts.stopped as f64,
            ),
            (
                &[("engine", "1"), ("finished_reason", "length")],
                counts.cut as f64,
            ),
            (
                &[("engine", "1"), ("finished_reason", "abort")],
                counts.aborted as f64,
            ),
            (
                &[("engine", "1"), ("finished_reason", "error")],
                counts.failed as f64,
            ),
        ],
    );
}

fn speculation(page: &mut Exposition, counts: &Counts) {
    let mut of_decode = |name, help, value: u64| {
        page.family(name, "counter", help, &[(ENGINES[1], value as f64)]);
    };
    of_decode(
        "vllm:spec_decode_num_drafts_total",
        "Number of spec decoding drafts.",
        counts.drafts,
    );
    of_decode(
        "vllm:spec_decode_num_draft_tokens_total",
        "Number of draft tokens.",
        counts.drafted,
    );
    of_decode(
        "vllm:spec_decode_num_accepted_tokens_total",
        "Number of accepted tokens.",
        counts.accepted,
    );
}
