// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/xds"
	"google.golang.org/grpc/xds/csds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// discoveryPlane is a control plane that answers each request with the resource of its type,
// and each answer has another version. It returns its address.
func discoveryPlane(w *watch, resources ...proto.Message) string {
	l := rig.Listen()
	byType := make(map[string]*anypb.Any)
	for _, r := range resources {
		a, err := anypb.New(r)
		if err != nil {
			panic(err)
		}
		byType[a.GetTypeUrl()] = a
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		answered := make(map[string]bool)
		for {
			in := new(discovery.DiscoveryRequest)
			if err := stream.RecvMsg(in); err != nil {
				return err
			}
			w.see("control plane, refusal", in.GetErrorDetail().GetMessage())
			a := byType[in.GetTypeUrl()]
			if a == nil || answered[in.GetTypeUrl()] {
				continue
			}
			answered[in.GetTypeUrl()] = true
			out := &discovery.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: in.GetTypeUrl(), Resources: []*anypb.Any{a}}
			if err := stream.SendMsg(out); err != nil {
				return err
			}
		}
	}))
	go func() { _ = s.Serve(l) }()
	w.Cleanup(s.Stop)
	return l.Addr().String()
}

// xdsListener is one whose route has what a program must not print; spoil makes it invalid.
func xdsListener(spoil func(*hcm.HttpConnectionManager)) *listener.Listener {
	m := &hcm.HttpConnectionManager{
		RouteSpecifier: &hcm.HttpConnectionManager_RouteConfig{RouteConfig: &route.RouteConfiguration{
			Name: "r",
			VirtualHosts: []*route.VirtualHost{{
				Name: "v", Domains: []string{"*"},
				Routes: []*route.Route{{
					Match: &route.RouteMatch{PathSpecifier: &route.RouteMatch_Prefix{}, Headers: []*route.HeaderMatcher{{
						Name: "authorization", HeaderMatchSpecifier: &route.HeaderMatcher_ExactMatch{ExactMatch: secret}, //nolint:staticcheck // control planes still send it
					}}},
					Action:              &route.Route_Route{Route: &route.RouteAction{ClusterSpecifier: &route.RouteAction_Cluster{Cluster: "c"}}},
					RequestHeadersToAdd: []*core.HeaderValueOption{{Header: &core.HeaderValue{Key: "x", Value: secret}}},
				}},
			}},
		}},
		HttpFilters: []*hcm.HttpFilter{{Name: "router", ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: anyOf(&router.Router{})}}},
	}
	if spoil != nil {
		spoil(m)
	}
	return &listener.Listener{Name: "x", ApiListener: &listener.ApiListener{ApiListener: anyOf(m)}}
}

