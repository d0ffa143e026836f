// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The peer can send new values with each RPC, and the provider of metrics keeps each set of labels for ever.
const (
	maxTold  = 4 << 10 // how many bytes an end may send about itself, in base64
	maxLabel = 256     // how many bytes a label may have; names in Kubernetes have up to 253
)

// named has the names of the values that become labels.
var named = map[string]bool{
	"type": true, "canonical_service": true, "workload_name": true, "project_id": true, "location": true,
	"cluster_name": true, "namespace_name": true,
}

// parseTold parses what an end has sent about itself, a google.protobuf.Struct in base64. It returns the values
// that become labels and are not too long, or nil if key can't be parsed. It allocates nothing for other values,
// of which a peer can send any number.
func parseTold(key string) map[string]string {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(key, "=")) // others than Go's ends pad it
	if err != nil {
		return nil
	}
	values := make(map[string]string, len(named))
	ok := eachPart(raw, func(field protowire.Number, entry []byte) bool {
		if field != 1 {
			return true
		}
		name, value, ok := parseEntry(entry)
		if ok && named[string(name)] {
			if ok = utf8.Valid(value); len(value) <= maxLabel {
				values[string(name)] = string(value)
			} else {
				delete(values, string(name))
			}
		}
		return ok
	})
	if !ok {
		return nil
	}
	return values
}

// parseEntry parses an entry of the message's map. It returns the entry's name, and the string of its
// google.protobuf.Value.
func parseEntry(entry []byte) (name, value []byte, ok bool) {
	ok = eachPart(entry, func(field protowire.Number, part []byte) bool {
		switch field {
		case 1:
			name = part
		case 2:
			return eachPart(part, func(kind protowire.Number, text []byte) bool {
				if kind == 3 {
					value = text
				}
				return true
			})
		}
		return true
	})
	return name, value, ok
}

// eachPart calls part for each length-delimited field of message, until part returns false. It returns false if
// part did, or if message can't be parsed.
func eachPart(message []byte, part func(protowire.Number, []byte) bool) bool {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			return false
		}
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			body, _ := protowire.ConsumeBytes(message[tag:n])
			if !part(field, body) {
				return false
			}
		}
		message = message[n:]
	}
	return true
}
