// SPDX-License-Identifier: Apache-2.0

package serviceconfig

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
		out  string
	}{
		{"0s", 0, "0s"},
		{"1s", time.Second, "1s"},
		{"-1s", -time.Second, "-1s"},
		{"+1s", time.Second, "1s"},
		{"1.5s", 1500 * time.Millisecond, "1.5s"},
		{"-0.000000001s", -1, "-0.000000001s"},
		{"0.100s", 100 * time.Millisecond, "0.1s"},
		{"10s", 10 * time.Second, "10s"},
		{".5s", time.Second / 2, "0.5s"},
		{"5.s", 5 * time.Second, "5s"},
		{"9223372036s", 9223372036 * time.Second, "9223372036s"},
		{"9223372036.854775807s", math.MaxInt64, "9223372036.854775807s"},
		{"9223372036.854775808s", math.MaxInt64, "9223372036.854775807s"},
		{"9223372037s", math.MaxInt64, "9223372036.854775807s"},
		{"315576000000s", math.MaxInt64, "9223372036.854775807s"},
		{"-315576000000s", -math.MaxInt64, "-9223372036.854775807s"},
	} {
		var d Duration
		if err := json.Unmarshal([]byte(`"`+tt.text+`"`), &d); err != nil || time.Duration(d) != tt.want {
			t.Errorf("%s: %v, %v; want %v", tt.text, time.Duration(d), err, tt.want)
		}
		if b, err := json.Marshal(d); err != nil || string(b) != `"`+tt.out+`"` {
			t.Errorf("%s comes out as %s, %v; want %s", tt.text, b, err, tt.out)
		}
	}
	if got := Duration(math.MinInt64).String(); got != "-9223372036.854775808s" {
		t.Errorf("the least one is %s", got)
	}
}

func TestBadDuration(t *testing.T) {
	for _, js := range []string{
		`""`, `"s"`, `"1"`, `"-s"`, `".s"`, `"1m"`, `"1e3s"`, `"+-1s"`, `"-+1s"`, `"+s"`, `"1.0000000001s"`, `"1.-5s"`, `"--1s"`, `" 1s"`,
		`"315576000000.1s"`, `"99999999999999999999999s"`, `1`, `{}`, `"1,5s"`,
	} {
		d := Duration(7)
		if err := json.Unmarshal([]byte(js), &d); err == nil || d != 7 {
			t.Errorf("%s: %v, %v; want an error and no change", js, d, err)
		}
	}
}

// What protojson accepts, we accept, and read as the same; but for texts without any
// digit (".s"), which it takes for zero.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"0s", "-1.5s", "1.000000001s", "315576000000s", "9223372036.854775807s", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		js, err := json.Marshal(text)
		if err != nil {
			return
		}
		var d Duration
		ours := json.Unmarshal(js, &d)
		if ours == nil {
			var again Duration
			if b, err := json.Marshal(d); err != nil || json.Unmarshal(b, &again) != nil || again != d {
				t.Errorf("%q: %v becomes %v", text, d, again)
			}
		}
		var pb durationpb.Duration
		if protojson.Unmarshal(js, &pb) != nil || !strings.ContainsAny(text, "0123456789") {
			return
		}
		if ours != nil || pb.AsDuration() != time.Duration(d) && pb.AsDuration() != math.MinInt64 {
			t.Errorf("%q: %v, %v; protojson has %v", text, time.Duration(d), ours, pb.AsDuration())
		}
	})
}
