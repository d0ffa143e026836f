// SPDX-License-Identifier: Apache-2.0

// Command demo shows a client that a control plane leads: a real control plane, the servers of
// two versions of a service in two zones, and a client, in one process. Traffic is shifted from
// the old version to the new one, a zone fails and comes back, and the control plane itself goes
// away; a table says where the requests went.
//
//	make demo-xds
//	make demo-xds ARGS='-serve 50051,50052'   # only the control plane, of other programs
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/xds"
)

// world is all there is.
type world struct {
	plane   *plane
	servers []*server // v1 east, v1 west, v2 east, v2 west
	client  testpb.TestServiceClient
	table   *tabwriter.Writer
}

func main() {
	var ports []uint32
	flag.Func("serve", "be the control plane of xDS servers on these `ports` and of clients of xds:///shop, which is the first", func(s string) error {
		for text := range strings.SplitSeq(s, ",") {
			n, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				return err
			}
			ports = append(ports, uint32(n))
		}
		return nil
	})
	flag.Parse()
	do := run
	if len(ports) > 0 {
		do = func() error { return serve(ports) }
	}
	if err := do(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	w := &world{table: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	for _, name := range []string{"v1 east", "v1 west", "v2 east", "v2 west"} {
		s := &server{name: name}
		if err := s.start("127.0.0.1:0"); err != nil {
			return err
		}
		defer func() { s.grpc.Stop() }()
		w.servers = append(w.servers, s)
	}
	var err error
	if w.plane, err = startPlane(); err != nil {
		return err
	}
	defer w.plane.server.Stop()
	fmt.Printf("GRPC_XDS_BOOTSTRAP_CONFIG=%s\n\n", w.plane.bootstrap())
	// A program takes it from the environment, and needs no line but the import of package xds.
	builder, err := xds.NewXDSResolverWithConfigForTesting([]byte(w.plane.bootstrap()))
	if err != nil {
		return err
	}
	cc, err := grpc.NewClient("xds:///shop", grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer cc.Close()
	w.client = testpb.NewTestServiceClient(cc)
	fmt.Fprintln(w.table, "of 1000 requests\tv1 east\tv1 west\tv2 east\tv2 west\tfailed\t")
	if err := w.story(); err != nil {
		return err
	}
	return w.table.Flush()
}

// versions says which share of the traffic the versions get; east comes before west.
func (w *world) versions(v1, v2 uint32) error {
	s := w.servers
	return w.plane.say(
		share{"shop-v1", v1, []place{{"east", s[:1]}, {"west", s[1:2]}}},
		share{"shop-v2", v2, []place{{"east", s[2:3]}, {"west", s[3:4]}}},
	)
}

// story is what happens.
func (w *world) story() error {
	for _, step := range []struct {
		title string
		do    func() error
		want  func(got map[string]int) bool // it has taken effect
	}{
		{"all to version 1", func() error { return w.versions(100, 0) }, func(got map[string]int) bool { return got["v1 east"] == 1000 }},
		{"a tenth to version 2", func() error { return w.versions(90, 10) }, func(got map[string]int) bool { return got["v2 east"] > 50 }},
		{"half and half", func() error { return w.versions(50, 50) }, func(got map[string]int) bool { return got["v2 east"] > 400 }},
		{
			"servers in the east go away", func() error {
				w.servers[0].grpc.Stop()
				w.servers[2].grpc.Stop()
				return nil
			},
			func(got map[string]int) bool { return got["v1 west"]+got["v2 west"] == 1000 },
		},
		{
			"and come back", func() error {
				for _, i := range []int{0, 2} {
					if err := w.servers[i].start(fmt.Sprintf("127.0.0.1:%d", w.servers[i].port)); err != nil {
						return err
					}
				}
				return nil
			},
			func(got map[string]int) bool { return got["v1 east"]+got["v2 east"] == 1000 },
		},
		{"all to version 2", func() error { return w.versions(0, 100) }, func(got map[string]int) bool { return got["v2 east"] == 1000 }},
		{
			"the control plane goes away", func() error {
				w.plane.server.Stop()
				return nil
			},
			func(got map[string]int) bool { return got["v2 east"] == 1000 },
		},
	} {
		if err := step.do(); err != nil {
			return err
		}
		if err := w.show(step.title, step.want); err != nil {
			return err
		}
	}
	return nil
}

// show prints where requests went until what was done had taken effect, and then.
func (w *world) show(title string, want func(map[string]int) bool) error {
	meanwhile := make(map[string]int)
	for end := time.Now().Add(time.Minute); ; {
		got := w.requests(1000)
		if want(got) {
			w.row(title, got, meanwhile["failed"])
			return nil
		}
		meanwhile["failed"] += got["failed"]
		if time.Now().After(end) {
			return fmt.Errorf("%s: requests go to %v", title, got)
		}
	}
}

func (w *world) row(title string, got map[string]int, before int) {
	cells := []string{title}
	for _, s := range w.servers {
		cells = append(cells, fmt.Sprint(got[s.name]))
	}
	failed := fmt.Sprint(got["failed"] + before)
	fmt.Fprintln(w.table, strings.Join(append(cells, failed), "\t")+"\t")
}

func (w *world) requests(n int) map[string]int {
	got := make(map[string]int)
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		r, err := w.client.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.WaitForReady(true))
		cancel()
		if err != nil {
			got["failed"]++
		} else {
			got[r.GetServerId()]++
		}
	}
	return got
}
