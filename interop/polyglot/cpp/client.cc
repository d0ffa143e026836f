// SPDX-License-Identifier: Apache-2.0
// The interoperability cases with grpc++.
//
//   client --addr HOST:PORT [--ca FILE --server-name NAME] [--case a,b | --load SECONDS]
//
// Prints a line a case, "ok|FAIL<tab>name<tab>detail", or after a load a line for each kind
// of outcome, "load<tab>count<tab>kind".

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common.h"
#include "grpc/testing/test.grpc.pb.h"

using namespace grpc::testing;
using grpc::Status;
using grpc::StatusCode;
using Clock = std::chrono::system_clock;

namespace {

constexpr int kRequestSizes[] = {27182, 8, 1828, 45904};
constexpr int kResponseSizes[] = {31415, 9, 2653, 58979};
constexpr int kLargeRequest = 271828, kLargeResponse = 314159;

// Context has a limit.
struct Context : grpc::ClientContext {
  explicit Context(std::chrono::milliseconds limit = std::chrono::seconds(20)) { set_deadline(Clock::now() + limit); }
};

void Expect(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error(what);
}

void ExpectStatus(const Status& s, StatusCode code, const std::string* message = nullptr) {
  Expect(s.error_code() == code && (!message || s.error_message() == *message),
         "status " + std::to_string(s.error_code()) + " " + s.error_message() + ", want " + std::to_string(code));
}

SimpleRequest LargeCall() {
  SimpleRequest r;
  r.set_response_size(kLargeResponse);
  r.mutable_payload()->set_body(std::string(kLargeRequest, '\0'));
  return r;
}

StreamingOutputCallRequest Output(std::vector<int> sizes, int request = 0) {
  StreamingOutputCallRequest r;
  for (int n : sizes) r.add_response_parameters()->set_size(n);
  r.mutable_payload()->set_body(std::string(request, '\0'));
  return r;
}

void LargeUnaryCall(TestService::Stub& stub, Context* context, const SimpleRequest& request) {
  SimpleResponse reply;
  ExpectStatus(stub.UnaryCall(context, request, &reply), StatusCode::OK);
  Expect(reply.payload().body().size() == kLargeResponse, "wrong size");
}

void EmptyUnary(TestService::Stub& stub) {
  Context context;
  Empty reply;
  ExpectStatus(stub.EmptyCall(&context, Empty(), &reply), StatusCode::OK);
}

void LargeUnary(TestService::Stub& stub) {
  Context context;
  LargeUnaryCall(stub, &context, LargeCall());
}

void ClientCompressedUnary(TestService::Stub& stub) {
  SimpleRequest request = LargeCall();
  request.mutable_expect_compressed()->set_value(true);
  {
    Context context;
    SimpleResponse reply;
    ExpectStatus(stub.UnaryCall(&context, request, &reply), StatusCode::INVALID_ARGUMENT);
  }
  Context compressed, plain;
  compressed.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  LargeUnaryCall(stub, &compressed, request);
  request.mutable_expect_compressed()->set_value(false);
  LargeUnaryCall(stub, &plain, request);
}

void ServerCompressedUnary(TestService::Stub& stub) {
  for (bool wish : {true, false}) {
    Context context;
    SimpleRequest request = LargeCall();
    request.mutable_response_compressed()->set_value(wish);
    LargeUnaryCall(stub, &context, request);
  }
}

void ClientStreaming(TestService::Stub& stub) {
  Context context;
  StreamingInputCallResponse reply;
  auto stream = stub.StreamingInputCall(&context, &reply);
  int sum = 0;
  for (int n : kRequestSizes) {
    StreamingInputCallRequest request;
    request.mutable_payload()->set_body(std::string(n, '\0'));
    Expect(stream->Write(request), "can't write");
    sum += n;
  }
  stream->WritesDone();
  ExpectStatus(stream->Finish(), StatusCode::OK);
  Expect(reply.aggregated_payload_size() == sum, "wrong size");
}

void ReadSizes(TestService::Stub& stub, const StreamingOutputCallRequest& request) {
  Context context;
  StreamingOutputCallResponse reply;
  auto stream = stub.StreamingOutputCall(&context, request);
  for (const auto& p : request.response_parameters()) {
    Expect(stream->Read(&reply), "too few replies");
    Expect(static_cast<int>(reply.payload().body().size()) == p.size(), "wrong size");
  }
  Expect(!stream->Read(&reply), "too many replies");
  ExpectStatus(stream->Finish(), StatusCode::OK);
}

void ServerStreaming(TestService::Stub& stub) { ReadSizes(stub, Output({31415, 9, 2653, 58979})); }

void ServerCompressedStreaming(TestService::Stub& stub) {
  auto request = Output({31415, 2653});
  request.mutable_response_parameters(0)->mutable_compressed()->set_value(true);
  request.mutable_response_parameters(1)->mutable_compressed()->set_value(false);
  ReadSizes(stub, request);
}

void PingPong(TestService::Stub& stub) {
  Context context;
  auto stream = stub.FullDuplexCall(&context);
  StreamingOutputCallResponse reply;
  for (int n = 0; n < 4; n++) {
    Expect(stream->Write(Output({kResponseSizes[n]}, kRequestSizes[n])), "can't write");
    Expect(stream->Read(&reply), "no reply");
    Expect(static_cast<int>(reply.payload().body().size()) == kResponseSizes[n], "wrong size");
  }
  stream->WritesDone();
  Expect(!stream->Read(&reply), "too many replies");
  ExpectStatus(stream->Finish(), StatusCode::OK);
}

void EmptyStream(TestService::Stub& stub) {
  Context context;
  auto stream = stub.FullDuplexCall(&context);
  stream->WritesDone();
  StreamingOutputCallResponse reply;
  Expect(!stream->Read(&reply), "a reply");
  ExpectStatus(stream->Finish(), StatusCode::OK);
}

void CheckEcho(const Context& context) {
  const auto& header = context.GetServerInitialMetadata();
  const auto& trailer = context.GetServerTrailingMetadata();
  auto h = header.find(kEchoInitial), t = trailer.find(kEchoTrailing);
  Expect(h != header.end() && h->second == "test_initial_metadata_value", "wrong header");
  Expect(t != trailer.end() && t->second == "\xab\xab\xab", "wrong trailer");
}

void CustomMetadata(TestService::Stub& stub) {
  Context unary, duplex;
  for (Context* c : {&unary, &duplex}) {
    c->AddMetadata(kEchoInitial, "test_initial_metadata_value");
    c->AddMetadata(kEchoTrailing, "\xab\xab\xab");
  }
  LargeUnaryCall(stub, &unary, LargeCall());
  CheckEcho(unary);
  auto stream = stub.FullDuplexCall(&duplex);
  stream->Write(Output({kLargeResponse}, kLargeRequest));
  stream->WritesDone();
  StreamingOutputCallResponse reply;
  while (stream->Read(&reply)) {
  }
  ExpectStatus(stream->Finish(), StatusCode::OK);
  CheckEcho(duplex);
}

void UnaryStatus(TestService::Stub& stub, const std::string& message) {
  Context context;
  SimpleRequest request;
  SimpleResponse reply;
  request.mutable_response_status()->set_code(2);
  request.mutable_response_status()->set_message(message);
  ExpectStatus(stub.UnaryCall(&context, request, &reply), StatusCode::UNKNOWN, &message);
}

void StatusCodeAndMessage(TestService::Stub& stub) {
  const std::string message = "test status message";
  UnaryStatus(stub, message);
  Context context;
  StreamingOutputCallRequest request;
  request.mutable_response_status()->set_code(2);
  request.mutable_response_status()->set_message(message);
  auto stream = stub.FullDuplexCall(&context);
  stream->Write(request);
  stream->WritesDone();
  StreamingOutputCallResponse reply;
  while (stream->Read(&reply)) {
  }
  ExpectStatus(stream->Finish(), StatusCode::UNKNOWN, &message);
}

void SpecialStatusMessage(TestService::Stub& stub) {
  UnaryStatus(stub, "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n");
}

void UnimplementedMethod(TestService::Stub& stub) {
  Context context;
  Empty reply;
  ExpectStatus(stub.UnimplementedCall(&context, Empty(), &reply), StatusCode::UNIMPLEMENTED);
}

void CancelAfterBegin(TestService::Stub& stub) {
  Context context;
  StreamingInputCallResponse reply;
  auto stream = stub.StreamingInputCall(&context, &reply);
  context.TryCancel();
  ExpectStatus(stream->Finish(), StatusCode::CANCELLED);
}

void CancelAfterFirstResponse(TestService::Stub& stub) {
  Context context;
  auto stream = stub.FullDuplexCall(&context);
  StreamingOutputCallResponse reply;
  stream->Write(Output({kResponseSizes[0]}, kRequestSizes[0]));
  Expect(stream->Read(&reply), "no reply");
  context.TryCancel();
  ExpectStatus(stream->Finish(), StatusCode::CANCELLED);
}

void TimeoutOnSleepingServer(TestService::Stub& stub) {
  Context context(std::chrono::milliseconds(1));
  auto stream = stub.FullDuplexCall(&context);
  stream->Write(Output({}, kRequestSizes[0]));
  StreamingOutputCallResponse reply;
  stream->Read(&reply);
  // The server's clock may be the first, and its reset stream is a cancelled one here.
  Status s = stream->Finish();
  if (s.error_code() != StatusCode::CANCELLED) ExpectStatus(s, StatusCode::DEADLINE_EXCEEDED);
}

// Load makes calls from eight threads, half of them of streams.
void Load(TestService::Stub& stub, double seconds) {
  std::mutex mutex;
  std::map<std::string, int> outcomes;
  auto until = Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; n++) {
    threads.emplace_back([&, n] {
      while (Clock::now() < until) {
        Context context;
        context.set_wait_for_ready(true);
        Status s;
        if (n % 2) {
          SimpleRequest request;
          SimpleResponse reply;
          request.set_response_size(1000);
          s = stub.UnaryCall(&context, request, &reply);
        } else {
          auto stream = stub.StreamingOutputCall(&context, Output(std::vector<int>(10, 1000)));
          StreamingOutputCallResponse reply;
          while (stream->Read(&reply)) {
          }
          s = stream->Finish();
        }
        static const char* const kNames[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED",
            "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
            "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
        std::lock_guard<std::mutex> lock(mutex);
        outcomes[s.ok() ? "OK" : kNames[s.error_code()] + (" " + s.error_message())]++;
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const auto& [kind, n] : outcomes) std::cout << "load\t" << n << "\t" << kind << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  auto flags = Flags(argc, argv);
  grpc::ChannelArguments args;
  auto creds = grpc::InsecureChannelCredentials();
  if (flags.count("ca")) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Read(flags["ca"]);
    creds = grpc::SslCredentials(options);
    args.SetSslTargetNameOverride(flags["server-name"]);
  }
  auto channel = grpc::CreateCustomChannel(flags["addr"], creds, args);
  auto stub = TestService::NewStub(channel);
  if (flags.count("load")) {
    Load(*stub, std::stod(flags["load"]));
    return 0;
  }
  const std::vector<std::pair<std::string, std::function<void(TestService::Stub&)>>> cases = {
      {"empty_unary", EmptyUnary},
      {"large_unary", LargeUnary},
      {"client_compressed_unary", ClientCompressedUnary},
      {"server_compressed_unary", ServerCompressedUnary},
      {"client_streaming", ClientStreaming},
      {"server_streaming", ServerStreaming},
      {"server_compressed_streaming", ServerCompressedStreaming},
      {"ping_pong", PingPong},
      {"empty_stream", EmptyStream},
      {"custom_metadata", CustomMetadata},
      {"status_code_and_message", StatusCodeAndMessage},
      {"special_status_message", SpecialStatusMessage},
      {"unimplemented_method", UnimplementedMethod},
      {"unimplemented_service",
       [&](TestService::Stub&) {
         Context context;
         Empty reply;
         auto other = UnimplementedService::NewStub(channel);
         ExpectStatus(other->UnimplementedCall(&context, Empty(), &reply), StatusCode::UNIMPLEMENTED);
       }},
      {"cancel_after_begin", CancelAfterBegin},
      {"cancel_after_first_response", CancelAfterFirstResponse},
      {"timeout_on_sleeping_server", TimeoutOnSleepingServer},
  };
  const std::string wanted = flags.count("case") ? "," + flags["case"] + "," : "all";
  bool failed = false;
  for (const auto& [name, run] : cases) {
    if (wanted != "all" && wanted.find("," + name + ",") == std::string::npos) continue;
    auto began = Clock::now();
    try {
      run(*stub);
      auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count();
      std::cout << "ok\t" << name << "\t" << took << "ms" << std::endl;
    } catch (const std::exception& e) {
      failed = true;
      std::cout << "FAIL\t" << name << "\t" << e.what() << std::endl;
    }
  }
  return failed;
}
