// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/protocol"

// Contain is protocol's: it turns a panic into err, when it is deferred.
func Contain(err *error, log PanicLog) { protocol.Contained(recover(), err, log) }
