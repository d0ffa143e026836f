// SPDX-License-Identifier: Apache-2.0
// The service, with the callback API, which the guide to performance on grpc.io favors.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "grpc/benchmark/bench.grpc.pb.h"
#include "json.h"

namespace server {

using grpc::benchmark::Message;
using grpc::benchmark::PullRequest;
using grpc::benchmark::PushSummary;

inline std::atomic<uint64_t> served{0};

class Service final : public grpc::benchmark::Bench::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Message* request,
                                 Message* answer) override {
    answer->mutable_payload()->resize(request->answer_size());
    served.fetch_add(1, std::memory_order_relaxed);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // A conversation reads the next message when its last answer is on its way.
  class Conversation final : public grpc::ServerBidiReactor<Message, Message> {
   public:
    Conversation() { StartRead(&request_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      answer_.mutable_payload()->resize(request_.answer_size());
      StartWrite(&answer_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      served.fetch_add(1, std::memory_order_relaxed);
      StartRead(&request_);
    }
    void OnDone() override { delete this; }

   private:
    Message request_, answer_;
  };

  grpc::ServerBidiReactor<Message, Message>* Chat(grpc::CallbackServerContext*) override {
    return new Conversation();
  }

  class Transfer final : public grpc::ServerWriteReactor<Message> {
   public:
    explicit Transfer(const PullRequest& r) : endless_(r.count() == 0), left_(r.count()) {
      message_.mutable_payload()->resize(r.size());
      Next();
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      served.fetch_add(1, std::memory_order_relaxed);
      Next();
    }
    void OnDone() override { delete this; }

   private:
    void Next() {
      if (!endless_ && left_-- == 0) return Finish(grpc::Status::OK);
      StartWrite(&message_);
    }
    const bool endless_;
    uint64_t left_;
    Message message_;
  };

  grpc::ServerWriteReactor<Message>* Pull(grpc::CallbackServerContext*, const PullRequest* request) override {
    return new Transfer(*request);
  }

  class Collection final : public grpc::ServerReadReactor<Message> {
   public:
    explicit Collection(PushSummary* sum) : sum_(sum) { StartRead(&message_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      served.fetch_add(1, std::memory_order_relaxed);
      sum_->set_messages(sum_->messages() + 1);
      sum_->set_bytes(sum_->bytes() + message_.payload().size());
      StartRead(&message_);
    }
    void OnDone() override { delete this; }

   private:
    PushSummary* const sum_;
    Message message_;
  };

  grpc::ServerReadReactor<Message>* Push(grpc::CallbackServerContext*, PushSummary* sum) override {
    return new Collection(sum);
  }
};

// Serve begins to serve, and returns how clients reach it.
inline std::string Serve(const json::Object& order) {
  if (order.Text("Network") != "tcp" || order.Text("Protocol") != "grpc" || order.Number("Delay") != 0)
    throw std::runtime_error("gRPC over TCP alone is measured beside others");
  auto creds = grpc::InsecureServerCredentials();
  if (order.Text("Security") == "tls") {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({order.Text("Key"), order.Text("Cert")});
    creds = grpc::SslServerCredentials(options);
  }
  static Service service;
  static std::unique_ptr<grpc::Server> running;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", creds, &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  running = builder.BuildAndStart();
  if (!running || port == 0) throw std::runtime_error("the server does not start");
  return "{\"Targets\":[\"127.0.0.1:" + std::to_string(port) + "\"],\"RootPEM\":" + json::Quote(order.Text("Cert")) +
         "}";
}

}  // namespace server
