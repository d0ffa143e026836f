// SPDX-License-Identifier: Apache-2.0
// Channels, and loads on them, with the callback API: each caller goes on in the callback of
// what it did last.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "grpc/benchmark/bench.grpc.pb.h"
#include "json.h"
#include "sample.h"

namespace client {

using grpc::benchmark::Bench;
using grpc::benchmark::Message;
using grpc::benchmark::PullRequest;
using grpc::benchmark::PushSummary;

inline Message Request(int64_t size) {
  Message m;
  m.mutable_payload()->resize(size);
  m.set_answer_size(size);
  return m;
}

// A Run is what the callers of a load have in common.
class Run {
 public:
  enum Phase { kWarming, kMeasuring, kEnding };

  std::atomic<int> phase{kWarming};

  void Fail(const std::string& why) {
    if (phase == kEnding) return;
    std::lock_guard lock(mu_);
    if (error_.empty()) error_ = why;
  }

  void Begin() {
    std::lock_guard lock(mu_);
    ++active_;
  }

  void End(const std::vector<int64_t>& took) {
    std::lock_guard lock(mu_);
    took_.insert(took_.end(), took.begin(), took.end());
    --active_;
    ended_.notify_all();
  }

  bool AwaitEnd(std::chrono::seconds limit) {
    std::unique_lock lock(mu_);
    return ended_.wait_for(lock, limit, [this] { return active_ == 0; });
  }

  // Took is what all callers took, once they have ended.
  std::vector<int64_t> Took() {
    std::lock_guard lock(mu_);
    if (!error_.empty()) throw std::runtime_error(error_);
    if (took_.empty()) throw std::runtime_error("nothing was answered in time");
    return std::move(took_);
  }

 private:
  std::mutex mu_;
  std::condition_variable ended_;
  std::string error_;
  std::vector<int64_t> took_;
  int active_ = 0;
};

// A Caller does one step behind the other until the run ends.
class Caller {
 public:
  explicit Caller(Run* run) : run_(run) { run_->Begin(); }
  virtual ~Caller() = default;
  virtual void Cancel() = 0;

 protected:
  void Starts() { start_ = sample::Clock::now(); }

  // Ends counts a step, and says whether there is to be another.
  bool Ends(const Message& answer, int64_t size) {
    if (static_cast<int64_t>(answer.payload().size()) != size) run_->Fail("a message has another size than was asked for");
    return Ends();
  }

  bool Ends() {
    const int phase = run_->phase;
    if (phase == Run::kMeasuring) took_.push_back(sample::Since(start_));
    return phase != Run::kEnding;
  }

  void Done(const grpc::Status& status) {
    if (!status.ok()) run_->Fail(status.error_message());
    run_->End(took_);
  }

 private:
  Run* run_;
  sample::Clock::time_point start_;
  std::vector<int64_t> took_;
};

class UnaryCaller final : public Caller {
 public:
  UnaryCaller(Run* run, Bench::Stub* stub, int64_t size) : Caller(run), stub_(stub), size_(size), request_(Request(size)) {
    Next();
  }
  void Cancel() override {}  // a call ends by itself

 private:
  void Next() {
    context_.emplace();
    Starts();
    stub_->async()->Echo(&*context_, &request_, &answer_, [this](grpc::Status status) {
      if (status.ok() && Ends(answer_, size_)) return Next();
      Done(status);
    });
  }

  Bench::Stub* stub_;
  const int64_t size_;
  const Message request_;
  Message answer_;
  std::optional<grpc::ClientContext> context_;
};

class ChatCaller final : public Caller, grpc::ClientBidiReactor<Message, Message> {
 public:
  ChatCaller(Run* run, Bench::Stub* stub, int64_t size) : Caller(run), size_(size), request_(Request(size)) {
    stub->async()->Chat(&context_, this);
    Next();
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }

 private:
  void Next() {
    Starts();
    pending_ = 2;
    StartRead(&answer_);
    StartWrite(&request_);
  }
  void OnWriteDone(bool ok) override { Half(ok); }
  void OnReadDone(bool ok) override { Half(ok); }

  // Half is the end of a step's writing or reading, whichever comes first.
  void Half(bool ok) {
    if (!ok) failed_ = true;
    if (--pending_ > 0 || failed_) return;
    if (Ends(answer_, size_)) return Next();
    StartWritesDone();
  }
  void OnDone(const grpc::Status& status) override { Done(status); }

