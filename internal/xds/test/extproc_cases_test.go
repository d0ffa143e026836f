// SPDX-License-Identifier: Apache-2.0

package test

import (
	"strings"

	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	procfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// processedCase is an RPC that a processor has a hand in.
type processedCase struct {
	name     string
	change   func(*procfilterv3.ExternalProcessor)
	route    func(*routev3.Route)
	filter   func(*hcmv3.HttpFilter)
	features string // of the control plane
	script   func(*conversation) error
	rpc      processedRPC
	// nack is a part of why the Listener or the routes are refused.
	nack string
	// chance decides what the processor sees.
	chance bool
	// differs says what the published module does, and want how it ends here.
	differs, want string
}

// echoAll answers all events without a change.
func echoAll(c *conversation) error {
	for {
		r, err := c.next()
		if err != nil {
			return nil //nolint:nilerr // the client has finished
		}
		if err := c.same(r); err != nil {
			return err
		}
	}
}

// changing answers with what f makes of the answer without a change; nil: with nothing.
func changing(f func(*procv3.ProcessingRequest, *procv3.ProcessingResponse) *procv3.ProcessingResponse) func(*conversation) error {
	return func(c *conversation) error {
		for {
			r, err := c.next()
			if err != nil {
				return nil //nolint:nilerr // the client has finished
			}
			if a := f(r, unchanged(r)); a != nil {
				if err := c.Send(a); err != nil {
					return err
				}
			}
		}
	}
}

// setting is a header to set.
func setting(name, value string, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, Value: value}, AppendAction: action}
}

// mutating answers request headers, response headers and trailers with a change of them.
func mutating(m *procv3.HeaderMutation) func(*conversation) error {
	return changing(func(_ *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
		switch a := a.GetResponse().(type) {
		case *procv3.ProcessingResponse_RequestHeaders:
			a.RequestHeaders.Response = &procv3.CommonResponse{HeaderMutation: m}
		case *procv3.ProcessingResponse_ResponseHeaders:
			a.ResponseHeaders.Response = &procv3.CommonResponse{HeaderMutation: m}
		case *procv3.ProcessingResponse_ResponseTrailers:
			a.ResponseTrailers.HeaderMutation = m
		}
		return a
	})
}

func immediate(code codes.Code, details string) *procv3.ProcessingResponse {
	return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &procv3.ImmediateResponse{
		GrpcStatus: &procv3.GrpcStatus{Status: uint32(code)}, Details: details,
		Headers: &procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("x-immediate", "i", 0)}},
	}}}
}

// at answers events of a kind with an answer of another kind.
func at(kind string, answer *procv3.ProcessingResponse) func(*conversation) error {
	return changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
		if strings.HasPrefix(describe(r), kind) {
			return answer
		}
		return a
	})
}

// ending ends its stream at an event of a kind.
func ending(kind string, err error) func(*conversation) error {
	return func(c *conversation) error {
		for {
			r, nextErr := c.next()
			if nextErr != nil {
				return nil //nolint:nilerr // the client has finished
			}
			if strings.HasPrefix(describe(r), kind) {
				return err
			}
			if err := c.same(r); err != nil {
				return err
			}
		}
	}
}

var (
	aStream = processedRPC{Method: "/s/Stream", Send: []string{"a", "b"}, Headers: []string{"x-a", "1"}, Seconds: 2}
	aUnary  = processedRPC{Method: "/s/Unary", Unary: true, Send: []string{"a"}, Headers: []string{"x-a", "1"}, Seconds: 2}
	aFail   = processedRPC{Method: "/s/Fails", Unary: true, Send: []string{"a"}, Seconds: 2}
	broken  = status.Error(codes.DataLoss, "broken")
)

func withMode(change func(*procfilterv3.ProcessingMode)) func(*procfilterv3.ExternalProcessor) {
	return func(c *procfilterv3.ExternalProcessor) { change(c.ProcessingMode) }
}

