// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"io"
	"reflect"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// PreparedMsg is a message that is encoded and compressed once. It can be given to SendMsg of any
// number of streams that have the same codec and compressor: they share its memory, which the garbage
// collector frees, and sending it allocates nothing unless the RPC is in a binary log. The zero value holds nothing until Encode has been
// called. While Encode runs only one goroutine may use a PreparedMsg; afterwards several may send it
// at once.
//
// Experimental: this API may change in a later release.
type PreparedMsg struct {
	message    outMessage
	compressor encoding.Compressor // that compressed it; nil: none
	size       int                 // bytes of the message as it is sent
	ready      bool
}

// Encode stores msg in p in the form in which the stream s would send it. s may be an interceptor's
// stream, but its context must be the context of an RPC of this package, or derive from one.
// If it is not, or if encoding fails, Encode returns a status with codes.Internal.
func (p *PreparedMsg) Encode(s Stream, msg any) error {
	w, ok := s.Context().Value(messageWriterKey{}).(*messageWriter)
	if !ok {
		return status.Error(codes.Internal, "grpc: PreparedMsg.Encode needs the context of an RPC's stream")
	}
	return p.encodeBy(w, msg)
}

// encodeBy does what Encode does, for streams whose messages w writes.
func (p *PreparedMsg) encodeBy(w *messageWriter, msg any) error {
	data, err := encode(w.codec, msg)
	if err != nil {
		return err
	}
	m := outMessage{length: data.Len()}
	if _, whole := w.compressor.(wholeCompressor); w.keep || whole { // for take
		m.plain = plainOf(&data)
	}
	m.payload, err = compress(w.compressor, data, w.pool)
	if err != nil {
		return err
	}
	// The memory must not go back to a pool, as nobody knows when p is sent for the last time.
	kept := mem.SliceBuffer(m.payload.Data.Materialize())
	m.payload.Data.Free()
	m.payload.Data = transport.OnePiece(kept)
	p.message, p.compressor, p.size, p.ready = m, w.compressor, kept.Len(), true
	return nil
}

// take implements prepared.
func (p *PreparedMsg) take(limit int, keep bool) (outMessage, error) {
	if !p.ready {
		return outMessage{}, status.Error(codes.Internal, "grpc: a PreparedMsg was sent without Encode")
	}
	// Sending only reads the memory, and counts references. Memory of the garbage collector has no count.
	m := p.message
	if err := checkSendSize(&m.payload.Data, limit); err != nil {
		return outMessage{}, err
	}
	if keep && m.plain == nil { // it was encoded for an RPC that is not logged
		m.plain = p.plain()
	}
	return m, nil
}

// plain returns a copy of the message before compression. It returns nil if the compressor can't read what it wrote.
func (p *PreparedMsg) plain() []byte {
	sent := plainOf(&p.message.payload.Data)
	if !p.message.payload.Compressed {
		return sent
	}
	r, err := p.compressor.Decompress(bytes.NewReader(sent))
	if err != nil {
		return nil
	}
	// The end is read too, as a decompressor then goes back to its pool.
	b, err := io.ReadAll(io.LimitReader(r, int64(p.message.length)+1))
	if err != nil || len(b) != p.message.length {
		return nil
	}
	return b
}

// messageWriterKey finds the *messageWriter of an RPC in the context of its stream, on either side.
type messageWriterKey struct{}

// prepare returns msg as a *PreparedMsg for the streams whose messages w writes.
func prepare(w *messageWriter, msg any) (any, error) {
	p := new(PreparedMsg)
	if err := p.encodeBy(w, msg); err != nil {
		return nil, err
	}
	return p, nil
}

// kindOf returns a Kind that is equal for streams that can send the same PreparedMsg. A stream whose
// codec or compressor can't be compared shares with no other.
func kindOf(codec encoding.CodecV2, compressor encoding.Compressor, plain bool) handover.Kind {
	k := handover.Kind{Codec: codec, Plain: plain, Sure: isPlain(codec)}
	if compressor != nil {
		k.Compressor, k.Sure = compressor, k.Sure && isPlain(compressor)
	}
	if !k.Sure && !(isComparable(k.Codec) && isComparable(k.Compressor)) {
		k = handover.Kind{Codec: new(byte)}
	}
	return k
}

// isKind reports whether kindOf with the same arguments returns k. It is called for each stream that a
// message is sent to, so it has to be fast.
func isKind(k *handover.Kind, codec encoding.CodecV2, compressor encoding.Compressor, plain bool) bool {
	if !k.Sure {
		return *k == kindOf(codec, compressor, plain)
	}
	return k.Plain == plain && k.Codec == any(codec) && k.Compressor == any(compressor)
}

// isComparable reports whether v can be compared. A nil v can.
func isComparable(v any) bool { return v == nil || reflect.ValueOf(v).Comparable() }

// isPlain reports whether all values of v's type can be compared.
func isPlain(v any) bool {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		return true
	}
	always, ok := plainTypes.Load(t)
	if !ok {
		always, _ = plainTypes.LoadOrStore(t, isPlainType(t))
	}
	return always.(bool)
}

// plainTypes maps types to what isPlainType returns for them.
var plainTypes sync.Map

// isPlainType reports whether all values of type t can be compared. It returns false for a type with
// interfaces in it, whose values can be compared or not depending on what the interfaces hold.
func isPlainType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Array:
		return isPlainType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlainType(t.Field(i).Type) {
				return false
			}
		}
	}
	return t.Comparable()
}
