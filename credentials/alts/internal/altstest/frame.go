// SPDX-License-Identifier: Apache-2.0

package altstest

import (
	"encoding/binary"
	"fmt"
)

// frameType is the second field of a handshake frame.
type frameType uint32

const (
	clientInit frameType = 1 + iota
	serverInit
	clientFinished
	alert
)

// A frame has three parts: its length, which does not count the length field itself, its
// type, and a body.
const (
	lengthSize = 4
	headerSize = 8
	maxFrame   = 64 << 10
)

// appendFrame appends a frame to dst.
func appendFrame(dst []byte, typ frameType, body []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(headerSize-lengthSize+len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(typ))
	return append(dst, body...)
}

// cutFrame returns the type, the body and the size n of the frame at the start of b. n is
// 0 if b does not hold the whole frame.
func cutFrame(b []byte) (typ frameType, body []byte, n int, err error) {
	if len(b) < lengthSize {
		return 0, nil, 0, nil
	}
	size := binary.LittleEndian.Uint32(b)
	if size < headerSize-lengthSize || size > maxFrame-lengthSize {
		return 0, nil, 0, fmt.Errorf("altstest: a handshake frame declares %d bytes", size)
	}
	n = lengthSize + int(size)
	if len(b) < n {
		return 0, nil, 0, nil
	}
	return frameType(binary.LittleEndian.Uint32(b[lengthSize:])), b[headerSize:n], n, nil
}