// onlyHeaders is the mode that is the default.
var onlyHeaders = func(c *procfilterv3.ExternalProcessor) { c.ProcessingMode = &procfilterv3.ProcessingMode{} }

func allowFailure(c *procfilterv3.ExternalProcessor) { c.FailureModeAllow = true }

func both(list ...func(*procfilterv3.ExternalProcessor)) func(*procfilterv3.ExternalProcessor) {
	return func(c *procfilterv3.ExternalProcessor) {
		for _, f := range list {
			f(c)
		}
	}
}

func overriding(o *procfilterv3.ExtProcOverrides) func(*routev3.Route) {
	return func(r *routev3.Route) {
		r.TypedPerFilterConfig = map[string]*anypb.Any{"proc": mustAny(&procfilterv3.ExtProcPerRoute{
			Override: &procfilterv3.ExtProcPerRoute_Overrides{Overrides: o},
		})}
	}
}

func withRules(r *rulesv3.HeaderMutationRules) func(*procfilterv3.ExternalProcessor) {
	return func(c *procfilterv3.ExternalProcessor) { c.MutationRules = r }
}

var yes = wrapperspb.Bool(true)

// someChanges sets and removes headers in all ways.
var someChanges = &procv3.HeaderMutation{
	SetHeaders: []*corev3.HeaderValueOption{
		setting("x-a", "2", corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD),
		setting("x-b", "3", corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD),
		setting("x-b", "4", corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD),
		setting("x-b", "5", corev3.HeaderValueOption_ADD_IF_ABSENT),
		setting("x-c", "6", corev3.HeaderValueOption_OVERWRITE_IF_EXISTS),
		setting("x-d", "7", corev3.HeaderValueOption_ADD_IF_ABSENT),
		{Header: &corev3.HeaderValue{Key: "x-kept"}, KeepEmptyValue: true},
		{Header: &corev3.HeaderValue{Key: "x-raw-bin", RawValue: []byte("v")}},
	},
	RemoveHeaders: []string{"x-header", "x-trailer", "x-gone"},
}

func processedCases() []processedCase {
	list := flowCases()
	list = append(list, headerCases()...)
	list = append(list, endCases()...)
	list = append(list, faultCases()...)
	return append(list, configCases()...)
}

