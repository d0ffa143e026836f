// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"io"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/ballast"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

const (
	defaultMaxReceiveSize = 4 << 20 // bytes
	defaultMaxSendSize    = math.MaxInt32
)

// messageWriter turns the messages of one RPC into bytes.
type messageWriter struct {
	codec      encoding.CodecV2
	compressor encoding.Compressor // nil: messages are not compressed
	max        int                 // limit of a message's size as it is sent, in bytes
	pool       mem.BufferPool
	keep       bool // fill in outMessage.plain
	lend       lending
}

// lending says whether the transport may send a large field of a message from the program's memory, without
// a copy.
type lending uint8

const (
	lendNothing lending = iota
	lendAwhile          // until Payload.Lent is reclaimed
	lendForever         // for good: the program never changes the field again
)

// outMessage is a message that is ready to be sent.
type outMessage struct {
	payload transport.Payload
	length  int    // before compression
	plain   []byte // a copy of the message before compression, for a binary log; see messageWriter.keep
}

// sizes returns the sizes of the message. Call it before the payload is handed over.
func (m *outMessage) sizes() messageSizes {
	return messageSizes{length: m.length, wire: m.payload.Data.Len(), plain: m.plain}
}

// prepared is implemented by *PreparedMsg.
type prepared interface {
	// take returns the message for one sending. It fails if the message has more than limit bytes. If keep is true,
	// it fills in outMessage.plain.
	take(limit int, keep bool) (outMessage, error)
}

// write encodes and compresses msg, or takes what a *PreparedMsg holds. The caller
// owns the payload.
func (w *messageWriter) write(msg any) (out outMessage, err error) {
	if p, ok := msg.(prepared); ok {
		return p.take(w.max, w.keep)
	}
	data, lent, err := encodeLending(w.codec, msg, w.lend)
	if err != nil {
		return outMessage{}, err
	}
	out.payload.Data, out.payload.Lent, out.length = data, lent, data.Len()
	if w.keep {
		out.plain = plainOf(&data)
	}
	if w.compressor != nil {
		out.payload, err = compress(w.compressor, data, w.pool)
		giveBack(lent) // the compressor has read it
		if err != nil {
			return outMessage{}, err
		}
	}
	if err := checkSendSize(&out.payload.Data, w.max); err != nil {
		out.payload.Data.Free()
		giveBack(out.payload.Lent)
		return outMessage{}, err
	}
	return out, nil
}

// plainOf returns a copy of an encoded message for a binary log. In the log, an empty message is not nil if it was
// sent, and nil if it was received.
func plainOf(data *transport.Pieces) []byte {
	if b := data.Materialize(); b != nil {
		return b
	}
	return []byte{}
}

// giveBack drops the lender's reference to memory that nobody else holds any more.
func giveBack(lent *transport.Borrowed) {
	if lent != nil {
		lent.Free()
	}
}

// aroundEncoder is implemented by codecs, such as this module's own, that can encode a message without
// copying a large field: large is the field in the program's memory. If large is nil, head has the whole
// message, and tail is nil too.
type aroundEncoder interface {
	MarshalAround(msg any) (head mem.Buffer, large []byte, tail mem.Buffer, err error)
}

// encodeLending is like encode, but may lend a large field of msg, as how says.
func encodeLending(codec encoding.CodecV2, msg any, how lending) (transport.Pieces, *transport.Borrowed, error) {
	c, ok := codec.(aroundEncoder)
	if how == lendNothing || !ok || msg == nil {
		data, err := encode(codec, msg)
		return data, nil, err
	}
	head, large, tail, err := c.MarshalAround(msg)
	if err != nil {
		return transport.Pieces{}, nil, marshalError(err)
	}
	if large == nil {
		data, err := checkLength(transport.OnePiece(head))
		return data, nil, err
	}
	if !lendable(large, how) {
		head.Free()
		tail.Free()
		data, err := encode(codec, msg)
		return data, nil, err
	}
	var (
		lent *transport.Borrowed
		part mem.Buffer
	)
	if how == lendForever {
		part = mem.SliceBuffer(large)
	} else {
		lent = transport.Borrow(large)
		part = lent
	}
	pieces := mem.BufferSlice{head, part, tail}
	if tail.Len() == 0 {
		pieces = pieces[:2]
	}
	data, err := checkLength(transport.PiecesOf(pieces))
	if err != nil {
		giveBack(lent)
	}
	return data, lent, err
}

// maxLent is the size in bytes of the largest field that may be lent until it is reclaimed: what has not been
// sent by then is copied under the connection's lock.
const maxLent = 16 << 20