  const int64_t size_;
  const Message request_;
  Message answer_;
  std::atomic<int> pending_{0};
  std::atomic<bool> failed_{false};
  grpc::ClientContext context_;
};

class PullCaller final : public Caller, grpc::ClientReadReactor<Message> {
 public:
  PullCaller(Run* run, Bench::Stub* stub, int64_t size) : Caller(run), size_(size) {
    request_.set_size(size);
    stub->async()->Pull(&context_, &request_, this);
    Starts();
    StartRead(&message_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (!Ends(message_, size_)) return context_.TryCancel();
    Starts();
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override { Done(status); }

  const int64_t size_;
  PullRequest request_;
  Message message_;
  grpc::ClientContext context_;
};

class PushCaller final : public Caller, grpc::ClientWriteReactor<Message> {
 public:
  PushCaller(Run* run, Bench::Stub* stub, int64_t size) : Caller(run), message_(Request(size)) {
    stub->async()->Push(&context_, &answer_, this);
    Starts();
    StartWrite(&message_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    if (!Ends()) return StartWritesDone();
    Starts();
    StartWrite(&message_);
  }
  void OnDone(const grpc::Status& status) override { Done(status); }

  const Message message_;
  PushSummary answer_;
  grpc::ClientContext context_;
};

class Client {
 public:
  // Open opens channels, each with a connection of its own, and calls on them.
  std::string Open(const json::Object& order) {
    const auto start = sample::Clock::now();
    auto creds = grpc::InsecureChannelCredentials();
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    args.SetMaxReceiveMessageSize(-1);
    if (order.Text("Security") == "tls") {
      grpc::SslCredentialsOptions options;
      options.pem_root_certs = order.Text("RootPEM");
      creds = grpc::SslCredentials(options);
      args.SetSslTargetNameOverride("bench.test");
    }
    const auto targets = order.Texts("Targets");
    for (int64_t i = 0; i < order.Number("Connections"); i++) {
      stubs_.push_back(Bench::NewStub(grpc::CreateCustomChannel(targets.at(i % targets.size()), creds, args)));
      for (int64_t n = 0; n < order.Number("Calls"); n++) Echo(stubs_.back().get(), order.Number("MessageSize"));
    }
    return "{\"Connections\":" + std::to_string(stubs_.size()) + ",\"Took\":" + std::to_string(sample::Since(start)) + "}";
  }

  // CallAll calls on all channels, one after the other.
  std::string CallAll() {
    std::vector<int64_t> took;
    for (auto& stub : stubs_) {
      const auto start = sample::Clock::now();
      Echo(stub.get(), 128);
      took.push_back(sample::Since(start));
    }
    return "{\"Calls\":" + std::to_string(took.size()) + ",\"Latency\":" + sample::Summary(took) + "}";
  }

  std::string Load(const json::Object& order) {
    if (stubs_.empty()) throw std::runtime_error("there is no channel");
    run_ = std::make_unique<Run>();
    const auto kind = order.Text("Kind");
    const auto size = order.Number("Size");
    for (int64_t i = 0; i < order.Number("Callers"); i++) {
      auto* stub = stubs_[i % stubs_.size()].get();
      if (kind == "unary")
        callers_.push_back(std::make_unique<UnaryCaller>(run_.get(), stub, size));
      else if (kind == "chat")
        callers_.push_back(std::make_unique<ChatCaller>(run_.get(), stub, size));
      else if (kind == "pull")
        callers_.push_back(std::make_unique<PullCaller>(run_.get(), stub, size));
      else if (kind == "push")
        callers_.push_back(std::make_unique<PushCaller>(run_.get(), stub, size));
      else
        throw std::runtime_error("unknown kind of load " + kind);
    }
    std::this_thread::sleep_for(sample::Nanos(order.Number("Warmup")));
    return "{}";
  }

  // Window measures a load for a time, then ends it.
  std::string Window(const json::Object& order) {
    if (!run_) throw std::runtime_error("no load began");
    const auto cpu = sample::Cpu();
    const auto start = sample::Clock::now();
    run_->phase = Run::kMeasuring;
    std::this_thread::sleep_for(sample::Nanos(order.Number("Duration")));
    run_->phase = Run::kEnding;
    const auto took = sample::Since(start);
    const auto used = sample::Cpu() - cpu;
    if (!run_->AwaitEnd(std::chrono::seconds(5)))
      for (auto& caller : callers_) caller->Cancel();
    if (!run_->AwaitEnd(std::chrono::seconds(5))) throw std::runtime_error("calls do not end");
    const auto all = run_->Took();
    return "{\"Calls\":" + std::to_string(all.size()) + ",\"Took\":" + std::to_string(took) +
           ",\"Latency\":" + sample::Summary(all) + ",\"Used\":" + sample::Counters(0, used) + "}";
  }

 private:
  static void Echo(Bench::Stub* stub, int64_t size) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context.set_wait_for_ready(true);
    Message answer;
    auto status = stub->Echo(&context, Request(size), &answer);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    if (static_cast<int64_t>(answer.payload().size()) != size) throw std::runtime_error("an answer has another size");
  }

  std::vector<std::unique_ptr<Bench::Stub>> stubs_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::unique_ptr<Run> run_;
};

}  // namespace client