func flowCases() []processedCase {
	return []processedCase{
		{name: "stream", script: echoAll, rpc: aStream},
		{name: "unary", script: echoAll, rpc: aUnary},
		{name: "only headers", script: echoAll, change: onlyHeaders, rpc: aStream},
		{name: "only headers, unary", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it shows no headers of the responses of unary RPCs", script: echoAll, change: onlyHeaders, rpc: aUnary},
		{name: "no headers", script: echoAll, rpc: aStream, change: withMode(func(m *procfilterv3.ProcessingMode) {
			m.RequestHeaderMode, m.ResponseHeaderMode = procfilterv3.ProcessingMode_SKIP, procfilterv3.ProcessingMode_SKIP
		})},
		{name: "only requests", script: echoAll, rpc: aStream, change: withMode(func(m *procfilterv3.ProcessingMode) {
			m.ResponseBodyMode, m.ResponseTrailerMode = procfilterv3.ProcessingMode_NONE, procfilterv3.ProcessingMode_SKIP
		})},
		{name: "only responses", script: echoAll, rpc: aStream, change: withMode(func(m *procfilterv3.ProcessingMode) {
			m.RequestBodyMode, m.RequestHeaderMode = procfilterv3.ProcessingMode_NONE, procfilterv3.ProcessingMode_SKIP
		})},
		{name: "nothing", script: echoAll, rpc: aStream, change: func(c *procfilterv3.ExternalProcessor) {
			c.ProcessingMode = &procfilterv3.ProcessingMode{RequestHeaderMode: procfilterv3.ProcessingMode_SKIP, ResponseHeaderMode: procfilterv3.ProcessingMode_SKIP}
		}},
		{name: "trailers only", want: "NotFound", differs: "the RPC ends with Unknown: EOF, but for chance", script: echoAll, rpc: aFail},
		{name: "trailers only, only headers", script: echoAll, rpc: aFail, change: onlyHeaders},
		{name: "no message", want: `OK {x-header=h} {x-trailer=t} []`, differs: "it waits for ever", script: echoAll, rpc: processedRPC{Method: "/s/Stream", Seconds: 2}},
		{name: "messages changed", rpc: aStream, script: changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
			switch e := r.GetRequest().(type) {
			case *procv3.ProcessingRequest_RequestBody:
				if !e.RequestBody.GetEndOfStreamWithoutMessage() {
					return requestBody(&procv3.StreamedBodyResponse{Body: message("new")})
				}
			case *procv3.ProcessingRequest_ResponseBody:
				return responseBody(&procv3.StreamedBodyResponse{Body: message("other")})
			}
			return a
		})},
		{name: "messages dropped", rpc: aStream, script: changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
			if strings.Contains(describe(r), `"a"`) || strings.Contains(describe(r), `"echo b"`) {
				return nil
			}
			return a
		})},
		{name: "messages added", rpc: aStream, script: func(c *conversation) error {
			for {
				r, err := c.next()
				if err != nil {
					return nil //nolint:nilerr // the client has finished
				}
				if err := c.same(r); err != nil {
					return err
				}
				if strings.Contains(describe(r), `request "a"`) {
					if err := c.Send(requestBody(&procv3.StreamedBodyResponse{Body: message("more")})); err != nil {
						return err
					}
				}
			}
		}},
		{name: "the end comes early", rpc: aStream, script: changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
			if strings.Contains(describe(r), `request "a"`) {
				return requestBody(&procv3.StreamedBodyResponse{Body: message("a"), EndOfStream: true})
			}
			if strings.HasPrefix(describe(r), "request \"") {
				return nil
			}
			return a
		})},
		{name: "headers after the message", rpc: aUnary, script: func(c *conversation) error {
			first, err := c.next()
			if err != nil {
				return err
			}
			second, err := c.next()
			if err != nil {
				return err
			}
			if err := c.same(first); err != nil {
				return err
			}
			if err := c.same(second); err != nil {
				return err
			}
			return echoAll(c)
		}},
		{name: "observed", chance: true, rpc: aStream, script: func(c *conversation) error {
			for {
				if _, err := c.next(); err != nil {
					return nil //nolint:nilerr // the client has finished
				}
			}
		}, change: func(c *procfilterv3.ExternalProcessor) { c.ObservabilityMode = true }},
		{name: "observed, unary", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it shows nothing of the responses of unary RPCs", rpc: aUnary, script: func(c *conversation) error {
			for {
				if _, err := c.next(); err != nil {
					return nil //nolint:nilerr // the client has finished
				}
			}
		}, change: func(c *procfilterv3.ExternalProcessor) { c.ObservabilityMode = true }},
	}
}

