// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package link

import (
	"errors"
	"net"

	"google.golang.org/grpc/benchmark/internal/service"
)

func serveEpoll([]net.Listener, *service.Bench) error {
	return errors.New("there is no epoll on this system")
}
