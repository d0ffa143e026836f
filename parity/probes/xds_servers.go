// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3" // a text of a listener names it
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Texts of a server's Listener. ADDR and PORT stand for where the server listens.
const (
	typeOf      = "type.googleapis.com/envoy."
	serverAt    = `name: "server/ADDR" address { socket_address { address: "127.0.0.1" port_value: PORT } } `
	serverHosts = `virtual_hosts { domains: "*" routes { match { prefix: "" } non_forwarding_action {} } } `
	serverRoute = `route_config { name: "own" ` + serverHosts + `} `
	routerText  = `http_filters { name: "router" typed_config { [` + typeOf + `extensions.filters.http.router.v3.Router] {} } } `
)

// managerText is the network filter of a chain, with the fields of its manager.
func managerText(fields string) string {
	return `filters { name: "m" typed_config { [` + typeOf + `extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] { ` + fields + ` } } } `
}

// chainText is a filter chain with the fields, beside the usual manager.
func chainText(fields string) string {
	return `filter_chains { ` + fields + managerText(serverRoute+routerText) + `} `
}

// chainOf is a filter chain whose manager has the fields.
func chainOf(manager string) string { return `filter_chains { ` + managerText(manager) + `} ` }

// serverListeners are what a control plane may say to a server, by name.
var serverListeners = map[string]string{
	"as it is":            serverAt + chainText(""),
	"a default chain":     serverAt + `default_filter_chain { ` + managerText(serverRoute+routerText) + `}`,
	"no chain":            serverAt,
	"an empty chain":      serverAt + `filter_chains {}`,
	"no address":          `name: "server/ADDR" ` + chainText(""),
	"another port":        `name: "server/ADDR" address { socket_address { address: "127.0.0.1" port_value: 1 } } ` + chainText(""),
	"another address":     `name: "server/ADDR" address { socket_address { address: "127.0.0.2" port_value: PORT } } ` + chainText(""),
	"any address":         `name: "server/ADDR" address { socket_address { address: "0.0.0.0" port_value: PORT } } ` + chainText(""),
	"port 0":              `name: "server/ADDR" address { socket_address { address: "127.0.0.1" port_value: 0 } } ` + chainText(""),
	"no port":             `name: "server/ADDR" address { socket_address { address: "127.0.0.1" } } ` + chainText(""),
	"a named port":        `name: "server/ADDR" address { socket_address { address: "127.0.0.1" named_port: "x" } } ` + chainText(""),
	"UDP":                 `name: "server/ADDR" address { socket_address { protocol: UDP address: "127.0.0.1" port_value: PORT } } ` + chainText(""),
	"a pipe":              `name: "server/ADDR" address { pipe { path: "/x" } } ` + chainText(""),
	"use_original_dst":    serverAt + chainText("") + `use_original_dst { value: true }`,
	"listener filters":    serverAt + chainText("") + `listener_filters { name: "x" }`,
	"an ApiListener, too": serverAt + chainText("") + `api_listener {}`,
	"an ApiListener":      `name: "server/ADDR" api_listener {}`,

	"this port":                serverAt + chainText(`filter_chain_match { destination_port { value: PORT } } `),
	"another destination":      serverAt + chainText(`filter_chain_match { prefix_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } } `),
	"this destination":         serverAt + chainText(`filter_chain_match { prefix_ranges { address_prefix: "127.0.0.0" prefix_len { value: 8 } } } `),
	"a bad destination":        serverAt + chainText(`filter_chain_match { prefix_ranges { address_prefix: "x" prefix_len { value: 8 } } } `),
	"a long prefix":            serverAt + chainText(`filter_chain_match { prefix_ranges { address_prefix: "127.0.0.0" prefix_len { value: 99 } } } `),
	"the same host":            serverAt + chainText(`filter_chain_match { source_type: SAME_IP_OR_LOOPBACK } `),
	"from elsewhere":           serverAt + chainText(`filter_chain_match { source_type: EXTERNAL } `),
	"an unknown source type":   serverAt + chainText(`filter_chain_match { source_type: 9 } `),
	"this source":              serverAt + chainText(`filter_chain_match { source_prefix_ranges { address_prefix: "127.0.0.1" prefix_len { value: 32 } } } `),
	"another source":           serverAt + chainText(`filter_chain_match { source_prefix_ranges { address_prefix: "127.0.0.2" prefix_len { value: 32 } } } `),
	"another source port":      serverAt + chainText(`filter_chain_match { source_ports: 1 } `),
	"names of servers":         serverAt + chainText(`filter_chain_match { server_names: "x" } `),
	"application protocols":    serverAt + chainText(`filter_chain_match { application_protocols: "h2" } `),
	"raw_buffer":               serverAt + chainText(`filter_chain_match { transport_protocol: "raw_buffer" } `),
	"tls as the protocol":      serverAt + chainText(`filter_chain_match { transport_protocol: "tls" } `),
	"an address suffix":        serverAt + chainText(`filter_chain_match { address_suffix: "x" } `),
	"two chains alike":         serverAt + chainText("") + chainText(""),
	"two chains by source":     serverAt + chainText(`filter_chain_match { source_ports: 1 } `) + chainText(""),
	"a chain that overlaps":    serverAt + chainText(`filter_chain_match { source_ports: 1 source_ports: 2 } `) + chainText(`filter_chain_match { source_ports: 2 } `),
	"no match, and a default":  serverAt + chainText(`filter_chain_match { source_ports: 1 } `) + `default_filter_chain { ` + managerText(serverRoute+routerText) + `}`,
	"raw_buffer and none":      serverAt + chainText(`filter_chain_match { transport_protocol: "raw_buffer" } `) + chainText(""),
	"a bad chain, and another": serverAt + chainText("") + `filter_chains { filter_chain_match { source_ports: 1 } filters { name: "x" } }`,

	"two managers":              serverAt + `filter_chains { ` + managerText(serverRoute+routerText) + managerText(serverRoute+routerText) + `}`,
	"a network filter before":   serverAt + `filter_chains { filters { name: "x" } ` + managerText(serverRoute+routerText) + `}`,
	"another network filter":    serverAt + `filter_chains { filters { name: "x" typed_config { [` + typeOf + `config.route.v3.RouteConfiguration] {} } } }`,
	"no HTTP filters":           serverAt + chainOf(serverRoute),
	"a filter behind":           serverAt + chainOf(serverRoute+routerText+`http_filters { name: "x" typed_config { [`+typeOf+`extensions.filters.http.rbac.v3.RBAC] {} } }`),
	"two routers":               serverAt + chainOf(serverRoute+routerText+strings.Replace(routerText, `"router"`, `"again"`, 1)),
	"two filters of one name":   serverAt + chainOf(serverRoute+`http_filters { name: "router" typed_config { [`+typeOf+`extensions.filters.http.rbac.v3.RBAC] {} } } `+routerText),
	"a filter of clients":       serverAt + chainOf(serverRoute+`http_filters { name: "fault" typed_config { [`+typeOf+`extensions.filters.http.fault.v3.HTTPFault] {} } } `+routerText),
	"an unknown filter":         serverAt + chainOf(serverRoute+`http_filters { name: "x" typed_config { [`+typeOf+`config.route.v3.RouteConfiguration] {} } } `+routerText),
	"an unknown, optional":      serverAt + chainOf(serverRoute+`http_filters { name: "x" is_optional: true typed_config { [`+typeOf+`config.route.v3.RouteConfiguration] {} } } `+routerText),
	"trusted hops":              serverAt + chainOf(serverRoute+routerText+`xff_num_trusted_hops: 1`),
	"original IPs":              serverAt + chainOf(serverRoute+routerText+`original_ip_detection_extensions { name: "x" }`),
	"the longest stream":        serverAt + chainOf(serverRoute+routerText+`common_http_protocol_options { max_stream_duration { nanos: 1 } }`),
	"no routes":                 serverAt + chainOf(routerText),
	"routes from a file":        serverAt + chainOf(routerText+`rds { route_config_name: "r" config_source { path: "/x" } }`),
	"routes without a name":     serverAt + chainOf(routerText+`rds { config_source { ads {} } }`),
	"routes by RDS":             serverAt + chainOf(routerText+`rds { route_config_name: "r" config_source { ads {} } }`),
	"scoped routes":             serverAt + chainOf(routerText+`scoped_routes {}`),
	"no virtual host":           serverAt + chainOf(routerText+`route_config { name: "own" }`),
	"another host":              serverAt + chainOf(routerText+`route_config { name: "own" `+strings.Replace(serverHosts, `"*"`, `"x"`, 1)+`}`),
	"hosts without domains":     serverAt + chainOf(routerText+`route_config { name: "own" virtual_hosts { name: "x" } }`),
	"no route":                  serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" } }`),
	"a route without an action": serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } } } }`),
	"a forwarding route":        serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } route { cluster: "c" } } } }`),
	"a forwarding route to none": serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*"
		routes { match { path: "/probe.Probe/Bidi" } route {} } routes { match { prefix: "" } non_forwarding_action {} } } }`),
	"a redirection":          serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" routes { match { prefix: "" } redirect {} } } }`),
	"a route for a header":   serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" routes { match { prefix: "" headers { name: "k" exact_match: "v" } } non_forwarding_action {} } } }`),
	"a route with a query":   serverAt + chainOf(routerText+`route_config { virtual_hosts { domains: "*" routes { match { prefix: "" query_parameters { name: "x" } } non_forwarding_action {} } } }`),
	"a transport socket":     serverAt + chainText(`transport_socket { name: "x" } `),
	"a raw transport socket": serverAt + chainText(`transport_socket { name: "x" typed_config { [`+typeOf+`extensions.transport_sockets.raw_buffer.v3.RawBuffer] {} } } `),
}