func headerCases() []processedCase {
	return []processedCase{
		{name: "headers changed", script: mutating(someChanges), rpc: aStream},
		{name: "raw values", want: `OK {x-bin=v x-both=v x-header=h x-raw=r x-seen-a=1 x-seen-bin=v x-seen-both=v x-seen-raw=r} {x-bin=v x-both=v x-raw=r x-trailer=t} ["echo a" "echo b"]`, differs: "what is in the other field is lost", rpc: aStream, script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{
			{Header: &corev3.HeaderValue{Key: "x-raw", RawValue: []byte("r")}},
			{Header: &corev3.HeaderValue{Key: "x-both", Value: "v", RawValue: []byte("r")}},
			{Header: &corev3.HeaderValue{Key: "x-bin", Value: "v"}},
		}})},
		{name: "host", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC; by A92 such an entry is ignored", rpc: aUnary, script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("host", "h", 0)}})},
		{name: "a path", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC; by A92 such an entry is ignored", rpc: aUnary, script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting(":path", "h", 0)}})},
		{name: "removed and set", rpc: aStream, script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("x-a", "h", 0)}, RemoveHeaders: []string{"x-a"}})},
		{
			name: "an empty value", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a" "echo b"]`, differs: "it keeps empty values", rpc: aStream,
			script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("x-empty", "", 0)}}),
		},
		{name: "some not allowed", script: mutating(someChanges), rpc: aStream, change: withRules(&rulesv3.HeaderMutationRules{
			AllowExpression: &matcherv3.RegexMatcher{Regex: "x-[ab]"}, DisallowExpression: &matcherv3.RegexMatcher{Regex: ".*b"},
		})},
		{name: "broken at headers, only headers, allowed", script: ending("request headers", broken), rpc: aStream, change: both(allowFailure, onlyHeaders)},
		{name: "a fault, only headers, allowed", rpc: aStream, change: both(allowFailure, onlyHeaders), script: at("request headers", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestTrailers{}})},
		{name: "an upper-case name", script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("X-Up", "1", 0)}}), rpc: aUnary},
		{name: "an empty name", script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("", "1", 0)}}), rpc: aUnary},
		{name: "a long value", script: mutating(&procv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{setting("x-long", strings.Repeat("a", 16385), 0)}}), rpc: aUnary},
		{name: "none allowed", script: mutating(someChanges), rpc: aStream, change: withRules(&rulesv3.HeaderMutationRules{DisallowAll: yes})},
		{name: "some allowed", script: mutating(someChanges), rpc: aStream, change: withRules(&rulesv3.HeaderMutationRules{
			DisallowAll: yes, AllowExpression: &matcherv3.RegexMatcher{Regex: "x-[ab]"}, DisallowExpression: &matcherv3.RegexMatcher{Regex: ".*b"},
		})},
		{name: "an expression alone", script: mutating(someChanges), rpc: aStream, change: withRules(&rulesv3.HeaderMutationRules{
			AllowExpression: &matcherv3.RegexMatcher{Regex: "x-a"},
		})},
		{name: "part of a name", script: mutating(someChanges), rpc: aStream, change: withRules(&rulesv3.HeaderMutationRules{
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "x-"},
		})},
		{name: "not allowed is an error", script: mutating(someChanges), rpc: aUnary, change: withRules(&rulesv3.HeaderMutationRules{
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "x-b"}, DisallowIsError: yes,
		})},
		{name: "not allowed is an error, failure is allowed", script: mutating(someChanges), rpc: aUnary, change: both(allowFailure, withRules(&rulesv3.HeaderMutationRules{
			DisallowExpression: &matcherv3.RegexMatcher{Regex: "x-b"}, DisallowIsError: yes,
		}))},
		{name: "some forwarded", script: echoAll, change: func(c *procfilterv3.ExternalProcessor) {
			c.ForwardRules = &procfilterv3.HeaderForwardingRules{
				AllowedHeaders:    &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "x-"}}}},
				DisallowedHeaders: &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "x-b"}}}},
			}
		}, rpc: processedRPC{Method: "/s/Unary", Unary: true, Send: []string{"a"}, Headers: []string{"x-a", "1", "x-a", "2", "x-b", "3", "y-c", "4", "x-c-bin", "\x01"}}},
		{name: "attributes", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "only its first event has them; by A93 each has", script: echoAll, rpc: aUnary, change: func(c *procfilterv3.ExternalProcessor) {
			c.RequestAttributes = []string{"request.path", "request.host", "request.method", "request.url_path", "request.query", "request.headers", "request.useragent", "nonsense"}
			c.ResponseAttributes = []string{"request.path"}
		}},
		{name: "initial metadata", script: echoAll, rpc: aUnary, change: func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService.InitialMetadata = []*corev3.HeaderValue{{Key: "x-initial", Value: "i"}}
		}},
	}
}

