// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestAppendTimeout(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{math.MinInt64, "1n"},
		{-1, "1n"},
		{0, "1n"},
		{1, "1n"},
		{99_999_999, "99999999n"},
		{100_000_000, "100000u"},
		{100_000_001, "100001u"},
		{time.Second, "1000000u"},
		{99_999_999 * time.Microsecond, "99999999u"},
		{99_999_999*time.Microsecond + 1, "100000m"},
		{27 * time.Hour, "97200000m"},
		{99_999_999*time.Millisecond + 1, "100000S"},
		{99_999_999 * time.Second, "99999999S"},
		{99_999_999*time.Second + 1, "1666667M"},
		{math.MaxInt64, "2562048H"},
	}
	for _, tt := range tests {
		if got := string(AppendTimeout([]byte("x"), tt.d)); got != "x"+tt.want {
			t.Errorf("AppendTimeout(%v) = %q, want %q", tt.d, got[1:], tt.want)
		}
	}
}

func TestParseTimeout(t *testing.T) {
	tests := []struct {
		v    string
		want time.Duration
		err  string
	}{
		{"1n", 1, ""},
		{"0n", 0, ""},
		{"00000001S", time.Second, ""},
		{"10u", 10 * time.Microsecond, ""},
		{"3m", 3 * time.Millisecond, ""},
		{"1S", time.Second, ""},
		{"2M", 2 * time.Minute, ""},
		{"5H", 5 * time.Hour, ""},
		{"99999999M", 99_999_999 * time.Minute, ""},
		{"2562047H", 2562047 * time.Hour, ""},
		{"2562048H", math.MaxInt64, ""},
		{"99999999H", math.MaxInt64, ""},
		{"", 0, `transport: timeout string is too short: ""`},
		{"S", 0, "too short"},
		{"123456789S", 0, "too long"},
		{"1", 0, "too short"},
		{"11", 0, "unit is not recognized"},
		{"1s", 0, "unit"},
		{"1h", 0, "unit"},
		{"-1S", 0, "invalid syntax"},
		{"+1S", 0, "invalid syntax"},
		{" 1S", 0, "invalid syntax"},
		{"1.5S", 0, "invalid syntax"},
		{strings.Repeat("1", 100), 0, "..."},
	}
	for _, tt := range tests {
		parsed, err := ParseTimeout(tt.v)
		got := parsed.Duration()
		if got != tt.want || parsed.IsSet() != (tt.err == "") || (err == nil) != (tt.err == "") {
			t.Errorf("ParseTimeout(%q) = %v, %v; want %v, error %q", tt.v, got, err, tt.want, tt.err)
		}
		if err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseTimeout(%q): error %q lacks %q", tt.v, err, tt.err)
		}
	}
}

func TestTimeoutAllocs(t *testing.T) {
	buf := make([]byte, 0, 16)
	atMostAllocs(t, 0, func() {
		buf = AppendTimeout(buf[:0], 1234*time.Millisecond)
		if _, err := ParseTimeout(buf); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzAppendTimeout(f *testing.F) {
	for _, d := range []int64{0, 1, 99_999_999, 100_000_000, int64(time.Hour), math.MaxInt64, math.MinInt64} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		v := AppendTimeout(nil, d)
		parsed, err := ParseTimeout(v)
		if err != nil {
			t.Fatalf("%v is sent as %q: %v", d, v, err)
		}
		got := parsed.Duration()
		if got < max(d, 1) {
			t.Fatalf("%v is sent as %q, which is only %v", d, v, got)
		}
		// A unit is passed over at 8 digits only, so rounding adds less than a part in 10,000.
		if d > 0 && got-d > d/10_000 {
			t.Fatalf("%v is sent as %q, which is %v too long", d, v, got-d)
		}
	})
}

func FuzzParseTimeout(f *testing.F) {
	for _, v := range []string{"1n", "99999999H", "10u", "3m", "1S", "2M", "", "S", "-1S", "123456789S"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, err := ParseTimeout(v)
		fromBytes, errBytes := ParseTimeout([]byte(v))
		if got != fromBytes || (err == nil) != (errBytes == nil) {
			t.Fatalf("%q: %v, %v as a string, %v, %v as bytes", v, got, err, fromBytes, errBytes)
		}
		if got.Duration() < 0 || got.IsSet() != (err == nil) {
			t.Fatalf("%q: %v, %v", v, got.Duration(), err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Fatalf("%q: an error of %d bytes", v, len(err.Error()))
		}
	})
}

func BenchmarkTimeout(b *testing.B) {
	buf := make([]byte, 0, 16)
	for b.Loop() {
		buf = AppendTimeout(buf[:0], 9_999_876_543)
		if _, err := ParseTimeout(buf); err != nil {
			b.Fatal(err)
		}
	}
}