// xdsServerOf is a server at a control plane that has the resources which the texts say.
type xdsServerOf struct {
	plane *plane.Plane
	addr  string
	cc    *grpc.ClientConn
	modes chan xds.ServingModeChangeArgs
}

// place puts the address of the server into a text.
func (s *xdsServerOf) place(text string) string {
	_, port, _ := net.SplitHostPort(s.addr)
	return strings.NewReplacer("ADDR", s.addr, "PORT", port).Replace(text)
}

// say makes the control plane say this, with routes named "r".
func (s *xdsServerOf) say(listener string, more ...proto.Message) {
	l := new(listenerv3.Listener)
	if err := prototext.Unmarshal([]byte(s.place(listener)), l); err != nil {
		panic(fmt.Sprint("a listener's text: ", err))
	}
	s.plane.Set(append(more, l)...)
}

func startXDSServer(p *probe.P, listener string, more ...proto.Message) *xdsServerOf {
	l := rig.Listen()
	s := &xdsServerOf{plane: plane.Start(p), addr: l.Addr().String(), modes: make(chan xds.ServingModeChangeArgs, 10)}
	s.say(listener, more...)
	srv, err := xds.NewGRPCServer(
		xds.BootstrapContentsForTesting([]byte(s.plane.Bootstrap())),
		xds.ServingModeCallback(func(_ net.Addr, m xds.ServingModeChangeArgs) { s.modes <- m }),
	)
	if err != nil {
		panic(fmt.Sprint("NewGRPCServer: ", err))
	}
	srv.RegisterService(rig.Handlers{}.Desc(), nil)
	go func() { _ = srv.Serve(l) }()
	p.Cleanup(srv.Stop)
	s.cc, err = grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(fmt.Sprint("NewClient: ", err))
	}
	p.Cleanup(func() { _ = s.cc.Close() })
	return s
}

