//! What is known of each fault: its name, what goes wrong, and the public reports of the like.

use super::Fault;

/// What is known of a fault.
pub(super) struct Known {
    pub(super) fault: Fault,
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) reports: &'static [&'static str],
}

const fn known(
    fault: Fault,
    name: &'static str,
    about: &'static str,
    reports: &'static [&'static str],
) -> Known {
    Known {
        fault,
        name,
        about,
        reports,
    }
}

/// In the order in which [`Fault`] declares them.
pub(super) const KNOWN: [Known; 26] = [
    known(
        Fault::StalePages,
        "stale-pages",
        "over-long requests are accepted, decode reads what was there before",
        &[
            "Cloudflare Workers AI, October 2026",
            "sgl-project/sglang #30233, #34208, #35421",
        ],
    ),
    known(
        Fault::TransferFailureIgnored,
        "transfer-failure-ignored",
        "transfers fail half way, decode starts all the same",
        &["sgl-project/sglang #33507", "vllm-project/vllm #52234"],
    ),
    known(
        Fault::FreedWhileWriting,
        "freed-while-writing",
        "an aborted request's pages are freed while its transfer still writes",
        &[
            "sgl-project/sglang #24527, #35049",
            "Z.ai, Scaling Pain, April 2026",
        ],
    ),
    known(
        Fault::DecodeBeforeTransfer,
        "decode-before-transfer",
        "decode starts when a transfer begins, not when it is through",
        &[
            "sgl-project/sglang #22811",
            "Z.ai, Scaling Pain, April 2026",
        ],
    ),
    known(
        Fault::SourceFreedEarly,
        "source-freed-early",
        "what a transfer reads is freed when it begins; failure metrics stay at zero",
        &["vllm-project/vllm #52234", "ai-dynamo/dynamo #9937"],
    ),
    known(
        Fault::SwapNotRestored,
        "swap-not-restored",
        "a retracted request goes on with pages that were not filled again",
        &["vllm-project/vllm #52360, #53084"],
    ),
    known(
        Fault::PrefixKeyCollision,
        "prefix-key-collision",
        "keys of the prefix cache are short and what they find is not compared",
        &[
            "CVE-2025-25183",
            "vllm-project/vllm #12621",
            "LMCache/LMCache #3301",
        ],
    ),
    known(
        Fault::PrefixWithoutTenant,
        "prefix-without-tenant",
        "the prefix cache is shared by all tenants",
        &["CVE-2025-46570", "arXiv 2502.07776"],
    ),
    known(
        Fault::PrefixWithoutSalt,
        "prefix-without-salt",
        "the prefix cache ignores cache_salt",
        &["vllm-project/vllm #44701", "vllm-project/vllm #17045"],
    ),
    known(
        Fault::PrefixWithoutAdapter,
        "prefix-without-adapter",
        "the prefix cache gives one LoRA adapter what another computed",
        &[
            "vllm-project/vllm #3264, #44250",
            "LMCache/LMCache #2961",
            "llm-d/llm-d-kv-cache #189",
        ],
    ),
    known(
        Fault::BoundaryOffByOne,
        "boundary-off-by-one",
        "the last page of a prompt of whole pages is not transferred",
        &["sgl-project/sglang #22819"],
    ),
    known(
        Fault::TableRowsNotMoved,
        "table-rows-not-moved",
        "page-table rows of a batch stay when a request leaves it",
        &["vllm-project/vllm #37076, #39146", "ml-explore/mlx-lm #965"],
    ),
    known(
        Fault::DraftOfNeighbour,
        "draft-of-neighbour",
        "speculative decoding gives a request the tokens verified for its neighbour",
        &[
            "vllm-project/vllm #14645, #39833",
            "ggml-org/llama.cpp #28286",
        ],
    ),
    known(
        Fault::BudgetOfNeighbour,
        "budget-of-neighbour",
        "a thinking budget ends the thinking of the request behind its own",
        &[
            "vllm-project/vllm #51890",
            "ml-explore/mlx-lm #1225",
            "jundot/omlx #1845",
        ],
    ),
    known(
        Fault::HostSlotNotPinned,
        "host-slot-not-pinned",
        "the host tier restores another session's page",
        &[
            "NVIDIA/TensorRT-LLM #8813",
            "ggml-org/llama.cpp #27148",
            "vllm-project/vllm #47282",
        ],
    ),
    known(
        Fault::DiskIndexStale,
        "disk-index-stale",
        "the disk tier returns a block that was reused",
        &["LMCache/LMCache #4385"],
    ),
    known(
        Fault::StateNotReset,
        "state-not-reset",
        "a recurrent state is not cleared between requests",
        &["vllm-project/vllm #56524", "ggml-org/llama.cpp #29092"],
    ),
    known(
        Fault::LogitsShared,
        "logits-shared",
        "two halves of a batch share one buffer of logits",
        &["GHSA-v97p-wpxp-px84", "theroyallab/tabbyAPI #107"],
    ),
    known(
        Fault::MetadataSlotReused,
        "metadata-slot-reused",
        "the first token of an answer is another request's",
        &["sgl-project/sglang #17259, #22716"],
    ),
    known(
        Fault::HeadTruncated,
        "head-truncated",
        "a prompt over the window silently loses its head",
        &["ollama/ollama #4767", "ggml-org/llama.cpp --context-shift"],
    ),
    known(
        Fault::StreamsSwapped,
        "streams-swapped",
        "streams behind one that ended go to their neighbours' clients",
        &["theroyallab/tabbyAPI #107", "vllm-project/vllm #13408"],
    ),
    known(
        Fault::RequestIdReused,
        "request-id-reused",
        "an answer goes to whoever last used the same x-request-id",
        &["sgl-project/sglang #19035, #4026", "CVE-2026-105755"],
    ),
    known(
        Fault::TraceIdCollides,
        "trace-id-collides",
        "requests of one traceparent get each other's answers",
        &["ai-dynamo/dynamo #8601"],
    ),
    known(
        Fault::ConnectionOffByOne,
        "connection-off-by-one",
        "after a cancelled request a connection is one reply behind",
        &["OpenAI, March 2023", "CVE-2023-28858, CVE-2023-28859"],
    ),
    known(
        Fault::ResponseCacheWithoutTenant,
        "response-cache-without-tenant",
        "equal requests of other tenants get the kept answer",
        &["BerriAI/litellm #29955"],
    ),
    known(
        Fault::SemanticCacheWithoutTenant,
        "semantic-cache-without-tenant",
        "nearly equal requests of other tenants get the kept answer",
        &["vllm-project/semantic-router #1448, #2134"],
    ),
];
