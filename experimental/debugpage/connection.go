// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"strconv"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/netaddr"
	"google.golang.org/grpc/internal/sockopt"
)

// Connection describes a connection of a server or of a subchannel, or a listener. A listener has only an
// ID and a local address.
type Connection struct {
	ID      int64     `json:"id"`
	Created time.Time `json:"created"`
	Local   string    `json:"local,omitempty"`
	Remote  string    `json:"remote,omitempty"`
	Name    string    `json:"name,omitempty"` // the name that the peer proved, or the authority

	Parked      bool   `json:"parked"`
	NotParkable string `json:"not_parkable,omitempty"` // why it can't be parked
	Streams     int    `json:"streams"`                // how many are open
	BytesHeld   int64  `json:"bytes_held"`

	StreamsStarted   int64 `json:"streams_started"`
	StreamsSucceeded int64 `json:"streams_succeeded"`
	StreamsFailed    int64 `json:"streams_failed"`
	// MaxStreams is how many streams the peer allows at once; 0 if that is not known, as at servers.
	MaxStreams uint32 `json:"max_streams,omitempty"`

	MessagesSent     int64     `json:"messages_sent"`
	MessagesReceived int64     `json:"messages_received"`
	LastSent         time.Time `json:"last_sent,omitzero"`
	LastReceived     time.Time `json:"last_received,omitzero"`

	SendWindow int64 `json:"send_window"` // bytes that may be sent on all streams together
	RecvWindow int64 `json:"recv_window"` // bytes that the peer may send

	// RoundTrip is TCP's smoothed estimate, or 0 if that is not known.
	RoundTrip time.Duration `json:"round_trip,omitempty"`
	Security  string        `json:"security,omitempty"` // the cipher suite
	GoAway    *uint32       `json:"goaway,omitempty"`   // the code of the last GOAWAY that was received

	// LastError says why a stream last ended early, other than by cancellation.
	LastError *Event `json:"last_error,omitempty"`
}

// connectionOf returns the present state of a connection.
func connectionOf(s *channelz.Socket) Connection {
	d := s.Data()
	c := Connection{
		ID: s.ID(), Created: s.Created(),
		Local: netaddr.Text(d.LocalAddr), Remote: netaddr.Text(d.RemoteAddr), Name: d.RemoteName,
		StreamsStarted: d.StreamsStarted, StreamsSucceeded: d.StreamsSucceeded, StreamsFailed: d.StreamsFailed,
		MaxStreams:   d.MaxStreams,
		MessagesSent: d.MessagesSent, MessagesReceived: d.MessagesReceived,
		LastSent: d.LastMessageSent, LastReceived: d.LastMessageReceived,
		SendWindow: d.LocalFlowControlWindow, RecvWindow: d.RemoteFlowControlWindow,
		GoAway: d.GoAway,
	}
	for _, o := range d.Options {
		switch o.Name {
		case channelz.OptionParked:
			c.Parked = o.Value == "true"
		case channelz.OptionNotParked:
			c.NotParkable = o.Value
		case channelz.OptionStreams:
			c.Streams, _ = strconv.Atoi(o.Value) // this module wrote it
		case channelz.OptionBytesHeld:
			c.BytesHeld, _ = strconv.ParseInt(o.Value, 10, 64)
		}
	}
	switch v := d.Security.(type) {
	case *credentials.TLSChannelzSecurityValue:
		c.Security = v.StandardName
	case *credentials.OtherChannelzSecurityValue:
		c.Security = v.Name
	}
	c.RoundTrip = sockopt.RoundTrip(d.System)
	if d.LastError != "" {
		c.LastError = &Event{Time: d.LastErrorAt, Text: d.LastError}
	}
	return c
}

// State describes what the connection does in a word or two.
func (c *Connection) State() string {
	switch {
	case c.Parked && c.Streams > 0:
		return "parked, with streams"
	case c.Parked:
		return "parked"
	case c.NotParkable != "":
		return "active: " + c.NotParkable
	}
	return "active"
}