// lendable reports whether a field may be lent as how says. A field that is lent for ever must not keep
// much more memory alive than its own length, as a peer that does not read would hold that memory.
func lendable(large []byte, how lending) bool {
	if how == lendForever {
		return cap(large)-len(large) <= len(large)/5
	}
	return len(large) <= maxLent
}

// encode returns msg as the codec encodes it. The caller owns the result. The error is a status.
func encode(codec encoding.CodecV2, msg any) (transport.Pieces, error) {
	if msg == nil { // a typed nil goes to the codec
		return transport.Pieces{}, nil
	}
	data, err := marshal(codec, msg)
	if err != nil {
		return transport.Pieces{}, marshalError(err)
	}
	return checkLength(data)
}

func marshalError(err error) error {
	return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
}

// checkLength takes over data and returns it. It fails if the length does not fit into the wire's prefix.
func checkLength(data transport.Pieces) (transport.Pieces, error) {
	if err := lengthError(data.Len()); err != nil {
		data.Free()
		return transport.Pieces{}, err
	}
	return data, nil
}

// lengthError returns an error if the wire's prefix can't announce n bytes.
func lengthError(n int) error {
	if uint64(n) > transport.MaxMessageLen {
		return status.Errorf(codes.ResourceExhausted, "grpc: message too large (%d bytes)", n)
	}
	return nil
}

func marshal(codec encoding.CodecV2, msg any) (transport.Pieces, error) {
	if c, ok := codec.(wholeEncoder); ok {
		b, err := c.MarshalWhole(msg)
		if err != nil {
			return transport.Pieces{}, err
		}
		return transport.OnePiece(b), nil
	}
	s, err := codec.Marshal(msg)
	return transport.PiecesOf(s), err
}

// wholeEncoder is implemented by codecs, such as this module's own, that encode a message in one piece.
// That saves the allocation of a BufferSlice around it.
type wholeEncoder interface {
	MarshalWhole(msg any) (mem.Buffer, error)
}

// compress takes over data and returns it as a payload, compressed unless c is nil or data is empty.
// The error is a status.
func compress(c encoding.Compressor, data transport.Pieces, pool mem.BufferPool) (transport.Payload, error) {
	if c == nil || data.Len() == 0 {
		return transport.Payload{Data: data}, nil
	}
	defer data.Free()
	var out mem.BufferSlice
	if err := compressInto(c, data, mem.NewWriter(&out, pool)); err != nil {
		out.Free()
		return transport.Payload{}, status.Errorf(codes.Internal, "grpc: error while compressing: %v", err)
	}
	return transport.Payload{Data: transport.PiecesOf(out), Compressed: true}, nil
}

func compressInto(c encoding.Compressor, data transport.Pieces, to io.Writer) error {
	w, err := c.Compress(to)
	if err != nil {
		return err
	}
	for b := range data.All() {
		if _, err := w.Write(b.ReadOnlyData()); err != nil {
			return err
		}
	}
	return w.Close()
}

func checkSendSize(data *transport.Pieces, limit int) error {
	n := data.Len()
	if n > limit {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", n, limit)
	}
	return lengthError(n) // compression may have made it longer
}

// messageReader turns the bytes of one RPC into messages.
type messageReader struct {
	codec        encoding.CodecV2
	encoding     string              // grpc-encoding of the peer's messages
	decompressor encoding.Compressor // the one used last; nil: a registered one is looked up
	max          int                 // bytes of a message, before and after decompression
	pool         mem.BufferPool
	server       bool
	keep         bool   // fill in plain
	plain        []byte // a copy of the last message, decompressed, for a binary log
}

// read takes over m and decodes it into msg. length is the size after
// decompression. The error is a status.
func (r *messageReader) read(m transport.Message, msg any) (length int, err error) {
	if !m.Compressed {
		if m.Len > r.max { // the transport has its own limit, which may be a larger one
			m.Data.Free()
			return 0, tooLarge(m.Len, r.max)
		}
		if r.keep {
			r.plain = bytes.Clone(m.Data.ReadOnlyData())
		}
		return m.Len, decode(r.codec, m, msg)
	}
	data, err := r.decompress(m)
	if err != nil {
		return 0, err
	}
	length = data.Len()
	defer data.Free()
	if r.keep {
		r.plain = data.Materialize()
	}
	return length, unmarshal(r.codec, data, msg)
}

// decompress takes over m, which is compressed, and returns it decompressed.
func (r *messageReader) decompress(m transport.Message) (mem.BufferSlice, error) {
	data := mem.BufferSlice{m.Data.Buffer()}
	defer data.Free()
	if err := transport.CheckCompressed(r.encoding); err != nil {
		return nil, err
	}
	if err := r.findDecompressor(); err != nil {
		return nil, err
	}
	if m.Len > r.max {
		return nil, tooLarge(m.Len, r.max)
	}
	in := data.Reader()
	defer func() { _ = in.Close() }() // it never fails
	from, err := r.decompressor.Decompress(in)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	return r.readLimited(from)
}

