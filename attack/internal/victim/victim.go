// SPDX-License-Identifier: Apache-2.0

// Package victim is the process that is attacked, or stands beside: a server, a client, or
// both, with the options that a program has when it sets none. It is built against each
// implementation, through the public API alone.
package victim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

// request and reply are lines of JSON.
type request struct {
	Op   string
	Args json.RawMessage
}

type reply struct {
	Result any
	Error  string
}

// Run does what in orders, and answers on out, until in ends.
func Run(in io.Reader, out io.Writer) error {
	go watch()
	v := &victim{}
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := dec.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		result, err := v.do(r)
		a := reply{Result: result}
		if err != nil {
			a.Error = err.Error()
		}
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
}

type victim struct {
	caller caller
	worker worker
}

func (v *victim) do(r request) (any, error) {
	switch r.Op {
	case orders.OpServe:
		return with(r, serve)
	case orders.OpCall:
		return with(r, v.call)
	case orders.OpWork:
		return with(r, func(o orders.Work) (any, error) { return nil, v.worker.start(o) })
	case orders.OpStop:
		return nil, v.worker.stop()
	case orders.OpFresh:
		return with(r, fresh)
	case orders.OpReset:
		v.caller.reset()
		return nil, nil
	case orders.OpTally:
		return v.caller.tally(), nil
	case orders.OpSample:
		return sample(), nil
	}
	return nil, fmt.Errorf("no operation %q", r.Op)
}

func with[A any](r request, do func(A) (any, error)) (any, error) {
	var args A
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return nil, err
	}
	return do(args)
}

func serve(o orders.Serve) (any, error) {
	creds, err := serverCreds(o)
	if err != nil {
		return nil, err
	}
	var options []grpc.ServerOption
	if o.Front == orders.Itself {
		options = append(options, grpc.Creds(creds))
	}
	if o.MaxStreams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(o.MaxStreams))
	}
	if o.Watched {
		options = append(options, watchedOptions()...)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := lis.Addr().String()
	if o.Wrapped {
		lis = wrappingListener{lis}
	}
	if err := serveOn(lis, o, options); err != nil {
		return nil, err
	}
	return orders.Served{Addr: addr}, nil
}

// serveOn serves on lis until the process ends.
func serveOn(lis net.Listener, o orders.Serve, options []grpc.ServerOption) error {
	if o.Front == orders.Port && hasPort {
		return servePort(lis, o, options)
	}
	if o.Extra == orders.XDS {
		return serveXDS(lis, o, options)
	}
	server := newServer(o, options)
	if o.Front == orders.Itself {
		go func() { _ = server.Serve(lis) }()
		return nil
	}
	web := newWeb(server)
	if o.Security != orders.TLS {
		go func() { _ = web.Serve(lis) }()
		return nil
	}
	cert, err := newCertificate()
	if err != nil {
		return err
	}
	web.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	go func() { _ = web.ServeTLS(lis, "", "") }()
	return nil
}

func (v *victim) call(o orders.Call) (any, error) {
	cc, err := dial(o.Addr, o.Security, o.Handshaker)
	if err != nil {
		return nil, err
	}
	return nil, v.caller.start(cc, o)
}

// fresh makes one call on a channel of its own.
func fresh(o orders.Call) (any, error) {
	cc, err := dial(o.Addr, o.Security, o.Handshaker)
	if err != nil {
		return nil, err
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second+o.Patience)
	defer cancel()
	return nil, cc.Invoke(ctx, orders.Echo, &message{}, &message{}, grpc.WaitForReady(true))
}
