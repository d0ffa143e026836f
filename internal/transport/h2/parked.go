// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/warm"
)

// parkedConn is the connection as the poller knows it.
type parkedConn Conn

// RawConn implements park.Owner.
func (p *parkedConn) RawConn() syscall.RawConn {
	rc, _ := readyreader.Socket(p.wire.nc, readOptions(&p.wire, p.out.cfg))
	return rc
}

// Wake implements park.Owner: there is input, or the end of it.
func (p *parkedConn) Wake() { warm.Go((*reader)(p)) }
