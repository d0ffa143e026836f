// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"io"
	"log"
	"net/http"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

func newServer(o orders.Serve, options []grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(options...)
	server.RegisterService(service(o.HandedOver), nil)
	register(server, o.Extra)
	return server
}

// newWeb is a server of HTTP that takes HTTP/2 in plain text, too.
func newWeb(h http.Handler) *http.Server {
	web := &http.Server{Handler: h, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetHTTP2(true)
	web.Protocols.SetUnencryptedHTTP2(true)
	return web
}
