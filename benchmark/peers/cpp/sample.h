// SPDX-License-Identifier: Apache-2.0
// What this process used and holds, and how long calls took.

#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sample {

using Clock = std::chrono::steady_clock;
using Nanos = std::chrono::nanoseconds;

inline int64_t Since(Clock::time_point start) {
  return std::chrono::duration_cast<Nanos>(Clock::now() - start).count();
}

// Cpu is the time the process ran, in nanoseconds.
inline int64_t Cpu() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto nanos = [](const timeval& t) { return t.tv_sec * int64_t{1'000'000'000} + t.tv_usec * int64_t{1000}; };
  return nanos(u.ru_utime) + nanos(u.ru_stime);
}

inline std::string Counters(uint64_t served, int64_t cpu) {
  return "{\"Served\":" + std::to_string(served) + ",\"CPU\":" + std::to_string(cpu) + "}";
}

// Resident tells what this process holds as it is.
inline std::string Resident() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string word;
  int64_t kb = 0;
  while (rollup >> word && word != "Rss:") {
  }
  rollup >> kb;
  std::filesystem::directory_iterator files("/proc/self/fd");
  auto open = std::distance(begin(files), end(files)) - 1;
  return "{\"RSS\":" + std::to_string(kb << 10) + ",\"RSSKnown\":true,\"Files\":" + std::to_string(open) + "}";
}

// Settled gives what is free back to the system, and tells what stays.
inline std::string Settled() {
  malloc_trim(0);
  return Resident();
}

// Summary is what there is to say of durations in nanoseconds.
inline std::string Summary(std::vector<int64_t> all) {
  if (all.empty()) return "{}";
  std::sort(all.begin(), all.end());
  auto quantile = [&](double q) {
    return std::to_string(all[std::min(all.size() - 1, static_cast<size_t>(q * static_cast<double>(all.size())))]);
  };
  int64_t sum = 0;
  for (auto d : all) sum += d;
  return "{\"Count\":" + std::to_string(all.size()) +
         ",\"Mean\":" + std::to_string(sum / static_cast<int64_t>(all.size())) + ",\"P50\":" + quantile(0.5) +
         ",\"P90\":" + quantile(0.9) + ",\"P99\":" + quantile(0.99) + ",\"P999\":" + quantile(0.999) +
         ",\"Max\":" + std::to_string(all.back()) + "}";
}

}  // namespace sample
