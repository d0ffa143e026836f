// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package service

import (
	"syscall"

	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
)

// systemOptions are what the system says of a socket: here nobody asks it.
func systemOptions(syscall.RawConn) []*channelzpb.SocketOption { return nil }
