// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/protocol"

// Contain turns a panic into err when it is deferred: see protocol.Contain.
func Contain(err *error, log PanicLog) { protocol.Contained(recover(), err, log) }
