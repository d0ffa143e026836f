// SPDX-License-Identifier: Apache-2.0

package resource

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc/internal/xds/httpfilter"
)

// Listener says what a client's target stands for, or what a server does with its
// connections.
type Listener struct {
	// Name is the name of the resource.
	Name string
	// API is for clients (A27). Either API or Server is nil.
	API *HTTP
	// Server is for servers (A36). Either API or Server is nil.
	Server *ServerListener
}

// ParseListener parses a serialized Listener.
func ParseListener(c *Context, raw []byte) (*Listener, error) {
	return parse(c, raw, &listenerv3.Listener{}, readListener)
}

func readListener(c *Context, in *listenerv3.Listener) (out *Listener, err error) {
	out = &Listener{Name: in.GetName()}
	if in.GetApiListener() != nil {
		out.API, err = readHTTP(c, in.GetApiListener().GetApiListener(), httpfilter.Client)
		return out, at("api_listener.api_listener", err)
	}
	out.Server, err = readServerListener(c, in)
	return out, err
}
