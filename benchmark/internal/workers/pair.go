// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"errors"
	"os/exec"

	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
)

// Pair is a server and a client, in a process each.
type Pair struct {
	Server, Client *control.Process
	handshaker     *handshaker // nil where none is needed
	link           ops.Link
	served         ops.Served
}

// Starts start the processes of a pair somewhere else than where this one is. The zero value
// starts them here.
type Starts struct{ Server, Client func(*exec.Cmd) error }

// StartPair starts both, the server as ordered, with a certificate or the handshaker service
// if they need one.
func StartPair(ctx context.Context, client Impl, order ops.Serve) (*Pair, error) {
	return StartPairAt(ctx, client, order, Starts{})
}

// StartPairAt is StartPair for processes that have a place of their own.
func StartPairAt(ctx context.Context, client Impl, order ops.Serve, at Starts) (*Pair, error) {
	server := client
	if client.Server != nil {
		server = *client.Server
	}
	p := &Pair{link: order.Link}
	var err error
	alts := order.Protocol == ops.GRPC && order.Security == ops.ALTS
	if alts {
		if p.handshaker, err = startHandshaker(ctx); err != nil {
			return nil, err
		}
		order.Handshaker = p.handshaker.addr
	}
	if order.Security == ops.TLS {
		if order.Cert, order.Key, err = certs.New(); err != nil {
			return nil, err
		}
	}
	p.Server, err = control.Start(ctx, control.Spec{Name: "server of " + server.Name, Path: server.Path, Env: server.Env, Cloud: alts, Start: at.Server})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Client, err = control.Start(ctx, control.Spec{Name: "client of " + client.Name, Path: client.Path, Env: client.Env, Cloud: alts, Start: at.Client})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.served, err = control.Call[ops.Served](p.Server, ops.OpServe, order, nil)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Open opens connections from the client to the server; its Link and Served are filled in.
func (p *Pair) Open(args ops.Open, progress control.Progress) (ops.Opened, error) {
	args.Link, args.Served = p.link, p.served
	return control.Call[ops.Opened](p.Client, ops.OpOpen, args, progress)
}

// Publish has the server send a state of size bytes to all open streams.
func (p *Pair) Publish(size int) (ops.Published, error) {
	return control.Call[ops.Published](p.Client, ops.OpPublish, ops.Publish{Size: size}, nil)
}

// Soak lets clients come and go; Link and Served of its order are filled in.
func (p *Pair) Soak(args ops.Soak) (ops.Soaked, error) {
	args.Link, args.Served = p.link, p.served
	return control.Call[ops.Soaked](p.Client, ops.OpSoak, args, nil)
}

// Both asks server and client for the same operation, one after the other.
func Both[R any](p *Pair, op string, args any) (server, client R, err error) {
	if server, err = control.Call[R](p.Server, op, args, nil); err != nil {
		return server, client, err
	}
	client, err = control.Call[R](p.Client, op, args, nil)
	return server, client, err
}

// Close ends both, the client first, and then what they needed.
func (p *Pair) Close() error {
	var errs []error
	for _, process := range []*control.Process{p.Client, p.Server} {
		if process != nil {
			errs = append(errs, process.Close())
		}
	}
	if p.handshaker != nil {
		errs = append(errs, p.handshaker.close())
	}
	return errors.Join(errs...)
}
