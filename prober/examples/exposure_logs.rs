//! Logs for `scripts/bench-exposure`, and a peer that reads every line of them into a tree.
//!
//!   exposure_logs make jsonl|csv MIB >FILE
//!   exposure_logs parse <FILE          prints how many lines name the founding incident's model
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufWriter, Write};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", layout, mebibytes] => {
            make(*layout == "csv", mebibytes.parse::<u64>().unwrap() << 20)
        }
        ["parse"] => parse(),
        _ => Err(io::Error::other(
            "usage: exposure_logs make jsonl|csv MIB, exposure_logs parse",
        )),
    }
}

/// One request in ten is of the incident. Prompts are kept in the log, as gateways do, of very different lengths.
fn make(is_csv: bool, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let words = "the quarter's figures, \"as agreed\", are in the annex;\nplease draft an answer to the customer. ";
    let mut written = 0;
    let mut number: u64 = 0;
    if is_csv {
        writeln!(
            out,
            "request_id,call_type,api_key,startTime,model,custom_llm_provider,prompt_tokens,completion_tokens,team_alias"
        )?;
    }
    while written < bytes {
        number += 1;
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (model, provider) = match mixed % 10 {
            0 => ("@cf/zai-org/glm-5.3", "cloudflare"),
            1..=4 => ("gpt-4.1", "openai"),
            _ => ("claude-sonnet-4-5", "anthropic"),
        };
        let seconds = 1_784_000_000 + mixed % 8_000_000;
        let key = format!("key-{}", mixed % 500);
        let line = if is_csv {
            format!(
                "req-{number},acompletion,{key},{seconds},{model},{provider},{},{},team-{}",
                mixed % 900_000,
                mixed % 700,
                mixed % 20
            )
        } else {
            let prompt = words.repeat((mixed % 40) as usize);
            json!({
                "request_id": format!("req-{number}"), "call_type": "acompletion", "api_key": key, "spend": 0.00123,
                "total_tokens": mixed % 900_000 + mixed % 700, "prompt_tokens": mixed % 900_000, "completion_tokens": mixed % 700,
                "startTime": seconds as f64 + 0.5, "endTime": seconds as f64 + 3.25, "completionStartTime": null,
                "model": model, "model_id": "b1946ac92492d2347c6235b4d2611184", "model_group": model,
                "custom_llm_provider": provider, "api_base": "", "user": "", "cache_hit": "False", "cache_key": null,
                "request_tags": ["User-Agent: sdk", "User-Agent: sdk/1.9"], "end_user": "", "requester_ip_address": "10.0.0.7",
                "metadata": { "user_api_key_alias": null, "user_api_key_team_alias": format!("team-{}", mixed % 20),
                    "additional_usage_values": { "prompt_tokens_details": { "cached_tokens": 0 } }, "status": "success" },
                "messages": [{ "role": "user", "content": prompt }],
                "response": { "choices": [{ "index": 0, "message": { "role": "assistant", "content": words } }] },
            })
            .to_string()
        };
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
        written += line.len() as u64 + 1;
    }
    out.flush()
}

fn parse() -> io::Result<()> {
    let mut input = io::BufReader::with_capacity(1 << 20, io::stdin().lock());
    let mut line = Vec::new();
    let mut found = 0_u64;
    while input.read_until(b'\n', &mut line)? > 0 {
        let value: Value = serde_json::from_slice(&line)?;
        found += u64::from(
            value["model"]
                .as_str()
                .is_some_and(|model| model.ends_with("glm-5.3")),
        );
        line.clear();
    }
    println!("{found}");
    Ok(())
}
