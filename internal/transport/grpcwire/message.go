// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"google.golang.org/grpc/mem"
)

// A Message is one Length-Prefixed-Message as it was received.
type Message struct {
	// Data is one contiguous buffer, never nil; the receiver owns it and frees it once.
	// That of an empty message is a shared value for which Free does nothing.
	Data       mem.Buffer
	Compressed bool   // the Compressed-Flag
	Held       uint32 // the memory that Data takes, in bytes
	Len        int    // the Message-Length: size on the wire, without the prefix
}
