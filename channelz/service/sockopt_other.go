// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package service

import (
	"syscall"

	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
)

// systemOptions returns nil: only on Linux is the operating system asked for options.
func systemOptions(syscall.RawConn) []*channelzpb.SocketOption { return nil }
