// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/resolver"
)

// loadPolicy is a balancing policy that uses one connection and passes on the load reports that
// come over it. It sends the report of an RPC to the Go channel in the RPC's context, and reports
// out of band to the listener in the attributes of the server's address.
const loadPolicy = "interop_load_reports"

func init() {
	balancer.Register(base.NewBalancerBuilder(loadPolicy, loadPickers{}, base.Config{}))
}

type (
	rpcReportKey   struct{} // in a context; the value is a chan *orcapb.OrcaLoadReport with room for one
	oobListenerKey struct{} // in an address's attributes; the value is an *oobListener
)

type loadPickers struct{}

func (loadPickers) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc, at := range info.ReadySCs {
		if l, ok := at.Address.BalancerAttributes.Value(oobListenerKey{}).(*oobListener); ok && l != nil {
			l.listenTo(sc)
		}
		return loadPicker{sc}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type loadPicker struct{ sc balancer.SubConn }

func (p loadPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	reports, _ := info.Ctx.Value(rpcReportKey{}).(chan *orcapb.OrcaLoadReport)
	return balancer.PickResult{SubConn: p.sc, Done: func(done balancer.DoneInfo) {
		report, _ := done.ServerLoad.(*orcapb.OrcaLoadReport)
		if reports != nil {
			reports <- report
		}
	}}, nil
}

// oobListener keeps the latest report out of band.
type oobListener struct {
	listening sync.Mutex // guards sc and stop; not held by OnLoadReport, which stop waits for
	sc        balancer.SubConn
	stop      func()

	mu      sync.Mutex // guards what follows
	report  *orcapb.OrcaLoadReport
	changed chan struct{} // closed when report changes, and then replaced
}

func newOOBListener() *oobListener { return &oobListener{changed: make(chan struct{})} }

func (l *oobListener) listenTo(sc balancer.SubConn) {
	l.listening.Lock()
	defer l.listening.Unlock()
	if l.sc == sc {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.sc, l.stop = sc, orca.RegisterOOBListener(sc, l, orca.OOBListenerOptions{ReportInterval: time.Second})
}

// OnLoadReport implements orca.OOBListener.
func (l *oobListener) OnLoadReport(r *orcapb.OrcaLoadReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = r
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits for a report that equals want.
func (l *oobListener) await(ctx context.Context, want *testpb.TestOrcaReport) error {
	for {
		l.mu.Lock()
		report, changed := l.report, l.changed
		l.mu.Unlock()
		err := checkReport(report, want)
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the last report is not the one wanted: %w", err)
		}
	}
}

func checkReport(got *orcapb.OrcaLoadReport, want *testpb.TestOrcaReport) error {
	if got.GetCpuUtilization() != want.GetCpuUtilization() || got.GetMemUtilization() != want.GetMemoryUtilization() ||
		!maps.Equal(got.GetUtilization(), want.GetUtilization()) || !maps.Equal(got.GetRequestCost(), want.GetRequestCost()) {
		return fmt.Errorf("report is {%v}, want {%v}", got, want)
	}
	return nil
}

// withLoadPolicy returns a client with a channel of its own that uses loadPolicy.
func (c *Client) withLoadPolicy(l *oobListener) (*Client, error) {
	addr := resolver.Address{Addr: c.cfg.Addrs[0], BalancerAttributes: attributes.New(oobListenerKey{}, l)}
	return c.resolvedTo(resolver.State{Addresses: []resolver.Address{addr}}, c.dial,
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"`+loadPolicy+`": {}}]}`))
}

func orcaPerRPC(ctx context.Context, c *Client) error {
	client, err := c.withLoadPolicy(nil)
	if err != nil {
		return err
	}
	defer client.Close()
	want := &testpb.TestOrcaReport{
		CpuUtilization:    0.8210,
		MemoryUtilization: 0.5847,
		RequestCost:       map[string]float64{"cost": 3456.32},
		Utilization:       map[string]float64{"util": 0.30499},
	}
	reports := make(chan *orcapb.OrcaLoadReport, 1)
	ctx = context.WithValue(ctx, rpcReportKey{}, reports)
	if _, err := client.test.UnaryCall(ctx, &testpb.SimpleRequest{OrcaPerQueryReport: want}); err != nil {
		return err
	}
	if err := checkReport(<-reports, want); err != nil {
		return err
	}
	if _, err := client.test.UnaryCall(ctx, &testpb.SimpleRequest{}); err != nil {
		return err
	}
	if report := <-reports; report != nil {
		return fmt.Errorf("an RPC that asked for none has a report: %v", report)
	}
	return nil
}

func orcaOOB(ctx context.Context, c *Client) error {
	listener := newOOBListener()
	client, err := c.withLoadPolicy(listener)
	if err != nil {
		return err
	}
	defer client.Close()
	stream, err := client.test.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for _, want := range []*testpb.TestOrcaReport{
		{CpuUtilization: 0.8210, MemoryUtilization: 0.5847, Utilization: map[string]float64{"util": 0.30499}},
		{CpuUtilization: 0.29309, MemoryUtilization: 0.2, Utilization: map[string]float64{"util": 0.2039}},
	} {
		req := outputRequest(1)
		req.OrcaOobReport = want
		if err := stream.Send(req); err != nil {
			return err
		}
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if err := listener.await(ctx, want); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return checkEnd(stream.Recv)
}
