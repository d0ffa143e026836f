// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"errors"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// sshConn makes a channel a connection, with the addresses of the SSH connection. It has no
// deadlines, and is no comparable value.
type sshConn struct {
	ssh.Channel
	Conn ssh.Conn
	_    []func()
}

var errNoDeadline = errors.New("a channel has no deadlines")

func (c sshConn) LocalAddr() net.Addr              { return c.Conn.LocalAddr() }
func (c sshConn) RemoteAddr() net.Addr             { return c.Conn.RemoteAddr() }
func (c sshConn) SetDeadline(time.Time) error      { return errNoDeadline }
func (c sshConn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (c sshConn) SetWriteDeadline(time.Time) error { return errNoDeadline }
