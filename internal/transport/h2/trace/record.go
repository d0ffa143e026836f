// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// record is one line.
type record struct {
	Time   time.Time `json:"time"`
	Side   string    `json:"side"`
	Local  string    `json:"local"`
	Remote string    `json:"remote"`
	Event  string    `json:"event"`

	Frame  string   `json:"frame,omitempty"`
	Stream uint32   `json:"stream,omitempty"`
	Length *uint32  `json:"length,omitempty"` // of the payload, in bytes
	Flags  []string `json:"flags,omitempty"`
	Fields []field  `json:"fields,omitempty"`
	Detail string   `json:"detail,omitempty"`

	State
}

// record returns what a line says about a frame.
func (d *direction) record(h frame.Header, p []byte, values bool) *record {
	r := &record{Frame: h.Type.String(), Stream: h.StreamID, Length: &h.Length, Flags: flags(h)}
	switch h.Type {
	case frame.Headers:
		// After a stream error f still has the fragment, which must be decoded to keep the decoder in
		// step.
		f, _ := frame.ParseHeaders(h, p)
		d.block = d.block[:0]
		r.Fields = d.fields(f.Fragment, h.Flags.Has(frame.FlagEndHeaders), values)
	case frame.Continuation:
		r.Fields = d.fields(p, h.Flags.Has(frame.FlagEndHeaders), values)
	case frame.Settings:
		if v, err := frame.ParseSettings(h, p); err == nil {
			r.Detail = settings(v)
		}
	case frame.WindowUpdate:
		if inc, err := frame.ParseWindowUpdate(h, p); err == nil {
			r.Detail = "increment=" + strconv.FormatUint(uint64(inc), 10)
		}
	case frame.RSTStream:
		if code, err := frame.ParseRSTStream(h, p); err == nil {
			r.Detail = "code=" + code.String()
		}
	case frame.GoAway:
		if f, err := frame.ParseGoAway(h, p); err == nil {
			r.Detail = "last_stream=" + strconv.FormatUint(uint64(f.LastStreamID), 10) + " code=" + f.Code.String() +
				" debug=" + strconv.Quote(string(f.Debug[:min(len(f.Debug), 256)]))
		}
	case frame.Ping:
		if data, err := frame.ParsePing(h, p); err == nil {
			r.Detail = "data=" + hex.EncodeToString(data[:])
		}
	}
	return r
}

func settings(v frame.SettingsView) string {
	var said []string
	for i := range min(v.Len(), 32) {
		said = append(said, v.At(i).String())
	}
	return strings.Join(said, " ")
}

// flags returns the names of the flags that have a meaning for the frame's type.
func flags(h frame.Header) (names []string) {
	add := func(f frame.Flags, name string, types ...frame.Type) {
		for _, t := range types {
			if h.Type == t && h.Flags.Has(f) {
				names = append(names, name)
			}
		}
	}
	add(frame.FlagEndStream, "END_STREAM", frame.Data, frame.Headers)
	add(frame.FlagAck, "ACK", frame.Settings, frame.Ping)
	add(frame.FlagEndHeaders, "END_HEADERS", frame.Headers, frame.Continuation, frame.PushPromise)
	add(frame.FlagPadded, "PADDED", frame.Data, frame.Headers, frame.PushPromise)
	add(frame.FlagPriority, "PRIORITY", frame.Headers)
	return names
}

// append appends the line without the newline.
func (r *record) append(b []byte, asJSON bool) []byte {
	if asJSON {
		text, err := json.Marshal(r)
		if err != nil { // can't happen: everything in a record can be marshaled
			text = []byte(strconv.Quote(err.Error()))
		}
		return append(b, text...)
	}
	b = r.Time.AppendFormat(b, "15:04:05.000000")
	b = append(b, ' ')
	b = append(b, r.Side...)
	b = append(b, ' ')
	b = append(b, r.Local...)
	b = append(b, '-')
	b = append(b, r.Remote...)
	b = append(b, ' ')
	b = append(b, r.Event...)
	if r.Frame != "" {
		b = r.appendFrame(b)
	}
	if r.Detail != "" {
		b = append(b, ' ')
		b = append(b, r.Detail...)
	}
	b = strconv.AppendInt(append(b, " | send_window="...), r.SendWindow, 10)
	b = strconv.AppendUint(append(b, " recv_window="...), uint64(r.RecvWindow), 10)
	b = strconv.AppendInt(append(b, " held="...), r.Held, 10)
	return strconv.AppendInt(append(b, " streams="...), int64(r.Streams), 10)
}

func (r *record) appendFrame(b []byte) []byte {
	b = append(append(b, ' '), r.Frame...)
	b = strconv.AppendUint(append(b, " stream="...), uint64(r.Stream), 10)
	b = strconv.AppendUint(append(b, " length="...), uint64(*r.Length), 10)
	for _, f := range r.Flags {
		b = append(append(b, ' '), f...)
	}
	if len(r.Fields) == 0 {
		return b
	}
	b = append(b, " ["...)
	for i, f := range r.Fields {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendName(b, f.Name)
		if f.Value != nil {
			b = strconv.AppendQuote(append(b, '='), *f.Value)
		}
	}
	return append(b, ']')
}

// appendName appends a field's name. A peer may send a name that is not a token. Such a name is quoted,
// so that it can't add lines of its own to the trace.
func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '[' || c == ']' {
			return strconv.AppendQuote(b, name)
		}
	}
	return append(b, name...)
}
