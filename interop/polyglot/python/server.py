# SPDX-License-Identifier: Apache-2.0
"""The test service with grpcio.

    server.py [--port N] [--cert FILE --key FILE]

Prints "listening on ADDRESS", and stops when its input ends.
"""
import argparse
import sys
import time
from concurrent import futures

import grpc

from common import ECHO_INITIAL, ECHO_TRAILING, empty, messages, payload, read, service


def echo_metadata(context):
    for key, value in context.invocation_metadata():
        if key == ECHO_INITIAL:
            context.send_initial_metadata(((key, value),))
        elif key == ECHO_TRAILING:
            context.set_trailing_metadata(((key, value),))


# The codes of the library, by number.
CODES = {code.value[0]: code for code in grpc.StatusCode}


def echo_status(request, context):
    if request.HasField("response_status") and request.response_status.code:
        context.abort(CODES[request.response_status.code], request.response_status.message)


def compress_next(wish, context):
    """Only the wish not to be compressed is one of a message; the other is the server's."""
    if not wish.value:
        context.disable_next_message_compression()


class TestService(service.TestServiceServicer):
    """Whether a message came compressed is nothing that the library tells."""

    def EmptyCall(self, request, context):
        echo_metadata(context)
        return empty.Empty()

    def UnaryCall(self, request, context):
        echo_metadata(context)
        echo_status(request, context)
        if request.HasField("response_compressed"):
            compress_next(request.response_compressed, context)
        return messages.SimpleResponse(payload=payload(request.response_size))

    def StreamingInputCall(self, request_iterator, context):
        total = sum(len(r.payload.body) for r in request_iterator)
        return messages.StreamingInputCallResponse(aggregated_payload_size=total)

    def StreamingOutputCall(self, request, context):
        return self._serve(request, context)

    def FullDuplexCall(self, request_iterator, context):
        echo_metadata(context)
        for request in request_iterator:
            yield from self._serve(request, context)

    def _serve(self, request, context):
        echo_status(request, context)
        for p in request.response_parameters:
            time.sleep(p.interval_us / 1e6)
            if p.HasField("compressed"):
                compress_next(p.compressed, context)
            yield messages.StreamingOutputCallResponse(payload=payload(p.size))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--port", default="0")
    p.add_argument("--cert")
    p.add_argument("--key")
    a = p.parse_args()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=32),
        compression=grpc.Compression.Gzip,
        options=[("grpc.max_receive_message_length", -1)],
    )
    service.add_TestServiceServicer_to_server(TestService(), server)
    address = "127.0.0.1:" + a.port
    if a.cert:
        creds = grpc.ssl_server_credentials([(read(a.key), read(a.cert))])
        port = server.add_secure_port(address, creds)
    else:
        port = server.add_insecure_port(address)
    server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.stop(10).wait()


if __name__ == "__main__":
    main()
