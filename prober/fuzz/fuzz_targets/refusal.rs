#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = prober::endpoint::fuzz_checks::refusal(bytes);
});