// mode waits for what the server says of its mode.
func (s *xdsServerOf) mode() string {
	select {
	case m := <-s.modes:
		return fmt.Sprintf("%v, error %v", m.Mode, m.Err != nil)
	case <-probe.Quiet(time.Second):
		return "no mode"
	}
}

// call says how a call ends. The text of what never reached a server is that of the connection.
func (s *xdsServerOf) call(p *probe.P, method string, headers ...string) string {
	ctx, cancel := probe.WithTimeout(p.Context(), 2*time.Second)
	defer cancel()
	said := callOf(ctx, s.cc, method, headers...)
	if strings.HasPrefix(said, "Unavailable") && !strings.Contains(said, "the incoming RPC") {
		return status.Code(status.Error(codes.Unavailable, "")).String()
	}
	return said
}

// calls are those that are made of each server.
func (s *xdsServerOf) calls(p *probe.P) {
	probe.Settle(moment) // connections of another mode have ended
	s.cc.ResetConnectBackoff()
	probe.Settle(0) // there is a connection, if there may be one
	p.Printf("unary: %s", s.call(p, rig.Unary, "k", "v"))
	p.Printf("unary, another header: %s", s.call(p, rig.Unary, "k", "w"))
	p.Printf("stream: %s", s.call(p, rig.Bidi))
}

