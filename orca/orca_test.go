// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"fmt"
	"testing"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// wire is a report as another implementation would write it.
func wire() []byte {
	var b []byte
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendTag(b, field, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, v)
	}
	entry := func(field protowire.Number, key string, v uint64) {
		var e []byte
		e = protowire.AppendTag(e, 1, protowire.BytesType)
		e = protowire.AppendString(e, key)
		e = protowire.AppendTag(e, 2, protowire.Fixed64Type)
		e = protowire.AppendFixed64(e, v)
		b = protowire.AppendTag(b, field, protowire.BytesType)
		b = protowire.AppendBytes(b, e)
	}
	const quarter, half, one, two = 0x3fd0000000000000, 0x3fe0000000000000, 0x3ff0000000000000, 0x4000000000000000
	number(1, quarter)
	number(2, half)
	entry(4, "cost", one)
	entry(5, "disk", half)
	number(6, two)
	number(7, one)
	entry(8, "queue", two)
	number(9, one)
	return b
}

func wireReport() *orcapb.OrcaLoadReport {
	return &orcapb.OrcaLoadReport{
		CpuUtilization:         0.25,
		MemUtilization:         0.5,
		RequestCost:            map[string]float64{"cost": 1},
		Utilization:            map[string]float64{"disk": 0.5},
		RpsFractional:          2,
		Eps:                    1,
		NamedMetrics:           map[string]float64{"queue": 2},
		ApplicationUtilization: 1,
	}
}

func TestTrailers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   *orcapb.OrcaLoadReport
	}{
		{"none", nil, nil},
		{"empty", []string{""}, &orcapb.OrcaLoadReport{}},
		{"all fields", []string{string(wire())}, wireReport()},
		{"two", []string{"", string(wire())}, nil},
		{"not a message", []string{"\xff"}, nil},
	} {
		md := metadata.MD{}
		if tt.values != nil {
			md["endpoint-load-metrics-bin"] = tt.values
		}
		got, ok := loadreport.Parse(md).(*orcapb.OrcaLoadReport)
		if !ok || (got == nil) != (tt.want == nil) || !proto.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzTrailer(f *testing.F) {
	f.Add(string(wire()))
	f.Add("")
	f.Fuzz(func(t *testing.T, value string) {
		report, ok := reportFromTrailer(metadata.MD{trailerKey: []string{value}}).(*orcapb.OrcaLoadReport)
		if valid := proto.Unmarshal([]byte(value), new(orcapb.OrcaLoadReport)) == nil; !ok || (report != nil) != valid {
			t.Errorf("%v, valid %t", report, valid)
		}
	})
}

// TestContextPrints: fmt shows what a handler's context is, and none of its fields, which others write meanwhile.
func TestContextPrints(t *testing.T) {
	if got, want := fmt.Sprint(&callContext{Context: t.Context()}), "context of a gRPC call with load reports"; got != want {
		t.Errorf("it prints as %s, want %s", got, want)
	}
}
