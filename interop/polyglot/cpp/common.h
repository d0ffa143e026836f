// SPDX-License-Identifier: Apache-2.0
// What client and server have in common.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>

constexpr char kEchoInitial[] = "x-grpc-test-echo-initial";
constexpr char kEchoTrailing[] = "x-grpc-test-echo-trailing-bin";

// Flags reads "--name value" pairs.
inline std::map<std::string, std::string> Flags(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[std::string(argv[i]).substr(2)] = argv[i + 1];
  return flags;
}

inline std::string Read(const std::string& path) {
  std::ostringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}
