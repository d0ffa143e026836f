// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
)

// transport is a client.Transport over a channel.
type transport struct {
	cc   *grpc.ClientConn
	done func() // releases the credentials
}

// dial makes a channel. The channel connects when its first stream is opened.
func dial(s *bootstrap.Server) (*transport, error) {
	bundle, calls, done, err := s.Credentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithCredentialsBundle(bundle),
		// Keepalive detects a control plane that is gone.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 20 * time.Second}),
		// All resources of a type come in one message, which may be large.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithDisableServiceConfig(),
	}
	for _, c := range calls {
		options = append(options, grpc.WithPerRPCCredentials(c))
	}
	cc, err := grpc.NewClient(s.URI, options...)
	if err != nil {
		done()
		return nil, err
	}
	return &transport{cc: cc, done: done}, nil
}

var streamDesc = grpc.StreamDesc{StreamName: "xds", ClientStreams: true, ServerStreams: true}

// NewStream implements client.Transport. It does not wait for a server that can't be reached:
// the error says why it can't be reached (A57).
func (t *transport) NewStream(ctx context.Context, method string) (client.Stream, error) {
	s, err := t.cc.NewStream(ctx, &streamDesc, method)
	if err != nil {
		return nil, err
	}
	return stream{s}, nil
}

// Close implements client.Transport.
func (t *transport) Close() {
	_ = t.cc.Close()
	t.done()
}

type stream struct{ grpc.ClientStream }

// Send implements client.Stream.
func (s stream) Send(m proto.Message) error { return s.SendMsg(m) }

// Recv implements client.Stream.
func (s stream) Recv(m proto.Message) error { return s.RecvMsg(m) }