// tooLargeInside returns the error for a message that is larger than the limit once it is decompressed;
// n is how many of its bytes were decompressed. The text differs for a Decompressor that the program set.
func (r *messageReader) tooLargeInside(n int) error {
	if _, whole := r.decompressor.(wholeCompressor); whole {
		return status.Errorf(codes.ResourceExhausted, "grpc: message after decompression larger than max (%d vs. %d)", n, r.max)
	}
	return status.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", r.max)
}

// readLimited reads what a decompressor yields, but no more than one byte beyond the limit: the peer
// decides how much there is.
func (r *messageReader) readLimited(from io.Reader) (mem.BufferSlice, error) {
	limit := int64(r.max)
	if limit < math.MaxInt64 {
		limit++
	}
	out, err := mem.ReadAll(io.LimitReader(from, limit), r.pool)
	if err != nil {
		out.Free()
		return nil, status.Errorf(codes.Internal, "grpc: failed to read decompressed data: %v", err)
	}
	if out.Len() > r.max {
		n := out.Len()
		out.Free()
		return nil, r.tooLargeInside(n)
	}
	return out, nil
}

// findDecompressor makes sure that r has a decompressor for the stream's encoding.
func (r *messageReader) findDecompressor() error {
	if r.decompressor != nil && r.decompressor.Name() == r.encoding {
		return nil
	}
	if r.decompressor = encoding.GetCompressor(r.encoding); r.decompressor != nil {
		return nil
	}
	code := codes.Internal
	if r.server {
		code = codes.Unimplemented
	}
	return transport.UnknownEncoding(code, r.encoding)
}

func tooLarge(n, limit int) error {
	return status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", n, limit)
}

// decode takes over m, and decodes it into msg.
func decode(codec encoding.CodecV2, m transport.Message, msg any) error {
	if c, ok := codec.(owningDecoder); ok && m.Len >= ownFrom && ballast.Roomy() {
		if data, ok := m.Data.Ownable(); ok {
			return unmarshalError(decodeOwn(c, m, data, msg))
		}
	}
	if c, ok := codec.(wholeDecoder); ok {
		defer m.Data.Free()
		return unmarshalError(c.UnmarshalWhole(m.Data.ReadOnlyData(), msg))
	}
	data := mem.BufferSlice{m.Data.Buffer()}
	defer data.Free()
	return unmarshal(codec, data, msg)
}

// wholeDecoder is implemented by codecs, such as this module's own, that decode a message that is in one
// piece. That saves the allocation of a BufferSlice around it. The codec must keep nothing of data.
type wholeDecoder interface {
	UnmarshalWhole(data []byte, msg any) error
}

// ownFrom is the smallest message, in bytes, that an owningDecoder is given to own.
const ownFrom = 64 << 10

// owningDecoder is implemented by codecs that can decode a large message without a copy: msg then refers to
// data, which nobody else uses any more. If the codec has kept nothing of data, owned is false.
type owningDecoder interface {
	UnmarshalOwn(data []byte, msg any) (owned bool, err error)
}

// decodeOwn takes over m, whose bytes are data, and decodes it into msg.
func decodeOwn(c owningDecoder, m transport.Message, data []byte, msg any) (err error) {
	owned := true // also after a panic: msg may refer to data by then
	defer func() {
		if owned {
			m.Data.Own()
		} else {
			m.Data.Free()
		}
	}()
	owned, err = c.UnmarshalOwn(data, msg)
	return err
}

// unmarshal decodes data into msg. The error is a status.
func unmarshal(codec encoding.CodecV2, data mem.BufferSlice, msg any) error {
	return unmarshalError(codec.Unmarshal(data, msg))
}

func unmarshalError(err error) error {
	if err == nil {
		return nil
	}
	return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
}

// messageSizes are the sizes of a message in bytes.
type messageSizes struct {
	length int // decompressed
	wire   int // as sent, without the length prefix

	plain []byte // the message decompressed, if a binary log wants it
}

// message returns the sizes in the form that telemetry plugins are given.
func (n messageSizes) message() telemetry.Message {
	return telemetry.Message{Length: n.length, Compressed: n.wire}
}

func inPayload(msg any, n messageSizes) stats.InPayload {
	return stats.InPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + transport.FramingLen,
		RecvTime:         time.Now(),
	}
}

func outPayload(msg any, n messageSizes) stats.OutPayload {
	return stats.OutPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + transport.FramingLen,
		SentTime:         time.Now(),
	}
}
