// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/grpclb" // which a program imports itself
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestPolicyNames: these are the names of policies in service configs, and importing package xds is
// enough for all but grpclb.
func TestPolicyNames(t *testing.T) {
	for _, name := range []string{
		"cds_experimental", "priority_experimental", "xds_cluster_impl_experimental", "xds_cluster_manager_experimental",
		"xds_wrr_locality_experimental", "outlier_detection_experimental", "ring_hash_experimental", "weighted_target_experimental",
		"weighted_round_robin", "least_request_experimental", "rls_experimental", "grpclb",
	} {
		if b := balancer.Get(name); b == nil || b.Name() != name {
			t.Errorf("%s: %v", name, b)
		}
	}
}

// TestA43Authorization: a policy of the program's own stands beside what control planes say, on an
// xDS server.
func TestA43Authorization(t *testing.T) {
	i, err := authz.NewStatic(`{"name":"authz",
		"deny_rules":[{"name":"no stranger","request":{"headers":[{"key":"who","values":["stranger"]}]}}],
		"allow_rules":[{"name":"empty","request":{"paths":["/grpc.testing.TestService/EmptyCall"]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1", grpc.ChainUnaryInterceptor(i.UnaryInterceptor), grpc.ChainStreamInterceptor(i.StreamInterceptor))
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	if err := empty(t, cc); err != nil {
		t.Error(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "who", "stranger")
	if err := cc.Invoke(ctx, "/grpc.testing.TestService/EmptyCall", &statusv3.ClientStatusRequest{}, &statusv3.ClientStatusRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	st, err := cc.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.testing.TestService/FullDuplexCall")
	if err == nil {
		err = st.RecvMsg(&statusv3.ClientStatusRequest{})
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	// What the control plane refuses stays refused.
	p.set(s.listener(inline(takes("", "/other"))))
	wantCode(t, cc, codes.Unavailable)
}

// TestA75Policies: the clusters of an aggregate keep the policies of their own, unless the aggregate
// brings one, as older control planes have it.
func TestA75Policies(t *testing.T) {
	for policy, want := range map[clusterv3.Cluster_LbPolicy]int{clusterv3.Cluster_CLUSTER_PROVIDED: 1, clusterv3.Cluster_ROUND_ROBIN: 4} {
		t.Run(policy.String(), func(t *testing.T) {
			p := newPlane(t)
			all := aggregate("all", "c")
			all.LbPolicy = policy
			p.set(listener("target", "r"), routes(to("all", byHeader)), all, ringCluster("c"), inZones([]uint32{0}, group(t, "a", 4)))
			cc := channel(t, nil, p)
			ctx := metadata.AppendToOutgoingContext(t.Context(), "user", "u")
			until(t, func() bool { // a ring has all RPCs of a user go to one server
				used := make(map[string]bool)
				for range 12 {
					got, err := try(ctx, t, cc, grpc.WaitForReady(true))
					if err != nil {
						t.Fatal(err)
					}
					used[got] = true
				}
				return len(used) == want
			})
		})
	}
}

// TestA40Status: CSDS shows what a channel of the process has got, what it has refused, and why.
func TestA40Status(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("bad", withHeader("who", "bad")), to("c")), cluster("c"), badCluster("bad"), assignment("c", local("z", 0, 1, a)))
	// The configuration is that of the process.
	if !testutils.InChild(t, "GRPC_XDS_BOOTSTRAP_CONFIG="+bootstrapText(p)) {
		return
	}
	channel, err := grpc.NewClient("xds:///target", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	if got := call(t, channel); got != "a" {
		t.Errorf("%q", got)
	}
	want := map[string]adminv3.ClientResourceStatus{
		"Listener target": adminv3.ClientResourceStatus_ACKED, "RouteConfiguration r": adminv3.ClientResourceStatus_ACKED,
		"Cluster c": adminv3.ClientResourceStatus_ACKED, "ClusterLoadAssignment c": adminv3.ClientResourceStatus_ACKED,
		"Cluster bad": adminv3.ClientResourceStatus_NACKED,
	}
	got := fetchStatus(t)
	if len(got) != len(want) {
		t.Errorf("%d resources: %v", len(got), got)
	}
	for name, state := range want {
		r := got[name]
		if r.GetClientStatus() != state || state == adminv3.ClientResourceStatus_ACKED && (r.GetVersionInfo() != "1" || r.GetXdsConfig() == nil) {
			t.Errorf("%s: %v", name, r)
		}
		if e := r.GetErrorState(); state == adminv3.ClientResourceStatus_NACKED && (e.GetVersionInfo() != "1" || !strings.Contains(e.GetDetails(), "lb_policy: RANDOM")) {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// fetchStatus asks package admin's CSDS for the resources of channel "xds:///target".
func fetchStatus(t *testing.T) map[string]*statusv3.ClientConfig_GenericXdsConfig {
	t.Helper()
	cc := dialAdmin(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := statusv3.NewClientStatusDiscoveryServiceClient(cc).FetchClientStatus(ctx, &statusv3.ClientStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]*statusv3.ClientConfig_GenericXdsConfig)
	for _, c := range r.GetConfig() {
		if c.GetClientScope() != "xds:///target" || c.GetNode().GetId() != nodeID {
			t.Errorf("%s, %v", c.GetClientScope(), c.GetNode())
		}
		for _, r := range c.GetGenericXdsConfigs() {
			got[r.GetTypeUrl()[strings.LastIndex(r.GetTypeUrl(), ".")+1:]+" "+r.GetName()] = r
		}
	}
	return got
}
