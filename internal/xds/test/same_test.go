// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// sameRPC and its outcome are those of command same.
type sameRPC struct {
	Target, Method string
	Headers        []string
	Times          int
	Fast           bool
	Briefly, Tells bool
}

// anyBackend answers each method with its name.
func anyBackend(t *testing.T, name string) *backend {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.String(name))
	}))
	go server.Serve(lis) // it ends with Stop
	t.Cleanup(server.Stop)
	return &backend{name: name, port: uint32(lis.Addr().(*net.TCPAddr).Port), server: server}
}

// world makes configurations, and RPCs for them, at random.
type world struct {
	*rand.Rand
	backends  []*backend
	gone      *backend // nobody is there
	resources []types.Resource
	rpcs      []sameRPC
}

func pick[T any](w *world, list ...T) T { return list[w.IntN(len(list))] }

var (
	methods = []string{"/shop.Cart/Add", "/shop.Cart/Remove", "/shop.Pay/Add", "/SHOP.cart/add", "/other/x"}
	values  = []string{"a", "ab", "abc", "A", "5", "50", "-3", "x,y"}
	headers = []string{"user", "kind", "n"} // binary ones are not matched (A28); the published module does
)

func (w *world) path(m *routev3.RouteMatch) {
	switch w.IntN(5) {
	case 0:
		m.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: pick(w, "", "/shop.Cart/", "/shop", "/")}
	case 1:
		m.PathSpecifier = &routev3.RouteMatch_Path{Path: pick(w, methods...)}
	case 2:
		m.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: regex(pick(w, "/shop.*", ".*/Add", "/[a-z]+.Cart/.*", "Cart"))}
	default:
		m.PathSpecifier = &routev3.RouteMatch_Prefix{}
	}
	if w.IntN(4) == 0 {
		m.CaseSensitive = wrapperspb.Bool(w.IntN(2) == 0)
	}
	if w.IntN(6) == 0 {
		m.RuntimeFraction = &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: pick[uint32](w, 0, 100)}}
	}
}

func regex(s string) *matcherv3.RegexMatcher { return &matcherv3.RegexMatcher{Regex: s} }

func (w *world) header() *routev3.HeaderMatcher {
	h := &routev3.HeaderMatcher{Name: pick(w, headers...), InvertMatch: w.IntN(4) == 0}
	value := pick(w, "a", "ab", "b", "5")
	text := &matcherv3.StringMatcher{IgnoreCase: w.IntN(3) == 0}
	switch w.IntN(8) {
	case 0:
		text.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: value}
	case 1:
		text.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: value}
	case 2:
		text.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: value}
	case 3:
		text.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: value}
	case 4:
		text.IgnoreCase = false
		text.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(pick(w, "a.*", "[0-9]+", ".*,.*"))}
	case 5:
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_RangeMatch{RangeMatch: &typev3.Int64Range{Start: -5, End: pick[int64](w, 5, 6, 100)}}
		return h
	case 6:
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: w.IntN(2) == 0}
		return h
	default:
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_ExactMatch{ExactMatch: value} //nolint:staticcheck // the older way
		return h
	}
	h.HeaderMatchSpecifier = &routev3.HeaderMatcher_StringMatch{StringMatch: text}
	return h
}

func (w *world) action(clusters []string) *routev3.RouteAction {
	a := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: pick(w, clusters...)}}
	if w.IntN(4) == 0 {
		split := &routev3.WeightedCluster{}
		for _, c := range clusters {
			split.Clusters = append(split.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: c, Weight: wrapperspb.UInt32(w.Uint32N(4))})
		}
		split.Clusters[0].Weight.Value++
		a.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: split}
	}
	for range w.IntN(3) {
		a.HashPolicy = append(a.HashPolicy, &routev3.RouteAction_HashPolicy{
			Terminal:        w.IntN(2) == 0,
			PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: pick(w, headers...)}},
		})
	}
	return a
}

// cluster adds one with endpoints of several priorities.
func (w *world) cluster(name string) {
	c := cluster(name)
	if w.IntN(2) == 0 {
		c.LbPolicy = clusterv3.Cluster_RING_HASH
	}
	e := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	left := w.Perm(len(w.backends))
	for p := range 1 + w.IntN(2) {
		for z := range 1 + w.IntN(2) {
			n := 1 + w.IntN(2)
			l := local(fmt.Sprint("z", p, z), uint32(p), 1+w.Uint32N(3))
			for _, i := range left[:n] {
				b := w.backends[i]
				if p == 0 && len(e.Endpoints) == 0 && w.IntN(4) == 0 && w.gone != nil {
					b, w.gone = w.gone, nil
				}
				l.LbEndpoints = append(l.LbEndpoints, local("", 0, 1, b).LbEndpoints...)
			}
			left = left[n:]
			e.Endpoints = append(e.Endpoints, l)
		}
	}
	w.resources = append(w.resources, c, e)
}

