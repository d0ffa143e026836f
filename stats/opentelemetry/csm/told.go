// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"encoding/base64"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// It is the peer who tells, with each RPC, and the provider of metrics keeps each set of labels for ever.
const (
	maxTold  = 4 << 10 // bytes that an end may tell of itself, in base64
	maxLabel = 256     // bytes of a label: names of Kubernetes have up to 253
)

// named are the values that labels are made of.
var named = map[string]bool{
	"type": true, "canonical_service": true, "workload_name": true, "project_id": true, "location": true,
	"cluster_name": true, "namespace_name": true,
}

// parseTold reads what an end tells of itself: a google.protobuf.Struct. It returns those values that labels are
// made of, if they are not too long; nothing if it is no such message. It makes no objects of the rest, of
// which a peer can send any number.
func parseTold(key string) map[string]string {
	raw, err := base64.RawStdEncoding.DecodeString(key)
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

// parseEntry reads an entry of the message's map: a name, and a google.protobuf.Value, of which it returns the
// string.
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

// eachPart calls part for each field of message that has a length, until it returns false. It reports whether that
// was never, and whether message is one.
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
