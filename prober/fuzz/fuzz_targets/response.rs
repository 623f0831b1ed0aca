#![no_main]

use prober::endpoint::fuzz_checks::{Shape, response};

// The last two bytes tell how it is read.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [response_bytes @ .., first, second] = bytes {
        let _ = response(&Shape::from_bytes([*first, *second]), response_bytes);
    }
});