// target adds a target, and RPCs to it.
func (w *world) target(i int) {
	name := fmt.Sprint("t", i)
	var clusters []string
	for j := range 3 {
		clusters = append(clusters, fmt.Sprint(name, "-c", j))
		w.cluster(clusters[j])
	}
	if w.IntN(3) == 0 {
		clusters = append(clusters, name+"-all")
		w.resources = append(w.resources, aggregateWithPolicy(name+"-all", clusters[:2]...))
	}
	vh := &routev3.VirtualHost{Domains: []string{"*"}}
	for range 1 + w.IntN(6) {
		m := &routev3.RouteMatch{}
		w.path(m)
		for range w.IntN(3) {
			m.Headers = append(m.Headers, w.header())
		}
		vh.Routes = append(vh.Routes, &routev3.Route{Match: m, Action: &routev3.Route_Route{Route: w.action(clusters)}})
	}
	decoy := &routev3.VirtualHost{Domains: []string{pick(w, "other", "*.example.com", "u*", "*2")}, Routes: []*routev3.Route{to(clusters[0])}}
	w.resources = append(w.resources, listener(name, name+"-r"), &routev3.RouteConfiguration{
		Name: name + "-r", VirtualHosts: []*routev3.VirtualHost{decoy, vh},
	})
	for range 15 {
		r := sameRPC{Target: "xds:///" + name, Method: pick(w, methods...), Times: 60}
		for range w.IntN(4) {
			r.Headers = append(r.Headers, pick(w, headers...), pick(w, values...))
		}
		w.rpcs = append(w.rpcs, r)
	}
}

// aggregateWithPolicy is one that the published module accepts, too.
func aggregateWithPolicy(name string, children ...string) *clusterv3.Cluster {
	c := aggregate(name, children...)
	c.LbPolicy = clusterv3.Cluster_ROUND_ROBIN
	return c
}

var sameSeed = flag.Uint64("seed", 3, "of TestSameAsPublished; 0 for another one each time")

// TestSameAsPublished has the same client, built with this module and with the published one,
// make the same RPCs by configurations that are made at random: they go to the same servers, as
// often but for chance.
func TestSameAsPublished(t *testing.T) {
	buildsTwo(t)
	ours, theirs := build(t, "same", "go.mod"), build(t, "same", "published.mod")
	seed := *sameSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	p := newPlane(t)
	w := &world{Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 8 {
		w.backends = append(w.backends, anyBackend(t, fmt.Sprint("b", i)))
	}
	w.gone = anyBackend(t, "gone")
	w.gone.server.Stop()
	for i := range 30 {
		w.target(i)
	}
	p.set(w.resources...)
	// Once around first, so that there are connections.
	all := append(slices.Clone(w.rpcs), w.rpcs...)
	a, b := runSame(t, ours, p, all)[len(w.rpcs):], runSame(t, theirs, p, all)[len(w.rpcs):]
	for i := range w.rpcs {
		if !alike(a[i], b[i]) {
			t.Errorf("%+v: %v; with the published module %v", w.rpcs[i], a[i], b[i])
		}
	}
	if t.Failed() {
		for _, r := range w.resources {
			if c, ok := r.(*routev3.RouteConfiguration); ok {
				t.Logf("%v", c)
			}
		}
		_, nacks := p.counts()
		t.Logf("refused: %v", nacks)
	}
}

// alike allows for chance. Which server a call goes to may be chance, so counts of two sides are alike unless they differ
// by five standard deviations: of the thousand that are compared, chance makes that of one in a million.
func alike(a, b map[string]int) bool {
	for _, counts := range []map[string]int{a, b} {
		for end := range counts {
			if d, sum := a[end]-b[end], a[end]+b[end]; d*d > 24*sum {
				return false
			}
		}
	}
	return true
}

// buildsTwo skips a test that compares programs where that takes too long, or shows nothing: they
// are built without the race detector.
func buildsTwo(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("it builds two programs, which the race detector does not see")
	}
}

// build builds a program of this module with the gRPC that a modfile names.
func build(t *testing.T, program, modfile string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), program)
	out, err := exec.Command("go", "build", "-modfile", modfile, "-o", path, "./"+program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func runSame(t *testing.T, program string, p *plane, rpcs []sameRPC) (outcomes []map[string]int) {
	t.Helper()
	var in bytes.Buffer
	for _, r := range rpcs {
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP_CONFIG="+bootstrapText(p))
	c.Stdin = &in
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var o map[string]int
		if err := d.Decode(&o); err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) != len(rpcs) {
		t.Fatalf("%d outcomes of %d RPCs\n%s", len(outcomes), len(rpcs), errs.String())
	}
	return outcomes
}

// sameClient is a process of command same that lives, and its channels with it.
type sameClient struct {
	t   *testing.T
	in  *json.Encoder
	out *json.Decoder
}

func startSame(t *testing.T, program, bootstrap string) *sameClient {
	t.Helper()
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP_CONFIG="+bootstrap)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Wait()
	})
	return &sameClient{t, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
}

// do makes RPCs, and says how they ended.
func (c *sameClient) do(r sameRPC) (ends map[string]int) {
	c.t.Helper()
	if err := c.in.Encode(r); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

func (c *sameClient) answer() (ends map[string]int) {
	c.t.Helper()
	if err := c.out.Decode(&ends); err != nil {
		c.t.Fatal(err)
	}
	return ends
}
