#![no_main]

use prober::endpoint::Api;

// The last byte tells which API's answer it is.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [document @ .., last] = bytes {
        let api = &Api::ALL[usize::from(*last) % Api::ALL.len()];
        let _ = prober::endpoint::fuzz_checks::json(api, document);
    }
});
