// SPDX-License-Identifier: Apache-2.0

package serviceconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration with the JSON form of google.protobuf.Duration: a string with a
// number of seconds, which has up to nine decimals, and "s" at the end ("1.5s").
type Duration time.Duration

// maxSeconds is the limit of google.protobuf.Duration, about 10,000 years. A value that a
// time.Duration can't hold (above 292 years) becomes the greatest time.Duration.
const maxSeconds = 315_576_000_000

// String returns the JSON form.
func (d Duration) String() string {
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

// MarshalJSON returns String in quotes.
func (d Duration) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(d.String())), nil
}

// UnmarshalJSON accepts the JSON form; null leaves d as it is.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("duration %s: not a string", b)
	}
	parsed, err := parseDuration(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

func parseDuration(text string) (Duration, error) {
	bad := func(why string) (Duration, error) {
		return 0, fmt.Errorf("malformed duration %q: %s", text, why)
	}
	number, ok := strings.CutSuffix(text, "s")
	if !ok {
		return bad("missing seconds unit")
	}
	number, negative := strings.CutPrefix(number, "-")
	if !negative {
		number, _ = strings.CutPrefix(number, "+")
	}
	whole, decimals, _ := strings.Cut(number, ".")
	switch {
	case whole == "" && decimals == "":
		return bad("contains no numbers")
	case len(decimals) > 9:
		return bad("too many digits after decimal")
	case !digits(whole) || !digits(decimals):
		return bad(`want a number of seconds, such as "1.5s"`)
	}
	var seconds, nanos uint64
	if whole != "" {
		var err error
		if seconds, err = strconv.ParseUint(whole, 10, 64); err != nil {
			return bad("value out of range")
		}
	}
	if decimals != "" {
		nanos, _ = strconv.ParseUint((decimals + "000000000")[:9], 10, 64) // nine digits
	}
	if seconds > maxSeconds || seconds == maxSeconds && nanos > 0 {
		return 0, fmt.Errorf("out of range: %q", text)
	}
	// The comparison comes before the multiplication, which could wrap around.
	total := uint64(math.MaxInt64)
	if seconds <= math.MaxInt64/1_000_000_000 {
		total = min(total, seconds*1e9+nanos)
	}
	if negative {
		return -Duration(total), nil
	}
	return Duration(total), nil
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
