# SPDX-License-Identifier: Apache-2.0
"""The interoperability cases with grpcio.

    client.py --addr HOST:PORT [--ca FILE --server-name NAME] [--case a,b | --load SECONDS]

Prints a line a case, "ok|FAIL<tab>name<tab>detail", or after a load a line for each kind of
outcome, "load<tab>count<tab>kind".
"""
import argparse
import collections
import queue
import sys
import threading
import time

import grpc

from common import ECHO_INITIAL, ECHO_TRAILING, empty, messages, payload, read, service

REQUEST_SIZES = (27182, 8, 1828, 45904)
RESPONSE_SIZES = (31415, 9, 2653, 58979)
LARGE_REQUEST, LARGE_RESPONSE = 271828, 314159
LIMIT = 20  # seconds, of an RPC


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what} is {got!r}, want {want!r}")


def expect_payload(reply, size):
    expect(len(reply.payload.body), size, "size of the payload")


def expect_status(call, code, message=None):
    try:
        call()
    except grpc.RpcError as e:
        expect(e.code(), code, "code")
        if message is not None:
            expect(e.details(), message, "message")
        return
    raise AssertionError(f"succeeds, want {code}")


def large_call(**more):
    return messages.SimpleRequest(response_size=LARGE_RESPONSE, payload=payload(LARGE_REQUEST), **more)


def output_request(*sizes, request=0, compressed=None):
    r = messages.StreamingOutputCallRequest(payload=payload(request))
    for n, size in enumerate(sizes):
        p = r.response_parameters.add(size=size)
        if compressed is not None:
            p.compressed.value = compressed[n]
    return r


class Requests:
    """A stream of requests that is written to."""

    def __init__(self):
        self._queue = queue.Queue()

    def __iter__(self):
        return iter(self._queue.get, None)

    def put(self, request):
        self._queue.put(request)

    def close(self):
        self._queue.put(None)


def empty_unary(stub, _):
    expect(stub.EmptyCall(empty.Empty(), timeout=LIMIT), empty.Empty(), "reply")


def large_unary(stub, _):
    expect_payload(stub.UnaryCall(large_call(), timeout=LIMIT), LARGE_RESPONSE)


def client_compressed_unary(stub, _):
    yes, no = messages.BoolValue(value=True), messages.BoolValue(value=False)
    expect_status(
        lambda: stub.UnaryCall(large_call(expect_compressed=yes), timeout=LIMIT),
        grpc.StatusCode.INVALID_ARGUMENT,
    )
    for wish, coding in ((yes, grpc.Compression.Gzip), (no, grpc.Compression.NoCompression)):
        expect_payload(
            stub.UnaryCall(large_call(expect_compressed=wish), timeout=LIMIT, compression=coding),
            LARGE_RESPONSE,
        )


def server_compressed_unary(stub, _):
    for wish in (True, False):
        request = large_call(response_compressed=messages.BoolValue(value=wish))
        expect_payload(stub.UnaryCall(request, timeout=LIMIT), LARGE_RESPONSE)


def client_streaming(stub, _):
    requests = (messages.StreamingInputCallRequest(payload=payload(n)) for n in REQUEST_SIZES)
    reply = stub.StreamingInputCall(requests, timeout=LIMIT)
    expect(reply.aggregated_payload_size, sum(REQUEST_SIZES), "size")


def server_streaming(stub, _):
    replies = stub.StreamingOutputCall(output_request(*RESPONSE_SIZES), timeout=LIMIT)
    expect([len(r.payload.body) for r in replies], list(RESPONSE_SIZES), "sizes")


def server_compressed_streaming(stub, _):
    sizes = RESPONSE_SIZES[0], RESPONSE_SIZES[2]
    request = output_request(*sizes, compressed=(True, False))
    replies = stub.StreamingOutputCall(request, timeout=LIMIT)
    expect([len(r.payload.body) for r in replies], list(sizes), "sizes")


def ping_pong(stub, _):
    requests = Requests()
    replies = stub.FullDuplexCall(iter(requests), timeout=LIMIT)
    for request, reply in zip(REQUEST_SIZES, RESPONSE_SIZES):
        requests.put(output_request(reply, request=request))
        expect_payload(next(replies), reply)
    requests.close()
    expect(list(replies), [], "replies after the last")


def empty_stream(stub, _):
    expect(list(stub.FullDuplexCall(iter(()), timeout=LIMIT)), [], "replies")


def custom_metadata(stub, _):
    initial, trailing = "test_initial_metadata_value", b"\xab\xab\xab"
    metadata = ((ECHO_INITIAL, initial), (ECHO_TRAILING, trailing))
    reply, unary = stub.UnaryCall.with_call(large_call(), metadata=metadata, timeout=LIMIT)
    expect_payload(reply, LARGE_RESPONSE)
    stream = stub.FullDuplexCall(
        iter([output_request(LARGE_RESPONSE, request=LARGE_REQUEST)]), metadata=metadata, timeout=LIMIT
    )
    for reply in stream:
        expect_payload(reply, LARGE_RESPONSE)
    for call in (unary, stream):
        expect(dict(call.initial_metadata()).get(ECHO_INITIAL), initial, "header")
        expect(dict(call.trailing_metadata()).get(ECHO_TRAILING), trailing, "trailer")


