// SPDX-License-Identifier: Apache-2.0

// Package metadata holds what an RPC carries beside its messages: headers and
// trailers, and how they travel in a context.Context.
//
// Keys are kept in lower case. They consist of the digits, a to z, and "-", "_",
// ".". A key that begins with "grpc-" is reserved. A key that ends in "-bin" has
// binary values: any bytes, which the library encodes in base64 on the wire. The
// values of all other keys are printable ASCII (0x20 to 0x7E); see
// PROTOCOL-HTTP2.md, Custom-Metadata.
package metadata

import (
	"fmt"
	"strings"
)

// MD is metadata: each key, in lower case, with its values in order. The methods
// and functions of this package accept keys in any case; who indexes the map
// directly must use lower case. An MD is not safe for concurrent use where one of
// the users writes.
type MD map[string][]string

// New makes an MD of m, with the keys in lower case. Keys of m that differ in case
// only are joined, in no particular order.
func New(m map[string]string) MD {
	md := make(MD, len(m))
	for k, v := range m {
		k = strings.ToLower(k)
		md[k] = append(md[k], v)
	}
	return md
}

// Pairs makes an MD of keys and values in turn. It panics if their number is odd.
func Pairs(kv ...string) MD {
	if len(kv)%2 == 1 {
		panic(fmt.Sprintf("metadata: Pairs got the odd number of input pairs for metadata: %d", len(kv)))
	}
	md := make(MD, len(kv)/2)
	for i := 1; i < len(kv); i += 2 {
		k := strings.ToLower(kv[i-1])
		md[k] = append(md[k], kv[i])
	}
	return md
}

// Join puts several MDs together. The values of a key that more than one has come
// in the order of the arguments. Keys stay as they are. The result shares nothing with the
// arguments.
func Join(mds ...MD) MD {
	joined := MD{}
	for _, md := range mds {
		for k, values := range md {
			joined[k] = append(joined[k], values...)
		}
	}
	return joined
}

// String shows the keys and values of fields that are known to hold no secret, and how
// many others there are: metadata gets into logs, and tokens travel in it.
func (md MD) String() string {
	shown := make(map[string][]string, len(md))
	for k, values := range md {
		if isHarmless(k) {
			shown[k] = values
		}
	}
	s := fmt.Sprint(shown)
	hidden := len(md) - len(shown)
	if hidden == 0 {
		return s
	}
	s = s[:len(s)-1]
	if len(shown) > 0 {
		s += " "
	}
	return fmt.Sprintf("%s<%d redacted>]", s, hidden)
}

// isHarmless says that a field's value is no secret of the application.
func isHarmless(key string) bool {
	switch strings.ToLower(key) {
	case "content-type", "user-agent", "te", "grpc-timeout", "grpc-encoding",
		"grpc-accept-encoding", "grpc-status", "grpc-previous-rpc-attempts",
		"grpc-retry-pushback-ms", "grpc-message-type":
		return true
	}
	return false
}

// Len returns the number of keys.
func (md MD) Len() int { return len(md) }

// Copy returns an MD that shares nothing with md, with the keys as they are.
func (md MD) Copy() MD {
	return MD(copyMap(md, func(k string) string { return k }))
}

// Get returns the values of a key, nil if it has none. The slice is md's own.
func (md MD) Get(key string) []string { return md[strings.ToLower(key)] }

// Set replaces the values of a key. Without values it does nothing: see Delete.
func (md MD) Set(key string, values ...string) {
	if len(values) > 0 {
		md[strings.ToLower(key)] = values
	}
}

// Append adds values to those of a key.
func (md MD) Append(key string, values ...string) {
	if len(values) > 0 {
		key = strings.ToLower(key)
		md[key] = append(md[key], values...)
	}
}

// Delete removes a key with all its values.
func (md MD) Delete(key string) { delete(md, strings.ToLower(key)) }

// DecodeKeyValue returns its arguments: values arrive decoded already.
//
// Deprecated: it has nothing to do any more; use the key and value as they are.
func DecodeKeyValue(k, v string) (string, string, error) { return k, v, nil }

// copyMap gives each key a slice of its own: who keeps one key's values keeps no others.
func copyMap(from map[string][]string, key func(string) string) map[string][]string {
	to := make(map[string][]string, len(from))
	for k, values := range from {
		k = key(k)
		own := append(to[k], values...)
		if own == nil {
			own = []string{}
		}
		to[k] = own
	}
	return to
}
