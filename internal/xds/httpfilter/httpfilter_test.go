// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"reflect"
	"strings"
	"testing"
	"time"

	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// message makes one of its text form.
func message(t testing.TB, m proto.Message, text string) Message {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return Message{Type: string(m.ProtoReflect().Descriptor().FullName()), Raw: raw}
}

func TestA33Config(t *testing.T) {
	parse := func(text string) (*FaultConfig, error) {
		c, err := Fault{}.Parse(message(t, &faultv3.HTTPFault{}, text))
		if err != nil {
			return nil, err
		}
		return c.(*FaultConfig), nil
	}
	for text, want := range map[string]FaultConfig{
		``:                               {MaxActive: 1<<32 - 1},
		`max_active_faults { value: 3 }`: {MaxActive: 3},
		`max_active_faults {} delay { percentage { numerator: 20 } fixed_delay { seconds: 2 } }`:               {Delay: &FaultDelay{Share: 200_000, Delay: 2 * time.Second, Per: 100}},
		`max_active_faults {} delay { percentage { numerator: 5 denominator: TEN_THOUSAND } header_delay {} }`: {Delay: &FaultDelay{Share: 500, ByHeader: true, Per: 10_000}},
		`max_active_faults {} abort { percentage { numerator: 7 denominator: MILLION } grpc_status: 5 }`:       {Abort: &FaultAbort{Share: 7, Code: codes.NotFound, Per: 1_000_000}},
		`max_active_faults {} abort { percentage { numerator: 100 } http_status: 503 }`:                        {Abort: &FaultAbort{Share: 1_000_000, Code: codes.Unavailable, Per: 100}},
		`max_active_faults {} abort { percentage { numerator: 100 } http_status: 200 }`:                        {Abort: &FaultAbort{Share: 1_000_000, Code: codes.Unknown, Per: 100}},
		`max_active_faults {} abort { header_abort {} }`:                                                       {Abort: &FaultAbort{ByHeader: true, Per: 100}},
	} {
		if got, err := parse(text); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`delay {}`:                              "delay: fault_delay_secifier",
		`delay { fixed_delay { seconds: -1 } }`: "delay: fixed_delay",
		`delay { percentage { denominator: 7 } fixed_delay { seconds: 1 } }`: "delay: percentage",
		`abort {}`:                   "abort: error_type",
		`abort { http_status: 199 }`: "abort: http_status",
		`abort { http_status: 600 }`: "abort: http_status",
		`abort { grpc_status: 17 }`:  "abort: grpc_status",
		`abort { percentage { denominator: 7 } grpc_status: 1 }`: "abort: percentage",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestA41Config(t *testing.T) {
	const deny = `rules { action: DENY policies { key: "p" value { permissions { any: true } principals { any: true } } } }`
	c, err := RBAC{}.Parse(message(t, &rbacv3.RBAC{}, deny))
	if err != nil || c.(*RBACConfig).Policy == nil {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{``, `shadow_rules { action: DENY }`} {
		if c, err := (RBAC{}).Parse(message(t, &rbacv3.RBAC{}, text)); err != nil || c.(*RBACConfig).Policy != nil {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	if c, err := (RBAC{}).ParseOverride(message(t, &rbacv3.RBACPerRoute{}, `rbac { `+deny+` }`)); err != nil || c.(*RBACConfig).Policy == nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := (RBAC{}).ParseOverride(message(t, &rbacv3.RBACPerRoute{}, ``)); err != nil || c.(*RBACConfig).Policy != nil {
		t.Errorf("%+v, %v", c, err)
	}
	// Each message has its place.
	if _, err := (RBAC{}).ParseOverride(message(t, &rbacv3.RBAC{}, deny)); err == nil {
		t.Error("a filter's message in place of an override's")
	}
	if _, err := (RBAC{}).Parse(message(t, &rbacv3.RBACPerRoute{}, ``)); err == nil {
		t.Error("an override's message in place of a filter's")
	}
	if _, err := (RBAC{}).Parse(message(t, &rbacv3.RBAC{}, `rules { policies { key: "p" value { permissions { any: true } principals { any: true } condition {} } } }`)); err == nil {
		t.Error("a condition is accepted")
	}
}

func FuzzFault(f *testing.F) {
	f.Add(message(f, &faultv3.HTTPFault{}, `delay { fixed_delay { seconds: 2 } } abort { grpc_status: 5 }`).Raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = Fault{}.Parse(Message{Type: "envoy.extensions.filters.http.fault.v3.HTTPFault", Raw: raw})
		_, _ = RBAC{}.Parse(Message{Type: rbacType, Raw: raw})
		_, _ = RBAC{}.ParseOverride(Message{Type: rbacRouteType, Raw: raw})
	})
}