func anyOf(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

// secretBootstraps are configurations with a secret in each of their parts. PLANE is where
// the control plane is.
var secretBootstraps = map[string]string{
	"node":                    `{"xds_servers":[{PLANE}],"node":{"id":"n","metadata":{"token":"` + secret + `"}}}`,
	"credentials":             `{"xds_servers":[{"server_uri":"ADDR","channel_creds":[{"type":"insecure","config":{"token":"` + secret + `"}}]}],"node":{"id":"n"}}`,
	"unknown credentials":     `{"xds_servers":[{"server_uri":"ADDR","channel_creds":[{"type":"nope","config":{"token":"` + secret + `"}}]}],"node":{"id":"n"}}`,
	"bad credentials":         `{"xds_servers":[{"server_uri":"ADDR","channel_creds":[{"type":"tls","config":{"ca_certificate_file":5,"token":"` + secret + `"}}]}],"node":{"id":"n"}}`,
	"server":                  `{"xds_servers":[{PLANE,"token":"` + secret + `"}],"node":{"id":"n"}}`,
	"user information":        `{"xds_servers":[{"server_uri":"dns://u:` + secret + `@127.0.0.1:1/x:1","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}}`,
	"no JSON":                 `{"xds_servers":[{PLANE}],"token":` + secret + `}`,
	"wrong type":              `{"xds_servers":"` + secret + `"}`,
	"certificate provider":    `{"xds_servers":[{PLANE}],"certificate_providers":{"a":{"plugin_name":"file_watcher","config":{"token":"` + secret + `"}}}}`,
	"unknown provider":        `{"xds_servers":[{PLANE}],"certificate_providers":{"a":{"plugin_name":"nope","config":{"token":"` + secret + `"}}}}`,
	"provider of wrong types": `{"xds_servers":[{PLANE}],"certificate_providers":{"a":{"plugin_name":"file_watcher","config":{"certificate_file":5,"private_key_file":"` + secret + `"}}}}`,
	"call credentials":        `{"xds_servers":[{PLANE,"call_creds":[{"type":"jwt_token_file","config":{"jwt_token_file":5,"token":"` + secret + `"}}]}],"node":{"id":"n"}}`,
	"unknown call credential": `{"xds_servers":[{PLANE,"call_creds":[{"type":"nope","config":{"token":"` + secret + `"}}]}],"node":{"id":"n"}}`,
	"unknown field":           `{"xds_servers":[{PLANE}],"token":"` + secret + `","node":{"id":"n"}}`,
	"authority":               `{"xds_servers":[{PLANE}],"authorities":{"a":{"token":"` + secret + `","client_listener_resource_name_template":"xdstp://b/x"}}}`,
}

// bootstrapFile names the file of package os's working directory that file makes.
var bootstrapFile = []string{"GRPC_XDS_BOOTSTRAP=file"}

// xdsSecretWays have secrets in what steers an xDS client.
func xdsSecretWays() []secretWay {
	var out []secretWay
	for name, config := range secretBootstraps {
		out = append(out, secretWay{"xds/bootstrap, " + name, bootstrapFile, func(w *watch) { w.mesh(config, xdsListener(nil)) }})
	}
	plain := `{"xds_servers":[{PLANE}],"node":{"id":"n"}}`
	spoiled := map[string]func(*hcm.HttpConnectionManager){
		"no router": func(m *hcm.HttpConnectionManager) { m.HttpFilters = nil },
		"unknown filter": func(m *hcm.HttpConnectionManager) {
			m.HttpFilters[0].GetTypedConfig().TypeUrl = "type.googleapis.com/no.Such"
			m.HttpFilters[0].GetTypedConfig().Value = []byte("\x0a\x0d" + secret)
		},
		"broken filter": func(m *hcm.HttpConnectionManager) { m.HttpFilters[0].GetTypedConfig().Value = []byte("\xff" + secret) },
		"bad header matcher": func(m *hcm.HttpConnectionManager) {
			m.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].GetMatch().GetHeaders()[0].HeaderMatchSpecifier = &route.HeaderMatcher_SafeRegexMatch{}
		},
		"no action": func(m *hcm.HttpConnectionManager) {
			m.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].Action = nil
		},
		"valid": nil,
	}
	for name, spoil := range spoiled {
		out = append(out, secretWay{"xds/resource, " + name, bootstrapFile, func(w *watch) { w.mesh(plain, xdsListener(spoil)) }})
	}
	return append(out, secretWay{"xds/token of a call", bootstrapFile, func(w *watch) {
		w.mesh(plain, xdsListener(nil), grpc.PerRPCCredentials(tokenOf("authorization", secret)))
	}})
}

// mesh makes a call through xDS, and looks at what a program is told of its configuration.
func (w *watch) mesh(config string, l *listener.Listener, opts ...grpc.CallOption) {
	addr := discoveryPlane(w, l)
	plane := fmt.Sprintf(`"server_uri":%q,"channel_creds":[{"type":"insecure"}]`, addr)
	config = strings.NewReplacer("PLANE", plane, "ADDR", addr).Replace(config)
	if err := os.Chdir(filepath.Dir(w.file(config))); err != nil { // where bootstrapFile is
		panic(err)
	}
	cc, err := grpc.NewClient("xds:///x", append(w.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	w.print("error of NewClient", err)
	if err == nil {
		w.Cleanup(func() { _ = cc.Close() })
		w.call(w.Context(), cc, opts...)
		w.print("ClientConn", cc)
	}
	s, err := xds.NewGRPCServer()
	w.print("error of NewGRPCServer", err)
	if err == nil {
		w.print("GRPCServer", s)
		s.Stop()
	}
	r, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	w.print("xDS resolver", r, err)
	c, err := csds.NewClientStatusDiscoveryServer()
	w.print("error of csds", err)
	if err == nil {
		w.print("csds", c)
		c.Close()
	}
}
