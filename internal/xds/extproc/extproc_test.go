// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"strings"
	"testing"
	"time"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	_ "google.golang.org/grpc" // its resolvers
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// origin allows target "dns:///a".
func origin(t testing.TB) httpfilter.Origin {
	t.Helper()
	b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"x","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"},
		"allowed_grpc_services":{"dns:///a":{"channel_creds":[{"type":"insecure"}]}}}`), bootstrap.Options{Services: true})
	if err != nil {
		t.Fatal(err)
	}
	return httpfilter.Origin{Bootstrap: b}
}

// message makes one of its text form.
func message(t testing.TB, m proto.Message, text string) httpfilter.Message {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return httpfilter.Message{Type: string(m.ProtoReflect().Descriptor().FullName()), Raw: raw, Origin: origin(t)}
}

const (
	service = `grpc_service { google_grpc { target_uri: "dns:///a" } } `
	usual   = service + `processing_mode {} `
)

func TestA93Config(t *testing.T) {
	for text, ok := range map[string]func(*Config) bool{
		usual: func(c *Config) bool {
			return c.Mode == Mode{Request: RequestMode{Headers: true}, Response: ResponseMode{Headers: true}} && c.Linger == 5*time.Second && c.Service.Target == "dns:///a" &&
				!c.AllowFailure && !c.AllowOverride && !c.Observe && !c.NoImmediateResponse && c.Forward.shows("a")
		},
		service + `processing_mode { request_header_mode: SKIP request_body_mode: GRPC response_header_mode: SEND response_body_mode: GRPC response_trailer_mode: SEND request_trailer_mode: SEND }`: func(c *Config) bool {
			return c.Mode == Mode{Request: RequestMode{Messages: true}, Response: ResponseMode{Headers: true, Messages: true, Trailers: true}}
		},
		usual + `failure_mode_allow: true disable_immediate_response: true observability_mode: true deferred_close_timeout { seconds: 2 }`: func(c *Config) bool {
			return c.AllowFailure && c.NoImmediateResponse && c.Observe && c.Linger == 2*time.Second
		},
		usual + `allow_mode_override: true allowed_override_modes { response_header_mode: SKIP }`: func(c *Config) bool {
			return c.AllowOverride && len(c.Overrides) == 1 && c.Overrides[0] == Mode{}
		},
		usual + `allowed_override_modes { request_body_mode: STREAMED }`: func(c *Config) bool { return c.Restricted && len(c.Overrides) == 0 },
		usual + `forward_rules { allowed_headers { patterns { prefix: "x-" } } disallowed_headers { patterns { exact: "x-a" } } }`: func(c *Config) bool {
			return c.Forward.shows("x-b") && !c.Forward.shows("x-a") && !c.Forward.shows("y")
		},
		usual + `forward_rules { allowed_headers {} }`: func(c *Config) bool { return !c.Forward.shows("x") },
		usual + `request_attributes: "request.path" response_attributes: "request.host"`: func(c *Config) bool {
			return len(c.RequestAttributes) == 1 && len(c.ResponseAttributes) == 1
		},
	} {
		c, err := Kind{}.Parse(message(t, &filterv3.ExternalProcessor{}, text))
		if err != nil || !ok(c.(*Config)) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		`processing_mode {}`: "grpc_service: missing",
		service:              "processing_mode: missing",
		service + `processing_mode { request_body_mode: STREAMED }`:                                        "processing_mode: request_body_mode",
		service + `processing_mode { response_body_mode: BUFFERED response_trailer_mode: SEND }`:           "processing_mode: response_body_mode",
		service + `processing_mode { response_body_mode: GRPC }`:                                           "processing_mode: response_trailer_mode",
		service + `processing_mode { request_header_mode: 7 }`:                                             "processing_mode: request_header_mode",
		usual + `mutation_rules { allow_expression { regex: "(" } }`:                                       "mutation_rules: allow_expression",
		usual + `mutation_rules { disallow_expression { regex: "(" } }`:                                    "mutation_rules: disallow_expression",
		usual + `forward_rules { allowed_headers { patterns {} } }`:                                        "forward_rules: allowed_headers.patterns[0]",
		usual + `forward_rules { disallowed_headers { patterns { exact: "a" } patterns { prefix: "" } } }`: "forward_rules: disallowed_headers.patterns[1]",
		usual + `deferred_close_timeout {}`:                                                                "deferred_close_timeout: 0s",
		usual + `deferred_close_timeout { nanos: -1 }`:                                                     "deferred_close_timeout",
		usual + `deferred_close_timeout { nanos: 2000000000 }`:                                             "deferred_close_timeout",
	} {
		if c, err := (Kind{}).Parse(message(t, &filterv3.ExternalProcessor{}, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, c, err, want)
		}
	}
	if _, err := (Kind{}).Parse(message(t, &filterv3.ExtProcPerRoute{}, ``)); err == nil {
		t.Error("an override's message in place of a filter's")
	}
}

// TestA93OverridesOfRoute: the modes that the external processor may ask for are changes of the route's.
func TestA93OverridesOfRoute(t *testing.T) {
	c, err := Kind{}.Parse(message(t, &filterv3.ExternalProcessor{}, usual+`allow_mode_override: true allowed_override_modes { request_body_mode: GRPC }`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := Kind{}.ParseOverride(message(t, &filterv3.ExtProcPerRoute{}, `overrides { processing_mode { response_header_mode: SKIP } }`))
	if err != nil {
		t.Fatal(err)
	}
	with := c.(*Config).with(o.(*Override))
	asked := &filterv3.ProcessingMode{RequestBodyMode: filterv3.ProcessingMode_GRPC}
	if mode, ok := with.change(with.Mode, asked); !ok || !mode.Request.Messages || mode.Response.Headers {
		t.Errorf("%+v, %t", mode, ok)
	}
}

func TestA93Override(t *testing.T) {
	base, err := Kind{}.Parse(message(t, &filterv3.ExternalProcessor{}, usual+`request_attributes: "a"`))
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]func(*Config) bool{
		``:               func(c *Config) bool { return c.Mode.Request.Headers && c.RequestAttributes[0] == "a" },
		`disabled: true`: func(c *Config) bool { return c.Mode.Request.Headers },
		`overrides { processing_mode { request_header_mode: SKIP } }`:    func(c *Config) bool { return !c.Mode.Request.Headers },
		`overrides { failure_mode_allow { value: true } }`:               func(c *Config) bool { return c.AllowFailure },
		`overrides { failure_mode_allow {} }`:                            func(c *Config) bool { return !c.AllowFailure },
		`overrides { request_attributes: "b" response_attributes: "c" }`: func(c *Config) bool { return c.RequestAttributes[0] == "b" && c.ResponseAttributes[0] == "c" },
		`overrides { ` + service + `}`:                                   func(c *Config) bool { return c.Service.Target == "dns:///a" },
	} {
		o, err := Kind{}.ParseOverride(message(t, &filterv3.ExtProcPerRoute{}, text))
		if err != nil || !ok(base.(*Config).with(o.(*Override))) {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
	for text, want := range map[string]string{
		`overrides { processing_mode { request_body_mode: STREAMED } }`: "overrides.processing_mode: request_body_mode",
		`overrides { grpc_service {} }`:                                 "overrides.grpc_service: google_grpc",
	} {
		if o, err := (Kind{}).ParseOverride(message(t, &filterv3.ExtProcPerRoute{}, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}

func TestA93ModeOverride(t *testing.T) {
	c := &Config{Mode: Mode{Request: RequestMode{Headers: true}, Response: ResponseMode{Headers: true}}}
	skip := &filterv3.ProcessingMode{RequestHeaderMode: filterv3.ProcessingMode_SKIP, ResponseHeaderMode: filterv3.ProcessingMode_SKIP}
	if _, ok := c.change(c.Mode, skip); ok {
		t.Error("changed, which is not allowed")
	}
	c.AllowOverride = true
	if got, ok := c.change(c.Mode, skip); !ok || got != (Mode{Request: RequestMode{Headers: true}}) {
		t.Errorf("%+v, %t", got, ok)
	}
	if _, ok := c.change(c.Mode, nil); ok {
		t.Error("changed, without an override")
	}
	if _, ok := c.change(c.Mode, &filterv3.ProcessingMode{RequestBodyMode: filterv3.ProcessingMode_STREAMED}); ok {
		t.Error("changed to a mode that is not supported")
	}
	c.Restricted, c.Overrides = true, []Mode{{Response: ResponseMode{Trailers: true}}}
	if _, ok := c.change(c.Mode, skip); ok {
		t.Error("changed to a mode that is not among the allowed")
	}
	c.Overrides = append(c.Overrides, Mode{})
	if _, ok := c.change(c.Mode, skip); !ok {
		t.Error("not changed")
	}
}

// TestQueue: who puts more than fits waits, until somebody takes, or the queue is closed.
func TestQueue(t *testing.T) {
	q := newQueue()
	big := item{body: make([]byte, maxQueued)}
	if !q.put(big) {
		t.Fatal("not put")
	}
	done := make(chan bool)
	go func() { done <- q.put(item{last: true}) }()
	if i, ok := q.get(); !ok || len(i.body) != maxQueued {
		t.Error(i, ok)
	}
	if !<-done {
		t.Error("not put")
	}
	q.put(big)
	go func() { done <- q.put(big) }()
	q.close()
	if <-done {
		t.Error("put after close")
	}
	for _, want := range []bool{true, true, false} { // what is there can be had
		if _, ok := q.get(); ok != want {
			t.Errorf("%t, want %t", ok, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	o := origin(f)
	trusted := o
	trusted.Trusted = true
	f.Add(message(f, &filterv3.ExternalProcessor{}, usual).Raw)
	f.Add(message(f, &filterv3.ExternalProcessor{}, service+`processing_mode { request_body_mode: GRPC } allow_mode_override: true allowed_override_modes {} deferred_close_timeout { seconds: 1 }
		mutation_rules { allow_expression { regex: "a" } } forward_rules { allowed_headers { patterns { exact: "x" } } }`).Raw)
	f.Add(message(f, &filterv3.ExtProcPerRoute{}, `overrides { processing_mode {} `+service+`}`).Raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, o := range []httpfilter.Origin{o, trusted, {}} {
			c, err := Kind{}.Parse(httpfilter.Message{Type: filterType, Raw: raw, Origin: o})
			if err == nil && (c.(*Config).Service == nil || c.(*Config).Linger <= 0) {
				t.Errorf("%+v", c)
			}
			_, _ = Kind{}.ParseOverride(httpfilter.Message{Type: routeType, Raw: raw, Origin: o})
		}
	})
}
