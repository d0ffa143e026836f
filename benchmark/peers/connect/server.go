// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"connectrpc.com/connect"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
	"google.golang.org/grpc/benchmark/internal/service"
)

func serve(l net.Listener, order ops.Serve, b *service.Bench) error {
	secure := order.Security == ops.TLS
	server := &http.Server{Handler: handler(b), Protocols: protocols(secure)}
	begin := server.Serve
	if secure {
		config, err := certs.Server(order.Cert, order.Key)
		if err != nil {
			return err
		}
		server.TLSConfig = config
		begin = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() {
		if err := begin(l); err != nil {
			fmt.Fprintln(os.Stderr, "serving:", err)
			os.Exit(1)
		}
	}()
	return nil
}

func handler(b *service.Bench) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(echo, connect.NewUnaryHandlerSimple(echo, b.Echo))
	mux.Handle(chat, connect.NewBidiStreamHandler(chat, func(_ context.Context, s *connect.BidiStream[benchpb.Message, benchpb.Message]) error {
		return peer.Chat(b, serverTalk{s})
	}))
	mux.Handle(pull, connect.NewServerStreamHandler(pull, func(_ context.Context, r *connect.Request[benchpb.PullRequest], s *connect.ServerStream[benchpb.Message]) error {
		return peer.Pull(b, r.Msg, s)
	}))
	mux.Handle(push, connect.NewClientStreamHandler(push, func(_ context.Context, s *connect.ClientStream[benchpb.Message]) (*connect.Response[benchpb.PushSummary], error) {
		answer, err := peer.Push(b, serverSource{s})
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(answer), nil
	}))
	return mux
}

type serverTalk struct {
	*connect.BidiStream[benchpb.Message, benchpb.Message]
}

func (t serverTalk) Recv() (*benchpb.Message, error) { return t.Receive() }

type serverSource struct {
	*connect.ClientStream[benchpb.Message]
}

func (s serverSource) Recv() (*benchpb.Message, error) {
	if s.Receive() {
		return s.Msg(), nil
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}