func xdsServingProbes() []probe.Probe {
	var out []probe.Probe
	for name, text := range serverListeners {
		out = append(out, probe.Probe{Name: "server/listener/" + name, Run: func(p *probe.P) {
			s := startXDSServer(p, text, &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{
				Domains: []string{"*"}, Routes: []*routev3.Route{{
					Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: rig.Unary}},
					Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
				}},
			}}})
			p.Printf("%s", s.plane.Verdict(p, "Listener"))
			p.Printf("%s", s.mode())
			s.calls(p)
		}})
	}
	return append(out, xdsServerChanges...)
}

// xdsServerChanges are control planes that change their minds.
var xdsServerChanges = []probe.Probe{
	{Name: "server/change/the listener goes", Limit: 20 * time.Second, Run: func(p *probe.P) {
		s := startXDSServer(p, serverListeners["as it is"])
		p.Printf("%s", s.mode())
		s.calls(p)
		s.plane.Set()
		p.Printf("%s", s.mode())
		s.calls(p)
		s.say(serverListeners["as it is"])
		p.Printf("%s", s.mode())
		s.calls(p)
	}},
	{Name: "server/change/the listener becomes bad", Limit: 20 * time.Second, Run: func(p *probe.P) {
		s := startXDSServer(p, serverListeners["as it is"])
		p.Printf("%s", s.mode())
		s.calls(p)
		s.say(serverListeners["two managers"])
		p.Printf("%s", s.plane.Verdict(p, "Listener"))
		p.Printf("%s", s.mode())
		s.calls(p)
	}},
	{Name: "server/change/the listener becomes good", Limit: 20 * time.Second, Run: func(p *probe.P) {
		s := startXDSServer(p, serverListeners["two managers"])
		p.Printf("%s", s.mode())
		s.calls(p)
		s.say(serverListeners["as it is"])
		p.Printf("%s", s.mode())
		s.calls(p)
	}},
	{Name: "server/change/the policy", Limit: 20 * time.Second, Run: func(p *probe.P) {
		s := startXDSServer(p, serverAt+chainOf(serverRoute+guardText(`rules { action: DENY policies { key: "p" value { permissions { any: true } principals { any: true } } } }`)+routerText))
		p.Printf("%s", s.mode())
		s.calls(p)
		s.say(serverListeners["as it is"])
		probe.Settle(moment)
		s.calls(p)
	}},
	{Name: "server/change/the control plane goes", Limit: 20 * time.Second, Run: func(p *probe.P) {
		s := startXDSServer(p, serverListeners["as it is"])
		p.Printf("%s", s.mode())
		s.plane.Stop()
		p.Printf("%s", s.mode())
		s.calls(p)
	}},
}
