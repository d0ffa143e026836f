// SPDX-License-Identifier: Apache-2.0
// A worker of the benchmarks with grpc++, client and server: see `bench peers`.

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "client.h"
#include "json.h"
#include "sample.h"
#include "server.h"

namespace {

std::string Obey(client::Client& client, const std::string& op, const json::Object& args) {
  if (op == "serve") return server::Serve(args);
  if (op == "open") return client.Open(args);
  if (op == "call-all") return client.CallAll();
  if (op == "load") return client.Load(args);
  if (op == "window") return client.Window(args);
  if (op == "settle") return sample::Settled();
  if (op == "resident") return sample::Resident();
  if (op == "counters") return sample::Counters(server::served, sample::Cpu());
  throw std::runtime_error("unknown operation " + op);
}

std::string Answer(client::Client& client, const std::string& line) {
  try {
    const auto order = json::Object::Parse(line);
    return "{\"done\":true,\"result\":" + Obey(client, order.Text("op"), order.Of("args")) + "}";
  } catch (const std::exception& e) {
    return "{\"done\":true,\"error\":" + json::Quote(e.what()) + "}";
  }
}

}  // namespace

int main() {
  // An interrupt ends the program that started this one, and so the input.
  std::signal(SIGINT, SIG_IGN);
  static client::Client client;
  for (std::string line; std::getline(std::cin, line);) std::cout << Answer(client, line) << std::endl;
  std::cout.flush();
  std::_Exit(0);  // calls may still be open
}
