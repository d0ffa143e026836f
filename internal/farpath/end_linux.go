// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"context"
	"net"
	"net/netip"
	"os/exec"

	"golang.org/x/sys/unix"
)

// End is one end of a path: a network namespace with an address.
type End struct {
	namespace  namespace
	device     int
	addr       netip.Addr
	congestion string
}

func newEnd(addr netip.Addr, congestion string) (*End, error) {
	e := &End{addr: addr, device: -1, congestion: congestion}
	var err error
	e.namespace, err = newNamespace(func() error {
		var err error
		if e.device, err = openDevice(); err != nil {
			return err
		}
		return setUp(addr, congestion)
	})
	if err != nil && e.device >= 0 {
		_ = unix.Close(e.device)
	}
	return e, err
}

// Addr is the end's address.
func (e *End) Addr() netip.Addr { return e.addr }

// SetAddr gives the end another address of the path, of 10.213.0.0/24, in the place of the
// one it has. Connections that use the old address carry nothing any more.
func (e *End) SetAddr(addr netip.Addr) error {
	err := e.Do(func() error { return assign(addr, e.congestion) })
	if err == nil {
		e.addr = addr
	}
	return err
}

// Do runs f at this end, on a thread of its own: a socket that f makes belongs to this end for
// good, whoever uses it. One that another goroutine makes for f does not.
func (e *End) Do(f func() error) error { return e.namespace.do(f) }

// Start starts a command at this end.
func (e *End) Start(cmd *exec.Cmd) error { return e.Do(cmd.Start) }

// Listen listens at this end for TCP. The address is one of the end's, or empty, with a port.
func (e *End) Listen(address string) (lis net.Listener, err error) {
	err = e.Do(func() (err error) {
		lis, err = net.Listen("tcp4", address)
		return err
	})
	return lis, err
}

// Dial connects from this end over TCP, to an address with a number, not a name.
func (e *End) Dial(ctx context.Context, address string) (conn net.Conn, err error) {
	err = e.Do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		return err
	})
	return conn, err
}

func (e *End) close() {
	_ = unix.Close(e.device) // the namespace and the device go with the last that uses them
	_ = e.namespace.close()
}
