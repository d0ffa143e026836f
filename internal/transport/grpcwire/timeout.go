// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// maxTimeoutValue is the largest count that fits the 8 digits of a TimeoutValue.
const maxTimeoutValue = 99_999_999

// timeoutUnits is ordered from fine to coarse.
var timeoutUnits = [...]struct {
	size time.Duration
	name byte
}{
	{time.Nanosecond, 'n'},
	{time.Microsecond, 'u'},
	{time.Millisecond, 'm'},
	{time.Second, 'S'},
	{time.Minute, 'M'},
	{time.Hour, 'H'},
}

// AppendTimeout appends the value of a grpc-timeout field for d, in the finest unit
// whose count has at most 8 digits. It rounds up, so that the server never gives up
// before the client does. A TimeoutValue is positive: d <= 0 is sent as one nanosecond.
func AppendTimeout(dst []byte, d time.Duration) []byte {
	d = max(d, 1)
	for _, unit := range timeoutUnits {
		count := d / unit.size
		if d%unit.size != 0 {
			count++
		}
		if count <= maxTimeoutValue {
			dst = strconv.AppendInt(dst, int64(count), 10)
			return append(dst, unit.name)
		}
	}
	// Not reached: the longest Duration is 2,562,048 hours.
	return append(dst, "99999999H"...)
}

// Timeout is the value of a grpc-timeout field as it was sent, in half the memory of a Duration. The zero
// value means that there is no timeout.
type Timeout uint32

// unitBits is the number of low bits of a Timeout that hold its unit, as an index into timeoutUnits that
// begins at 1. The bits above are the count.
const unitBits = 3

// IsSet reports whether t is a timeout.
func (t Timeout) IsSet() bool { return t != 0 }

// Duration returns how long t is: the longest Duration if t is longer, 0 if there is no timeout.
func (t Timeout) Duration() time.Duration {
	if !t.IsSet() {
		return 0
	}
	unit := timeoutUnits[t&(1<<unitBits-1)-1].size
	count := time.Duration(t >> unitBits)
	if count > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return count * unit
}

// ParseTimeout reads the value of a grpc-timeout field: 1 to 8 digits and a unit. Zero is accepted and
// means that the deadline has passed already. A client that sends a bad value is told the text of the
// error, which is that of the published module.
func ParseTimeout[T Text](v T) (Timeout, error) {
	digits := len(v) - 1
	if digits < 1 {
		return 0, fmt.Errorf("transport: timeout string is too short: %q", clip(v))
	}
	if digits > 8 {
		return 0, fmt.Errorf("transport: timeout string is too long: %q", clip(v))
	}
	unit := unitNumber(v[digits])
	if unit == 0 {
		return 0, fmt.Errorf("transport: timeout unit is not recognized: %q", clip(v))
	}
	var count Timeout
	for i := range digits {
		c := v[i]
		if c < '0' || c > '9' {
			_, err := strconv.ParseUint(string(v[:digits]), 10, 64)
			return 0, err
		}
		count = count*10 + Timeout(c-'0')
	}
	return count<<unitBits | unit, nil
}

// unitNumber returns the place of a unit in timeoutUnits, counted from 1, or 0 if there is no such unit.
func unitNumber(name byte) Timeout {
	for i := range timeoutUnits {
		if timeoutUnits[i].name == name {
			return Timeout(i + 1)
		}
	}
	return 0
}
