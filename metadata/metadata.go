// SPDX-License-Identifier: Apache-2.0

// Package metadata has the type of the metadata that an RPC carries in addition to its messages, in
// headers and trailers, and functions that put metadata into a context.Context.
//
// Keys are in lower case. They consist of digits, a to z, "-", "_" and ".". Those that begin with "grpc-"
// are reserved. A key that ends in "-bin" has binary values: any bytes, which the library encodes in base64
// on the wire. The values of all other keys are printable ASCII (0x20 to 0x7E); see PROTOCOL-HTTP2.md,
// Custom-Metadata. An RPC of a client with any other key or value fails with codes.Internal. What a server
// sends is read more leniently by most clients, and so may also have UTF-8 and tabs as values.
//
// Entries under names that are the library's, or HTTP/2's, are left out of what is sent, without an error:
// those that begin with ":", the fields of gRPC's call definition and status (such as grpc-timeout, but neither
// grpc-accept-encoding nor grpc-status-details-bin), te,
// content-type, content-length, user-agent, host (of clients), connection, keep-alive, proxy-connection,
// transfer-encoding and upgrade.
package metadata

import (
	"fmt"
	"strings"
)

// MD is metadata. It maps each key, in lower case, to its values in order. The methods and
// functions of this package accept keys in any case; code that indexes the map directly must use
// lower case. Goroutines may read an MD concurrently, but none may use it while another changes it.
type MD map[string][]string

// New returns an MD with the keys of m in lower case, and their values. If keys of m differ only in
// case, the MD has all their values under one key, in no particular order.
func New(m map[string]string) MD {
	md := make(MD, len(m))
	for k, v := range m {
		k = strings.ToLower(k)
		md[k] = append(md[k], v)
	}
	return md
}

// Pairs returns an MD of kv, which has keys and values in turn. It panics if the length of kv is
// odd.
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

// Join returns an MD with the keys and values of all arguments. If several arguments have a key,
// its values are in the order of the arguments. The case of keys does not change. The result shares
// no memory with the arguments.
func Join(mds ...MD) MD {
	joined := MD{}
	for _, md := range mds {
		for k, values := range md {
			joined[k] = append(joined[k], values...)
		}
	}
	return joined
}

// String returns the keys and values of fields that are known to have no secrets, and the number of
// other fields. It hides those because metadata may contain tokens, and programs log it.
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

// isHarmless reports whether the value of a field is never a secret of the application.
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

// Copy returns a copy of md that shares no memory with md. The case of keys does not change.
func (md MD) Copy() MD {
	return MD(copyMap(md, func(k string) string { return k }))
}

// Get returns the values of a key, or nil if it has none. md owns the slice.
func (md MD) Get(key string) []string { return md[strings.ToLower(key)] }

// Set replaces the values of a key. Without values it does nothing; use Delete to remove a key.
func (md MD) Set(key string, values ...string) {
	if len(values) > 0 {
		md[strings.ToLower(key)] = values
	}
}

// Append appends values to those of a key.
func (md MD) Append(key string, values ...string) {
	if len(values) > 0 {
		key = strings.ToLower(key)
		md[key] = append(md[key], values...)
	}
}

// Delete removes a key with all its values.
func (md MD) Delete(key string) { delete(md, strings.ToLower(key)) }

// DecodeKeyValue returns its arguments, as the library has decoded values already.
//
// Deprecated: it has nothing to do any more; use the key and value as they are.
func DecodeKeyValue(k, v string) (string, string, error) { return k, v, nil }

// copyMap copies a map, and converts its keys with key. Each key gets a slice of its own, so that
// keeping one key's values does not keep others in memory.
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
