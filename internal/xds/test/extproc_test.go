// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matchingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	authzfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

const extProcVariable = "GRPC_EXPERIMENTAL_XDS_EXT_PROC_ON_CLIENT=true"

// processedResult is what can be compared.
type processedResult struct {
	outcome processedOutcome
	events  []string
}

// String leaves out what is said about an error: others say it in other words.
func (r *processedResult) String() string {
	own := func(md metadata.MD) string {
		var s []string
		for _, name := range slices.Sorted(maps.Keys(md)) {
			if strings.HasPrefix(name, "x-") {
				s = append(s, name+"="+strings.Join(md[name], "|"))
			}
		}
		return strings.Join(s, " ")
	}
	if r.outcome.Code != codes.OK.String() { // how far it came is a matter of chance
		return r.outcome.Code
	}
	return fmt.Sprintf("%s {%s} {%s} %q", r.outcome.Code, own(r.outcome.Header), own(r.outcome.Trailer), r.outcome.Received)
}

// processedWorld has what all cases need.
type processedWorld struct {
	plane     *plane
	backend   *backend
	processor *processor
}

func newProcessedWorld(t *testing.T) *processedWorld {
	t.Helper()
	return &processedWorld{newPlane(t), echo(t), newProcessor(t)}
}

func (w *processedWorld) run(t *testing.T, program string, c *processedCase, env ...string) *processedResult {
	t.Helper()
	target := "passthrough:///" + w.processor.address
	config := processing(target)
	if c.change != nil {
		c.change(config)
	}
	f := filter("proc", config)
	if c.filter != nil {
		c.filter(f)
	}
	r := to("c")
	if c.route != nil {
		c.route(r)
	}
	w.plane.set(filtered("target", "r", f), routes(r), cluster("c"), assignment("c", local("z", 0, 1, w.backend)))
	w.processor.play(c.script)
	rpc := c.rpc
	rpc.Target = "xds:///target"
	env = append(env, "GRPC_XDS_BOOTSTRAP_CONFIG="+processorText(w.plane, c.features, target, "passthrough:///127.0.0.1:1"))
	result := &processedResult{outcome: runProcessed(t, program, rpc, env...)}
	result.events = w.processor.heard()
	slices.Sort(result.events) // those of one direction need not wait for those of the other
	return result
}

// TestA93AsPublished has the same client, built with this module and with the published one, make
// the same RPCs through the same processor: they end alike, and the processor sees the same.
func TestA93AsPublished(t *testing.T) {
	buildsTwo(t)
	ours, theirs := build(t, "processed", "go.mod"), build(t, "processed", "published.mod")
	w := newProcessedWorld(t)
	for _, c := range processedCases() {
		t.Run(c.name, func(t *testing.T) {
			a := w.run(t, ours, &c, extProcVariable)
			if !strings.Contains(a.outcome.Message, c.nack) || c.want != "" && a.String() != c.want {
				t.Errorf("%v: %s; want %s %s\n%s", a, a.outcome.Message, c.want, c.nack, strings.Join(a.events, "\n"))
			}
			var b *processedResult
			if c.differs != "" {
				return
			}
			for range 5 { // its outcomes are not always the same
				b = w.run(t, theirs, &c, extProcVariable)
				if c.same(a, b) {
					return
				}
			}
			t.Errorf("%v: %s\n%s", a, a.outcome.Message, strings.Join(a.events, "\n"))
			t.Errorf("with the published module %v: %s\n%s", b, b.outcome.Message, strings.Join(b.events, "\n"))
		})
	}
}

// same compares what does not depend on chance.
func (c *processedCase) same(a, b *processedResult) bool {
	return a.String() == b.String() && (c.chance || a.outcome.Code != codes.OK.String() || slices.Equal(a.events, b.events))
}

// TestA92A103AsPublished: there is no filter for authorization by another server, and none that
// chooses among filters, whatever the environment says; the published module has none either. They
// are refused, unless they are optional.
func TestA92A103AsPublished(t *testing.T) {
	buildsTwo(t)
	w := newProcessedWorld(t)
	target := "passthrough:///" + w.processor.address
	filters := map[string]proto.Message{
		"ext_authz": &authzfilterv3.ExtAuthz{Services: &authzfilterv3.ExtAuthz_GrpcService{GrpcService: grpcService(target)}},
		"composite": &matchingv3.ExtensionWithMatcher{ExtensionConfig: &corev3.TypedExtensionConfig{Name: "composite", TypedConfig: mustAny(&compositev3.Composite{})}},
	}
	for _, modfile := range []string{"go.mod", "published.mod"} {
		program := build(t, "processed", modfile)
		for name, m := range filters {
			for _, value := range []string{"", "true"} {
				for _, optional := range []bool{false, true} {
					f := filter("f", m)
					f.IsOptional = optional
					w.plane.set(filtered("target", "r", f), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, w.backend)))
					rpc := aUnary
					rpc.Target = "xds:///target"
					o := runProcessed(t, program, rpc, "GRPC_XDS_BOOTSTRAP_CONFIG="+processorText(w.plane, "", target),
						"GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT="+value, "GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER="+value)
					refused := o.Code == codes.Unavailable.String()
					if modfile == "go.mod" { // the published module does not always say why
						refused = refused && strings.Contains(o.Message, "filter")
					}
					if refused == optional || (o.Code == codes.OK.String()) != optional {
						t.Errorf("%s: %s with %q, optional %t: %v", modfile, name, value, optional, o)
					}
				}
			}
		}
	}
}
