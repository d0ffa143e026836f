// SPDX-License-Identifier: Apache-2.0
// The test service with grpc++.
//
//   server --port N [--cert FILE --key FILE]
//
// Prints "listening on ADDRESS", and stops when its input ends.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "common.h"
#include "grpc/testing/test.grpc.pb.h"

using namespace grpc::testing;
using grpc::ServerContext;
using grpc::Status;

namespace {

void Echo(ServerContext* context) {
  const auto& metadata = context->client_metadata();
  if (auto v = metadata.find(kEchoInitial); v != metadata.end())
    context->AddInitialMetadata(kEchoInitial, std::string(v->second.data(), v->second.size()));
  if (auto v = metadata.find(kEchoTrailing); v != metadata.end())
    context->AddTrailingMetadata(kEchoTrailing, std::string(v->second.data(), v->second.size()));
}

Status Wanted(const EchoStatus& s) { return Status(static_cast<grpc::StatusCode>(s.code()), s.message()); }

class Service final : public TestService::Service {
  Status EmptyCall(ServerContext* context, const Empty*, Empty*) override {
    Echo(context);
    return Status::OK;
  }

  Status UnaryCall(ServerContext* context, const SimpleRequest* request, SimpleResponse* reply) override {
    Echo(context);
    if (request->response_compressed().value()) context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    reply->mutable_payload()->set_body(std::string(request->response_size(), '\0'));
    return Wanted(request->response_status());
  }

  Status StreamingInputCall(ServerContext*, grpc::ServerReader<StreamingInputCallRequest>* stream,
                            StreamingInputCallResponse* reply) override {
    StreamingInputCallRequest request;
    int size = 0;
    while (stream->Read(&request)) size += request.payload().body().size();
    reply->set_aggregated_payload_size(size);
    return Status::OK;
  }

  Status StreamingOutputCall(ServerContext* context, const StreamingOutputCallRequest* request,
                             grpc::ServerWriter<StreamingOutputCallResponse>* stream) override {
    Echo(context);
    return Serve(*request, stream);
  }

  Status FullDuplexCall(
      ServerContext* context,
      grpc::ServerReaderWriter<StreamingOutputCallResponse, StreamingOutputCallRequest>* stream) override {
    Echo(context);
    StreamingOutputCallRequest request;
    while (stream->Read(&request))
      if (Status s = Serve(request, stream); !s.ok()) return s;
    return Status::OK;
  }

  template <class Stream>
  static Status Serve(const StreamingOutputCallRequest& request, Stream* stream) {
    for (const auto& p : request.response_parameters()) {
      std::this_thread::sleep_for(std::chrono::microseconds(p.interval_us()));
      StreamingOutputCallResponse reply;
      reply.mutable_payload()->set_body(std::string(p.size(), '\0'));
      if (!stream->Write(reply)) return Status(grpc::StatusCode::INTERNAL, "the client is gone");
    }
    return Wanted(request.response_status());
  }
};

}  // namespace

int main(int argc, char** argv) {
  auto flags = Flags(argc, argv);
  auto creds = grpc::InsecureServerCredentials();
  if (flags.count("cert")) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({Read(flags["key"]), Read(flags["cert"])});
    creds = grpc::SslServerCredentials(options);
  }
  Service service;
  grpc::ServerBuilder builder;
  std::string address = "127.0.0.1:" + flags["port"];
  builder.AddListeningPort(address, creds);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::cout << "listening on " << address << std::endl;
  while (std::cin.get() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(10));
  server->Wait();
}
