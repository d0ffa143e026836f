// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"iter"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

const (
	maxList  = 1 << 20 // bytes of one header list that are read
	maxBlock = 1 << 20 // bytes of one field block
	maxTable = 1 << 24 // a dynamic table that is kept to follow the peer's
)

// frames returns the frames in pieces. The payload of DATA is nil. A client's preface is left out,
// and so is what is not a whole frame.
func frames(pieces [][]byte) iter.Seq2[frame.Header, []byte] {
	return func(yield func(frame.Header, []byte) bool) {
		skip := 0 // of the payload of DATA that lies in the pieces ahead
		for _, b := range pieces {
			b = bytes.TrimPrefix(b, []byte(frame.ClientPreface))
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

// direction is one half of a connection.
type direction struct {
	decoder hpack.Decoder
	block   []byte // the fragments so far of a field block that has no END_HEADERS yet
	lost    bool   // the decoder can't follow any more
	began   bool
}

// field is one header field.
type field struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"` // nil if it is withheld
}

// public are the fields whose values are words of HTTP and gRPC, and tell nothing of a program.
var public = map[string]bool{
	":method": true, ":scheme": true, ":status": true, "content-type": true, "te": true,
	"grpc-accept-encoding": true, "grpc-encoding": true, "grpc-status": true, "grpc-timeout": true,
}

// fields adds a fragment, and returns the fields at the block's end.
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
