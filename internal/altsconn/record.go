// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"encoding/binary"
	"fmt"
)

// Sizes of the parts of a record, in bytes.
const (
	lengthSize = 4
	typeSize   = 4
	headerSize = lengthSize + typeSize
	overhead   = headerSize + tagSize
)

// recordType is the only type there is: data.
const recordType = 6

// Limits of a record's size, the header and the tag included.
const (
	// MaxRecord is the largest record that is ever written.
	MaxRecord = 1 << 20
	// MinRecord is the smallest limit that a peer can ask for.
	MinRecord = 4 << 10
	// DefaultRecord is the limit towards a peer that names none.
	DefaultRecord = 16 << 10
)

// maxLength is the largest length field accepted. It is the same for every
// connection: a peer that exceeds what it was offered, as versions without the
// negotiation may, does no harm, since memory is only taken as bytes arrive.
const maxLength = 1 << 20

// recordError says that what the peer sent is not a record.
type recordError struct{ msg string }

func (e *recordError) Error() string { return "alts: bad record: " + e.msg }

// recordSize returns the size of the record that begins with b, or 0 when b is too
// short to tell. It fails as soon as the bytes can't begin a record.
func recordSize(b []byte) (int, error) {
	if len(b) < lengthSize {
		return 0, nil
	}
	switch n := binary.LittleEndian.Uint32(b); {
	case n < typeSize+tagSize:
		return 0, &recordError{fmt.Sprintf("length %d is below the least, %d", n, typeSize+tagSize)}
	case n > maxLength:
		return 0, &recordError{fmt.Sprintf("length %d exceeds the limit of %d", n, maxLength)}
	case len(b) < headerSize:
		return 0, nil
	default:
		if t := binary.LittleEndian.Uint32(b[lengthSize:]); t != recordType {
			return 0, &recordError{fmt.Sprintf("type %d, want %d", t, recordType)}
		}
		return lengthSize + int(n), nil
	}
}

// appendHeader appends the header of a record with n bytes of plaintext.
func appendHeader(dst []byte, n int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(typeSize+n+tagSize))
	return binary.LittleEndian.AppendUint32(dst, recordType)
}
