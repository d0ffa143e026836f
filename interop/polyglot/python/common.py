# SPDX-License-Identifier: Apache-2.0
"""What client and server have in common."""
import os

import grpc

# The package of the protos, grpc.testing, lies beside the library of the same name. The
# runner generates it into a folder that this variable names.
grpc.__path__.append(os.path.join(os.environ["POLYGLOT_GENERATED"], "grpc"))

from grpc.testing import empty_pb2 as empty  # noqa: E402
from grpc.testing import messages_pb2 as messages  # noqa: E402
from grpc.testing import test_pb2_grpc as service  # noqa: E402

__all__ = ["empty", "messages", "service", "payload", "read", "ECHO_INITIAL", "ECHO_TRAILING"]

ECHO_INITIAL = "x-grpc-test-echo-initial"
ECHO_TRAILING = "x-grpc-test-echo-trailing-bin"


def payload(size):
    return messages.Payload(body=b"\0" * size)


def read(path):
    with open(path, "rb") as f:
        return f.read()
