// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/grpc/xds"
	"google.golang.org/grpc/xds/bootstrap"
)

// controlPlane is where nobody listens.
const controlPlane = `"server_uri":"127.0.0.1:1","channel_creds":[{"type":"insecure"}]`

// bootstraps are configurations of xDS clients, and whether they are valid.
var bootstraps = []struct {
	name, config string
	valid        bool
}{
	{"half", `{`, false},
	{"array", `[]`, false},
	{"empty", `{}`, false},
	{"no servers", `{"xds_servers":[]}`, false},
	{"servers of a wrong type", `{"xds_servers":"x"}`, false},
	{"no credentials", `{"xds_servers":[{"server_uri":"127.0.0.1:1"}]}`, false},
	{"unknown credentials", `{"xds_servers":[{"server_uri":"127.0.0.1:1","channel_creds":[{"type":"nope"}]}]}`, false},
	{"unknown credentials first", `{"xds_servers":[{"server_uri":"127.0.0.1:1","channel_creds":[{"type":"nope"},{"type":"insecure"}]}]}`, true},
	{"no server_uri", `{"xds_servers":[{"channel_creds":[{"type":"insecure"}]}]}`, false},
	{"node of a wrong type", `{"xds_servers":[{` + controlPlane + `}],"node":{"id":5}}`, false},
	{"unknown field", `{"xds_servers":[{` + controlPlane + `}],"nope":1}`, true},
	{"unknown feature", `{"xds_servers":[{` + controlPlane + `,"server_features":["nope"]}]}`, true},
	{"unknown certificate provider", `{"xds_servers":[{` + controlPlane + `}],"certificate_providers":{"a":{"plugin_name":"nope","config":{}}}}`, true},
	{"empty certificate provider", `{"xds_servers":[{` + controlPlane + `}],"certificate_providers":{"a":{"plugin_name":"file_watcher","config":{}}}}`, false},
	{"authority's template of another", `{"xds_servers":[{` + controlPlane + `}],"authorities":{"a":{"client_listener_resource_name_template":"xdstp://b/x"}}}`, false},
	{"authority", `{"xds_servers":[{` + controlPlane + `}],"authorities":{"a":{"xds_servers":[{` + controlPlane + `}]}}}`, true},
	{"server", serverBootstrap, true},
}

const serverBootstrap = `{"xds_servers":[{` + controlPlane + `}],"node":{"id":"n"},"server_listener_resource_name_template":"l/%s"}`

// xdsProbes are what a program sees of xDS that has no control plane.
func xdsProbes() []probe.Probe {
	out := append(xdsValueProbes, xdsServerProbes...)
	for _, target := range []string{"xds:///x", "xds:x", "xds://", "xds://authority/x"} {
		out = append(out, probe.Probe{Name: "no bootstrap, " + target, Run: func(p *probe.P) {
			_, err := xdsCall(p, target)
			p.Printf("%s", rig.Err(err))
		}})
	}
	for _, b := range bootstraps {
		env := []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + b.config}
		out = append(out, probe.Probe{Name: "bootstrap/" + b.name, Env: env, Run: func(p *probe.P) {
			for _, target := range []string{"xds:///x", "xds://a/x"} {
				state, err := xdsCall(p, target)
				p.Printf("%s: %v %v", target, status.Code(err), state)
			}
			s, err := xds.NewGRPCServer()
			p.Printf("server: %v %v", s != nil, err != nil)
			if s != nil {
				s.Stop()
			}
		}}, probe.Probe{Name: "bootstrap/text/" + b.name, Env: env, Run: func(p *probe.P) {
			if !b.valid {
				_, err := xdsCall(p, "xds:///x")
				p.Printf("%s", strings.Join(strings.Fields(rig.Err(err)), " "))
			}
			_, err := xds.NewGRPCServer()
			p.Printf("%s", strings.Join(strings.Fields(fmt.Sprint(err)), " "))
		}})
	}
	return append(out, probe.Probe{Name: "bootstrap/no file", Env: []string{"GRPC_XDS_BOOTSTRAP=" + filepath.Join("/no", "such", "file")}, Run: func(p *probe.P) {
		state, err := xdsCall(p, "xds:///x")
		p.Printf("%v %v %v", status.Code(err), state, strings.Contains(fmt.Sprint(err), "/no/such/file"))
	}})
}

// xdsCall returns how a call to the target ends, and the channel's state then.
func xdsCall(p *probe.P, target string) (connectivity.State, error) {
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer cc.Close()
	err = cc.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg))
	return cc.GetState(), err
}

