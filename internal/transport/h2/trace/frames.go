// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"iter"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

const (
	maxList  = 1 << 20 // the most bytes of a header list that are decoded
	maxBlock = 1 << 20 // the most bytes of a field block
	maxTable = 1 << 24 // the largest dynamic table, in bytes, that is kept to follow the peer's
)

// frames returns the frames in pieces. The payload of DATA is nil. It leaves out a client's preface,
// and an incomplete frame.
func frames(pieces [][]byte) iter.Seq2[frame.Header, []byte] {
	return func(yield func(frame.Header, []byte) bool) {
		skip := 0 // bytes of DATA payload that are still to come in pieces
		for _, b := range pieces {
			if skip == 0 { // a payload may begin as a preface does
				b = bytes.TrimPrefix(b, []byte(frame.ClientPreface))
			}
			for {
				n := min(skip, len(b))
				b, skip = b[n:], skip-n
				if len(b) < frame.HeaderLen {
					break
				}
				h := frame.ParseHeader(b)
				b = b[frame.HeaderLen:]
				if h.Type == frame.Data {
					skip = int(h.Length)
					if !yield(h, nil) {
						return
					}
					continue
				}
				if int(h.Length) > len(b) || !yield(h, b[:h.Length]) {
					return
				}
				b = b[h.Length:]
			}
		}
	}
}

// direction is the state of one direction of a connection.
type direction struct {
	decoder hpack.Decoder
	block   []byte // the fragments so far of a field block whose END_HEADERS has not come yet
	lost    bool   // the decoder can't decode this direction any more
	began   bool
}

// field is one header field.
type field struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"` // nil if it is withheld
}

// public has the fields whose values are words of HTTP and gRPC, and reveal nothing about a program.
var public = map[string]bool{
	":method": true, ":scheme": true, ":status": true, "content-type": true, "te": true,
	"grpc-accept-encoding": true, "grpc-encoding": true, "grpc-status": true, "grpc-timeout": true,
}

// fields adds a fragment of a block. At the end of the block it returns the block's fields.
func (d *direction) fields(fragment []byte, end, values bool) []field {
	if d.lost {
		return nil
	}
	if len(d.block)+len(fragment) > maxBlock {
		d.lost, d.block = true, nil
		return nil
	}
	d.block = append(d.block, fragment...)
	if !end {
		return nil
	}
	if !d.began {
		d.began = true
		d.decoder.SetAllowedMaxTableSize(maxTable)
	}
	var list hpack.List
	list.Reset(maxList)
	d.lost = d.decoder.Decode(d.block, &list) != nil
	d.block = d.block[:0]
	if cap(d.block) > 4<<10 {
		d.block = nil
	}
	found := make([]field, list.Len())
	for i := range found {
		found[i].Name = string(list.Name(i))
		if values || public[found[i].Name] {
			v := string(list.Value(i))
			found[i].Value = &v
		}
	}
	return found
}
