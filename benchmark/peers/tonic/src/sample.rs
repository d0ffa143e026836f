// SPDX-License-Identifier: Apache-2.0
//! What this process used and holds, and how long calls took.

use serde_json::{json, Value};

use crate::Result;

/// The time the process ran, in nanoseconds.
pub fn cpu() -> u64 {
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let nanos = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    nanos(u.ru_utime) + nanos(u.ru_stime)
}

pub fn counters(served: u64, cpu: u64) -> Value {
    json!({"Served": served, "CPU": cpu})
}

/// Gives what is free back to the system, and tells what stays.
pub fn settled() -> Result<Value> {
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
    resident()
}

/// Tells what this process holds as it is.
pub fn resident() -> Result<Value> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let kb = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Rss:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .ok_or("the system does not tell what this process holds")?;
    let files = std::fs::read_dir("/proc/self/fd")?.count() - 1;
    Ok(json!({"RSS": kb << 10, "RSSKnown": true, "Files": files}))
}

/// What there is to say of durations in nanoseconds.
pub fn summary(mut all: Vec<u64>) -> Value {
    if all.is_empty() {
        return json!({});
    }
    all.sort_unstable();
    let quantile = |q: f64| all[((q * all.len() as f64) as usize).min(all.len() - 1)];
    json!({
        "Count": all.len(), "Mean": all.iter().sum::<u64>() / all.len() as u64, "Max": all[all.len() - 1],
        "P50": quantile(0.5), "P90": quantile(0.9), "P99": quantile(0.99), "P999": quantile(0.999),
    })
}
