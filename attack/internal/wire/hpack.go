// SPDX-License-Identifier: Apache-2.0

package wire

// Field is a header field.
type Field struct{ Name, Value string }

// FirstDynamic is the index of the newest entry of the dynamic table (RFC 7541, 2.3.3).
const FirstDynamic = 62

// AppendInt appends an integer with a prefix of n bits, behind the bits of first
// (RFC 7541, 5.1).
func AppendInt(b []byte, first byte, n int, v uint64) []byte {
	limit := uint64(1)<<n - 1
	if v < limit {
		return append(b, first|byte(v))
	}
	b = append(b, first|byte(limit))
	for v -= limit; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// AppendString appends a string as it is (RFC 7541, 5.2).
func AppendString(b []byte, s string) []byte {
	return append(AppendInt(b, 0, 7, uint64(len(s))), s...)
}

// AppendHuffman appends a string of n times '0', whose code has five bits: the shortest,
// so that what is decoded is 1.6 times as large (RFC 7541, appendix B). n is a multiple of
// eight.
func AppendHuffman(b []byte, n int) []byte {
	b = AppendInt(b, 0x80, 7, uint64(n*5/8))
	return append(b, make([]byte, n*5/8)...) // the code of '0' is 00000
}

// AppendField appends a field that leaves the table alone (RFC 7541, 6.2.2).
func AppendField(b []byte, name, value string) []byte {
	return AppendString(AppendString(append(b, 0), name), value)
}

// AppendNew appends a field and lets it enter the table (RFC 7541, 6.2.1).
func AppendNew(b []byte, name, value string) []byte {
	return AppendString(AppendString(append(b, 0x40), name), value)
}

// AppendNewNamed appends a field with the name of the entry at index, and lets it enter the
// table (RFC 7541, 6.2.1).
func AppendNewNamed(b []byte, index uint64, value string) []byte {
	return AppendString(AppendInt(b, 0x40, 6, index), value)
}

// AppendRef appends a reference to an entry (RFC 7541, 6.1): one byte, for entries to 126.
func AppendRef(b []byte, index uint64) []byte { return AppendInt(b, 0x80, 7, index) }

// AppendTableSize appends an update of the table's size (RFC 7541, 6.3).
func AppendTableSize(b []byte, size uint64) []byte { return AppendInt(b, 0x20, 5, size) }

// Request is the header block of a call to path, with more fields behind.
func Request(path string, more ...Field) []byte {
	b := []byte{0x83, 0x86} // POST, http
	b = AppendField(b, ":path", path)
	b = AppendField(b, ":authority", "attack.test")
	b = AppendField(b, "content-type", "application/grpc")
	b = AppendField(b, "te", "trailers")
	return appendFields(b, more)
}

// Response is the header block with which an answer begins.
func Response(more ...Field) []byte {
	b := AppendField([]byte{0x88}, "content-type", "application/grpc")
	return appendFields(b, more)
}

// Trailers is the header block with which an answer ends well.
func Trailers(more ...Field) []byte {
	return appendFields(AppendField(nil, "grpc-status", "0"), more)
}

func appendFields(b []byte, more []Field) []byte {
	for _, f := range more {
		b = AppendField(b, f.Name, f.Value)
	}
	return b
}
