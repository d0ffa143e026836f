// SPDX-License-Identifier: Apache-2.0

package test

import (
	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	procfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	insecurev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func configCases() []processedCase {
	config := func(name, nack string, change func(*procfilterv3.ExternalProcessor)) processedCase {
		return processedCase{name: name, change: change, script: echoAll, rpc: aUnary, nack: nack}
	}
	return []processedCase{
		config("no service", "grpc_service", func(c *procfilterv3.ExternalProcessor) { c.GrpcService = nil }),
		config("an empty service", "google_grpc", func(c *procfilterv3.ExternalProcessor) { c.GrpcService = &corev3.GrpcService{} }),
		config("Envoy's service", "google_grpc", func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService = &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: "c"}}}
		}),
		config("no target", "target_uri", func(c *procfilterv3.ExternalProcessor) { c.GrpcService = grpcService("") }),
		config("another target", "allowed_grpc_services", func(c *procfilterv3.ExternalProcessor) { c.GrpcService = grpcService("passthrough:///other") }),
		config("no timeout", "timeout", func(c *procfilterv3.ExternalProcessor) { c.GrpcService.Timeout = durationpb.New(0) }),
		config("an invalid timeout", "timeout", func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.Timeout = &durationpb.Duration{Seconds: 1, Nanos: -1}
		}),
		config("metadata for host", "initial_metadata", func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.InitialMetadata = []*corev3.HeaderValue{{Key: "host", Value: "i"}}
		}),
		config("metadata with a bad name", "initial_metadata", func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.InitialMetadata = []*corev3.HeaderValue{{Key: "A b", Value: "i"}}
		}),
		config("metadata with a bad value", "initial_metadata", func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.InitialMetadata = []*corev3.HeaderValue{{Key: "a", Value: "\x01"}}
		}),
		config("no mode", "processing_mode", func(c *procfilterv3.ExternalProcessor) { c.ProcessingMode = nil }),
		config("request body STREAMED", "request_body_mode", withMode(func(m *procfilterv3.ProcessingMode) { m.RequestBodyMode = procfilterv3.ProcessingMode_STREAMED })),
		config("response body BUFFERED", "response_body_mode", withMode(func(m *procfilterv3.ProcessingMode) { m.ResponseBodyMode = procfilterv3.ProcessingMode_BUFFERED })),
		config("no trailers", "response_trailer_mode", withMode(func(m *procfilterv3.ProcessingMode) { m.ResponseTrailerMode = procfilterv3.ProcessingMode_SKIP })),
		config("a bad expression", "mutation_rules", withRules(&rulesv3.HeaderMutationRules{AllowExpression: &matcherv3.RegexMatcher{Regex: "("}})),
		config("a bad pattern", "forward_rules", func(c *procfilterv3.ExternalProcessor) {
			c.ForwardRules = &procfilterv3.HeaderForwardingRules{AllowedHeaders: &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{}}}}
		}),
		{name: "no time to close", want: "Unavailable", differs: "it does not look at it", script: echoAll, rpc: aUnary, change: func(c *procfilterv3.ExternalProcessor) {
			c.DeferredCloseTimeout = durationpb.New(0)
		}},
		config("a bad override mode", "", func(c *procfilterv3.ExternalProcessor) {
			c.AllowModeOverride = true
			c.AllowedOverrideModes = []*procfilterv3.ProcessingMode{{RequestBodyMode: procfilterv3.ProcessingMode_STREAMED}}
		}),
		{name: "a trusted control plane", features: `"trusted_xds_server"`, script: echoAll, rpc: aUnary, change: func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.GetGoogleGrpc().ChannelCredentialsPlugin = []*anypb.Any{mustAny(&corev3.Address{}), mustAny(&insecurev3.InsecureCredentials{})}
		}},
		{name: "a trusted control plane without credentials", features: `"trusted_xds_server"`, script: echoAll, rpc: aUnary, nack: "channel_credentials_plugin"},
		{name: "a route without messages", script: echoAll, rpc: aStream, route: overriding(&procfilterv3.ExtProcOverrides{ProcessingMode: &procfilterv3.ProcessingMode{}})},
		{name: "a route that allows failure", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC, though a failure is allowed, once the stream has begun", script: ending("request headers", broken), rpc: aUnary, route: overriding(&procfilterv3.ExtProcOverrides{FailureModeAllow: yes})},
		{name: "a route with attributes", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "only its first event has them; by A93 each has", script: echoAll, rpc: aUnary, route: overriding(&procfilterv3.ExtProcOverrides{RequestAttributes: []string{"request.path"}})},
		{name: "a route with a bad mode", script: echoAll, rpc: aUnary, nack: "processing_mode", route: overriding(&procfilterv3.ExtProcOverrides{
			ProcessingMode: &procfilterv3.ProcessingMode{RequestBodyMode: procfilterv3.ProcessingMode_STREAMED},
		})},
		{name: "a route with a bad service", script: echoAll, rpc: aUnary, nack: "grpc_service", route: overriding(&procfilterv3.ExtProcOverrides{GrpcService: &corev3.GrpcService{}})},
		{name: "a route that says disabled", script: echoAll, rpc: aUnary, route: func(r *routev3.Route) {
			r.TypedPerFilterConfig = map[string]*anypb.Any{"proc": mustAny(&procfilterv3.ExtProcPerRoute{Override: &procfilterv3.ExtProcPerRoute_Disabled{Disabled: true}})}
		}},
		{name: "a route that is empty", script: echoAll, rpc: aUnary, route: func(r *routev3.Route) {
			r.TypedPerFilterConfig = map[string]*anypb.Any{"proc": mustAny(&procfilterv3.ExtProcPerRoute{})}
		}},
		{name: "a route with the filter's message", script: echoAll, rpc: aUnary, route: func(r *routev3.Route) {
			r.TypedPerFilterConfig = map[string]*anypb.Any{"proc": mustAny(&procfilterv3.ExternalProcessor{})}
		}},
		{name: "a filter that is disabled", script: echoAll, rpc: aUnary, filter: func(f *hcmv3.HttpFilter) { f.Disabled = true }},
		{name: "a route that disables the filter", script: echoAll, rpc: aUnary, route: func(r *routev3.Route) {
			r.TypedPerFilterConfig = map[string]*anypb.Any{"proc": mustAny(&routev3.FilterConfig{Disabled: true, Config: mustAny(&procfilterv3.ExtProcPerRoute{})})}
		}},
	}
}
