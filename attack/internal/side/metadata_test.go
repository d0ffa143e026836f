// SPDX-License-Identifier: Apache-2.0

package side

import (
	"fmt"

	"google.golang.org/grpc/metadata"
)

// Keys of metadata: what a client sends, and what a handler sends in front of and behind its messages.
const (
	requestKey = "request-bin"
	headerKey  = "header"
	trailerKey = "trailer-bin"
)

// sizeOfMetadata is that of a call on this side, from nothing to some kilobytes.
func (s *side) sizeOfMetadata(call int) int {
	n := int(s.seed>>3&0xffff) + 31*call
	if n%5 == 0 {
		return n % 3000
	}
	return n % 40
}

// value is the value of a key for a call.
func value(call, size int) string {
	b := fmt.Appendf(nil, "%d:%d:", call, size)
	for i := range size {
		b = append(b, 'a'+byte(call+i)%26)
	}
	return string(b)
}

// checkMetadata says what is wrong with the metadata of a call.
func checkMetadata(md metadata.MD, key string, call int) error {
	var of, size int
	got := md.Get(key)
	if len(got) == 1 {
		if _, err := fmt.Sscanf(got[0], "%d:%d:", &of, &size); err == nil && of == call && got[0] == value(call, size) {
			return nil
		}
	}
	return fmt.Errorf("call %d: %s is %.100q", call, key, got)
}