func endCases() []processedCase {
	return []processedCase{
		{name: "immediate at headers", script: at("request headers", immediate(codes.PermissionDenied, "no")), rpc: aUnary},
		{name: "immediate at headers, stream", script: at("request headers", immediate(codes.PermissionDenied, "no")), rpc: aStream},
		{name: "immediate at a message", script: at("request \"", immediate(codes.PermissionDenied, "no")), rpc: aStream},
		{name: "immediate at response headers", script: at("response headers", immediate(codes.PermissionDenied, "no")), rpc: aStream},
		{name: "immediate at trailers", script: at("trailers", immediate(codes.PermissionDenied, "no")), rpc: aStream},
		{name: "immediate OK at headers", want: `Internal`, differs: "it panics", script: at("request headers", immediate(codes.OK, "")), rpc: aStream},
		{name: "immediate is disabled", script: at("request headers", immediate(codes.PermissionDenied, "no")), rpc: aUnary, change: func(c *procfilterv3.ExternalProcessor) {
			c.DisableImmediateResponse = true
		}},
		{name: "OK at headers", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it waits for ever", script: ending("request headers", nil), rpc: aUnary, change: onlyHeaders},
		{name: "OK at response headers", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it shows no headers of the responses of unary RPCs", script: ending("response headers", nil), rpc: aUnary, change: onlyHeaders},
		{name: "OK at the message", want: `Internal`, differs: "it waits for ever", script: ending("request \"", nil), rpc: aUnary},
		{name: "OK at trailers", script: ending("trailers", nil), rpc: aUnary},
		{name: "broken at headers", script: ending("request headers", broken), rpc: aUnary},
		{name: "broken at headers, allowed", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC, though a failure is allowed, once the stream has begun", script: ending("request headers", broken), rpc: aUnary, change: allowFailure},
		{name: "broken at the message, allowed", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC, though a failure is allowed, once the stream has begun", script: ending("request \"", broken), rpc: aUnary, change: allowFailure},
		{name: "broken at response headers", script: ending("response headers", broken), rpc: aUnary},
		{name: "broken at trailers", script: ending("trailers", broken), rpc: aStream},
		{name: "broken at trailers, allowed", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a" "echo b"]`, differs: "it fails the RPC, though a failure is allowed, once the stream has begun", script: ending("trailers", broken), rpc: aStream, change: allowFailure},
		{name: "late", want: "DeadlineExceeded", differs: "now and then it is Internal", rpc: aUnary, script: func(c *conversation) error {
			if _, err := c.next(); err != nil {
				return err
			}
			<-c.Context().Done()
			return nil
		}},
		{name: "a deadline of its own", rpc: aUnary, script: func(c *conversation) error {
			if _, err := c.next(); err != nil {
				return err
			}
			<-c.Context().Done()
			return nil
		}, change: func(c *procfilterv3.ExternalProcessor) { c.GrpcService.Timeout = durationpb.New(100e6) }},
		{name: "nobody there", rpc: aUnary, script: echoAll, change: func(c *procfilterv3.ExternalProcessor) { c.GrpcService = grpcService("passthrough:///127.0.0.1:1") }},
		{name: "nobody there, allowed", rpc: aUnary, script: echoAll, change: both(allowFailure, func(c *procfilterv3.ExternalProcessor) {
			c.GrpcService = grpcService("passthrough:///127.0.0.1:1")
		})},
		{name: "drained", chance: true, rpc: aStream, script: changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
			a.RequestDrain = strings.HasPrefix(describe(r), "request headers")
			return a
		})},
		{name: "mode overridden", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a" "echo b"]`, differs: "it overrides nothing", rpc: aStream, script: overridingMode, change: func(c *procfilterv3.ExternalProcessor) { c.AllowModeOverride = true }},
		{name: "mode overridden, not allowed", rpc: aStream, script: overridingMode},
		{name: "mode overridden, not among the allowed", rpc: aStream, script: overridingMode, change: func(c *procfilterv3.ExternalProcessor) {
			c.AllowModeOverride, c.AllowedOverrideModes = true, []*procfilterv3.ProcessingMode{wholeMode()}
		}},
	}
}

// overridingMode wants no messages.
func overridingMode(c *conversation) error {
	return changing(func(r *procv3.ProcessingRequest, a *procv3.ProcessingResponse) *procv3.ProcessingResponse {
		if strings.HasPrefix(describe(r), "request headers") {
			a.ModeOverride = &procfilterv3.ProcessingMode{ResponseTrailerMode: procfilterv3.ProcessingMode_SKIP}
		}
		return a
	})(c)
}

func faultCases() []processedCase {
	replace := &procv3.CommonResponse{Status: procv3.CommonResponse_CONTINUE_AND_REPLACE}
	return []processedCase{
		{name: "headers replaced", rpc: aUnary, script: at("request headers", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestHeaders{RequestHeaders: &procv3.HeadersResponse{Response: replace}}})},
		{name: "message replaced", rpc: aUnary, script: at("request \"", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{RequestBody: &procv3.BodyResponse{Response: replace}}})},
		{name: "a plain body", rpc: aUnary, script: at("request \"", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{RequestBody: &procv3.BodyResponse{Response: &procv3.CommonResponse{
			BodyMutation: &procv3.BodyMutation{Mutation: &procv3.BodyMutation_Body{Body: message("x")}},
		}}}})},
		{name: "no body", rpc: aUnary, script: at("request \"", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{RequestBody: &procv3.BodyResponse{}}})},
		{name: "a compressed message", rpc: aUnary, script: at("request \"", requestBody(&procv3.StreamedBodyResponse{Body: message("x"), EndOfStream: true, GrpcMessageCompressed: true}))},
		{name: "the end in a response", rpc: aUnary, script: at("response \"", responseBody(&procv3.StreamedBodyResponse{Body: message("x"), EndOfStream: true}))},
		{name: "a message before headers", rpc: aUnary, script: at("request headers", requestBody(&procv3.StreamedBodyResponse{Body: message("x")}))},
		{name: "a message that is not wanted", want: `Internal`, differs: "it looks at no answer of which a unary RPC needs nothing", rpc: aUnary, change: onlyHeaders, script: at("response headers", requestBody(&procv3.StreamedBodyResponse{Body: message("x")}))},
		{name: "trailers too early", rpc: aUnary, script: at("request headers", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseTrailers{}})},
		{name: "headers twice", want: `Internal`, differs: "it waits for ever", rpc: aUnary, script: at("request \"", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestHeaders{}})},
		{name: "request trailers", rpc: aUnary, script: at("request headers", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestTrailers{}})},
		{name: "an empty answer", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC; there are answers that say nothing but how much may be sent", rpc: aUnary, script: func(c *conversation) error {
			_ = c.Send(&procv3.ProcessingResponse{})
			return echoAll(c)
		}},
		{name: "no such message", rpc: aUnary, script: at("request \"", requestBody(&procv3.StreamedBodyResponse{Body: []byte("\xff"), EndOfStream: true}))},
		{name: "no such response", want: `Internal`, differs: "its code is Unknown", rpc: aUnary, script: at("response \"", responseBody(&procv3.StreamedBodyResponse{Body: []byte("\xff")}))},
		{name: "two responses", rpc: aUnary, script: func(c *conversation) error {
			for {
				r, err := c.next()
				if err != nil {
					return nil //nolint:nilerr // the client has finished
				}
				if err := c.same(r); err != nil {
					return err
				}
				if strings.HasPrefix(describe(r), "response \"") {
					if err := c.same(r); err != nil {
						return err
					}
				}
			}
		}},
		{name: "a fault, allowed", want: `OK {x-header=h x-seen-a=1} {x-trailer=t} ["echo a"]`, differs: "it fails the RPC, though a failure is allowed, once the stream has begun", rpc: aUnary, change: allowFailure, script: at("request headers", &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestTrailers{}})},
	}
}
