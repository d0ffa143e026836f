// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/testutils"
)

// timeless is a connection without deadlines, as a channel of SSH is.
type timeless struct{ net.Conn }

var errTimeless = errors.New("deadlines are not supported")

func (timeless) SetDeadline(time.Time) error      { return errTimeless }
func (timeless) SetReadDeadline(time.Time) error  { return errTimeless }
func (timeless) SetWriteDeadline(time.Time) error { return errTimeless }

func newTimeless(c net.Conn) net.Conn { return timeless{c} }

// TestConnWithoutDeadlines: whatever optional methods of a connection fail, it works.
func TestConnWithoutDeadlines(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, creds := range map[string]credentials.TransportCredentials{"plain": insecure.NewCredentials(), "credentials": testCreds{}} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(Creds(creds))
			s.RegisterService(&echoDesc, newEcho())
			served := make(chan error, 1)
			go func() { served <- s.Serve(testutils.WrapListener{Listener: lis, Wrap: newTimeless}) }()
			cc := newTestClient(t, "passthrough:///"+lis.Addr().String(), WithTransportCredentials(creds),
				WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
					nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
					if err != nil {
						return nil, err
					}
					return timeless{nc}, nil
				}))
			if err := call(testContext(t), cc, "m"); err != nil {
				t.Error(err)
			}
			cc.Close()
			s.Stop()
			if err := within(t, served, "Serve"); err != nil {
				t.Error(err)
			}
			if lis, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
		})
	}
	_ = lis.Close()
}