var xdsServerProbes = []probe.Probe{
	{Name: "server/no bootstrap", Run: func(p *probe.P) {
		s, err := xds.NewGRPCServer()
		p.Printf("%v %v", s != nil, err)
	}},
	{Name: "server/listener that is not TCP", Env: []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + serverBootstrap}, Run: func(p *probe.P) {
		s, err := xds.NewGRPCServer()
		p.Printf("%v", err)
		l := bufconn.Listen(1)
		p.Printf("%v", s.Serve(l) != nil)
		ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
		defer cancel()
		_, err = l.DialContext(ctx)
		p.Printf("dial: %v", err)
		s.Stop()
	}},
	{Name: "server/without a control plane", Env: []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + serverBootstrap}, Run: func(p *probe.P) {
		modes := make(chan xds.ServingModeChangeArgs, 9)
		s, err := xds.NewGRPCServer(xds.ServingModeCallback(func(_ net.Addr, m xds.ServingModeChangeArgs) { modes <- m }))
		p.Printf("%v", err)
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		for name, info := range s.GetServiceInfo() {
			p.Printf("%s %d", name, len(info.Methods))
		}
		l := rig.Listen()
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		select {
		case m := <-modes:
			p.Printf("%v %v", m.Mode, m.Err != nil)
		case <-probe.Quiet(2 * time.Second):
			p.Printf("no mode")
		}
		cc, _ := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		defer cc.Close()
		ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
		defer cancel()
		err = cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg))
		p.Printf("refused: %v", status.Code(err) != codes.OK)
		s.Stop()
		p.Printf("%s", rig.Err(<-served))
		p.Printf("after Stop: %v", s.Serve(rig.Listen()) != nil)
		s.Stop()
		s.GracefulStop()
	}},
	{Name: "server/register after Serve", Env: []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + serverBootstrap}, Run: func(p *probe.P) {
		s, err := xds.NewGRPCServer(grpc.MaxRecvMsgSize(5), grpc.Creds(insecure.NewCredentials()))
		p.Printf("%v", err)
		s.GracefulStop()
		p.Printf("%d", len(s.GetServiceInfo()))
	}},
}

var xdsValueProbes = []probe.Probe{
	{Name: "credentials without a fallback", Run: func(p *probe.P) {
		c, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{})
		p.Printf("%v %v", c, err)
		c, err = xdscreds.NewServerCredentials(xdscreds.ServerOptions{})
		p.Printf("%v %v", c, err)
	}},
	{Name: "credentials with a fallback", Run: func(p *probe.P) {
		for _, fallback := range []credentials.TransportCredentials{insecure.NewCredentials(), credentials.NewTLS(nil)} {
			client, err := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: fallback})
			p.Printf("%v", err)
			server, err := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: fallback})
			p.Printf("%v", err)
			for _, c := range []credentials.TransportCredentials{client, server} {
				p.Printf("%+v %+v %v", c.Info(), c.Clone().Info(), c.OverrideServerName("x"))
			}
			_, _, err = client.ServerHandshake(nil)
			p.Printf("%v", err)
			_, _, err = server.ClientHandshake(p.Context(), "", nil)
			p.Printf("%v", err)
		}
	}},
	{Name: "credentials that fall back", Run: func(p *probe.P) {
		client, _ := xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: insecure.NewCredentials()})
		server, _ := xdscreds.NewServerCredentials(xdscreds.ServerOptions{FallbackCreds: insecure.NewCredentials()})
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(server)}, Secure: true, Dial: []grpc.DialOption{grpc.WithTransportCredentials(client)}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "credentials of a bootstrap", Run: func(p *probe.P) {
		for _, name := range []string{"insecure", "tls", "google_default", "nope", ""} {
			p.Printf("%q %v", name, bootstrap.GetChannelCredentials(name) != nil)
		}
		for _, name := range []string{"jwt_token_file", "nope"} {
			p.Printf("%q %v", name, bootstrap.GetCallCredentials(name) != nil)
		}
		_, _, err := bootstrap.GetChannelCredentials("insecure").Build(nil)
		p.Printf("%v", err)
		_, _, err = bootstrap.GetChannelCredentials("tls").Build([]byte(`{"ca_certificate_file":5}`))
		p.Printf("%v", err != nil)
		_, _, err = bootstrap.GetCallCredentials("jwt_token_file").Build([]byte(`{}`))
		p.Printf("%v", err != nil)
	}},
}
