// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/workers"
	"google.golang.org/grpc/internal/farpath"
)

// roamed is one measurement.
type roamed struct {
	// Back is how long after the link came back the first call succeeded; negative if none did.
	Back                   time.Duration
	Failed, Dials, Lookups int
}

// roamTrip is the round trip of the path.
const roamTrip = 20 * time.Millisecond

// otherAddress is a free one of the path's network.
var otherAddress = netip.AddrFrom4([4]byte{10, 213, 0, 77})

// measureRoam takes the link down under a client, brings it up again, and waits for a success.
func measureRoam(ctx context.Context, c roamCase, impl workers.Impl, within time.Duration) (m roamed, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Down+within+grace, errors.New("it hangs"))
	defer cancel()
	path, err := farpath.New(farpath.Shape{RoundTrip: roamTrip}, "")
	if err != nil {
		return m, err
	}
	defer path.Close()
	w, err := startRoam(ctx, path, impl)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return m, err
	}
	if _, err := control.Call[ops.Nothing](w.client, ops.OpRoam, ops.Roam{Target: w.first, Keepalive: c.Keepalive}, nil); err != nil {
		return m, err
	}
	order := ops.Recover{Within: c.Down + within, After: c.Down}
	if c.Changes == itsAddress {
		order.Then = w.then
	}
	up := make(chan int64, 1)
	path.Down()
	time.AfterFunc(c.Down, func() {
		switch c.Changes {
		case ownAddress:
			err = path.Near().SetAddr(otherAddress)
		case itsAddress:
			_ = w.servers[0].Close()
		}
		up <- time.Now().UnixNano()
		path.Up()
	})
	r, failed := control.Call[ops.Recovered](w.client, ops.OpRecover, order, nil)
	m = roamed{Back: time.Duration(r.At - <-up), Failed: r.Failed, Dials: r.Dials, Lookups: r.Lookups}
	if r.At == 0 {
		m.Back = -1
	}
	return m, errors.Join(failed, err)
}

// roamWorkers are a client, and the two servers that it may be sent to.
type roamWorkers struct {
	client      *control.Process
	servers     []*control.Process
	first, then string // their addresses
}

func startRoam(ctx context.Context, path *farpath.Path, impl workers.Impl) (w roamWorkers, err error) {
	server := impl
	if impl.Server != nil {
		server = *impl.Server
	}
	for _, target := range []*string{&w.first, &w.then} {
		p, err := control.Start(ctx, control.Spec{Name: "server of " + server.Name, Path: server.Path, Env: server.Env, Start: path.Far().Start})
		if err != nil {
			return w, err
		}
		w.servers = append(w.servers, p)
		order := ops.Serve{Link: linkOf(ops.TCP), Host: path.Far().Addr().String()}
		served, err := control.Call[ops.Served](p, ops.OpServe, order, nil)
		if err != nil {
			return w, err
		}
		*target = served.Targets[0]
	}
	w.client, err = control.Start(ctx, control.Spec{Name: "client of " + impl.Name, Path: impl.Path, Env: impl.Env, Start: path.Near().Start})
	return w, err
}

func (w roamWorkers) close() error {
	var errs []error
	if w.client != nil {
		errs = append(errs, w.client.Close())
	}
	for _, p := range w.servers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