def status_code_and_message(stub, _):
    want = messages.EchoStatus(code=2, message="test status message")
    unknown = grpc.StatusCode.UNKNOWN
    expect_status(
        lambda: stub.UnaryCall(messages.SimpleRequest(response_status=want), timeout=LIMIT),
        unknown, want.message,
    )
    request = messages.StreamingOutputCallRequest(response_status=want)
    expect_status(lambda: list(stub.FullDuplexCall(iter([request]), timeout=LIMIT)), unknown, want.message)


def special_status_message(stub, _):
    message = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"
    request = messages.SimpleRequest(response_status=messages.EchoStatus(code=2, message=message))
    expect_status(lambda: stub.UnaryCall(request, timeout=LIMIT), grpc.StatusCode.UNKNOWN, message)


def unimplemented_method(stub, _):
    expect_status(
        lambda: stub.UnimplementedCall(empty.Empty(), timeout=LIMIT), grpc.StatusCode.UNIMPLEMENTED
    )


def unimplemented_service(_, channel):
    stub = service.UnimplementedServiceStub(channel)
    unimplemented_method(stub, channel)


def cancel_after_begin(stub, _):
    call = stub.StreamingInputCall.future(iter(Requests()), timeout=LIMIT)
    call.cancel()
    expect(call.cancelled(), True, "cancelled")


def cancel_after_first_response(stub, _):
    requests = Requests()
    call = stub.FullDuplexCall(iter(requests), timeout=LIMIT)
    requests.put(output_request(RESPONSE_SIZES[0], request=REQUEST_SIZES[0]))
    expect_payload(next(call), RESPONSE_SIZES[0])
    call.cancel()
    expect_status(lambda: next(call), grpc.StatusCode.CANCELLED)
    requests.close()


def timeout_on_sleeping_server(stub, _):
    requests = Requests()
    requests.put(output_request(request=REQUEST_SIZES[0]))
    call = stub.FullDuplexCall(iter(requests), timeout=0.001)
    try:
        next(call)
        raise AssertionError("succeeds")
    except grpc.RpcError as e:
        # The server's clock may be the first, and its reset stream is a cancelled one here.
        if e.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED):
            raise
    requests.close()


CASES = [
    empty_unary, large_unary, client_compressed_unary, server_compressed_unary, client_streaming,
    server_streaming, server_compressed_streaming, ping_pong, empty_stream, custom_metadata,
    status_code_and_message, special_status_message, unimplemented_method, unimplemented_service,
    cancel_after_begin, cancel_after_first_response, timeout_on_sleeping_server,
]


def load(stub, seconds):
    """Calls from eight threads, half of them of streams."""
    outcomes, lock = collections.Counter(), threading.Lock()
    until = time.monotonic() + seconds

    def work(n):
        while time.monotonic() < until:
            kind = "OK"
            try:
                if n % 2:
                    request = messages.SimpleRequest(response_size=1000, payload=payload(1000))
                    stub.UnaryCall(request, timeout=LIMIT, wait_for_ready=True)
                else:
                    request = output_request(*[1000] * 10)
                    list(stub.StreamingOutputCall(request, timeout=LIMIT, wait_for_ready=True))
            except grpc.RpcError as e:
                kind = f"{e.code().name} {e.details()}".replace("\n", " ")
            with lock:
                outcomes[kind] += 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for kind, n in outcomes.items():
        print(f"load\t{n}\t{kind}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--addr", required=True)
    p.add_argument("--ca")
    p.add_argument("--server-name")
    p.add_argument("--case", default="all")
    p.add_argument("--load", type=float)
    a = p.parse_args()
    if a.ca:
        options = [("grpc.ssl_target_name_override", a.server_name)] if a.server_name else None
        channel = grpc.secure_channel(a.addr, grpc.ssl_channel_credentials(read(a.ca)), options)
    else:
        channel = grpc.insecure_channel(a.addr)
    failed = False
    with channel:
        stub = service.TestServiceStub(channel)
        if a.load:
            load(stub, a.load)
            return
        for case in CASES:
            if a.case != "all" and case.__name__ not in a.case.split(","):
                continue
            began = time.monotonic()
            try:
                case(stub, channel)
                print(f"ok\t{case.__name__}\t{(time.monotonic() - began) * 1000:.1f}ms", flush=True)
            except Exception as e:  # an answer that is not the right one, of any kind
                failed = True
                print(f"FAIL\t{case.__name__}\t{e!r}".replace("\n", " "), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
