// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"fmt"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
)

// Mode says which events of an RPC the server sees. Messages go there one by one, without gRPC's
// frames: mode GRPC of A93.
type Mode struct {
	RequestHeaders, RequestMessages                     bool
	ResponseHeaders, ResponseMessages, ResponseTrailers bool
}

// parseMode reads a message; by default there are headers, and nothing else.
func parseMode(in *filterv3.ProcessingMode) (Mode, error) {
	return Mode{RequestHeaders: true, ResponseHeaders: true}.override(in)
}

// override returns what a message makes of m, where DEFAULT says nothing.
func (m Mode) override(in *filterv3.ProcessingMode) (Mode, error) {
	var err error
	for _, h := range []struct {
		field string
		in    filterv3.ProcessingMode_HeaderSendMode
		out   *bool
	}{
		{"request_header_mode", in.GetRequestHeaderMode(), &m.RequestHeaders},
		{"response_header_mode", in.GetResponseHeaderMode(), &m.ResponseHeaders},
		{"response_trailer_mode", in.GetResponseTrailerMode(), &m.ResponseTrailers},
	} {
		switch h.in {
		case filterv3.ProcessingMode_DEFAULT:
		case filterv3.ProcessingMode_SEND, filterv3.ProcessingMode_SKIP:
			*h.out = h.in == filterv3.ProcessingMode_SEND
		default:
			return Mode{}, fmt.Errorf("%s: %v is not known", h.field, h.in)
		}
	}
	if m.RequestMessages, err = parseBody(in.GetRequestBodyMode()); err != nil {
		return Mode{}, fmt.Errorf("request_body_mode: %w", err)
	}
	if m.ResponseMessages, err = parseBody(in.GetResponseBodyMode()); err != nil {
		return Mode{}, fmt.Errorf("response_body_mode: %w", err)
	}
	if m.ResponseMessages && !m.ResponseTrailers {
		return Mode{}, errors.New("response_trailer_mode: not SEND, though response_body_mode is GRPC")
	}
	return m, nil
}

func parseBody(in filterv3.ProcessingMode_BodySendMode) (bool, error) {
	switch in {
	case filterv3.ProcessingMode_NONE, filterv3.ProcessingMode_GRPC:
		return in == filterv3.ProcessingMode_GRPC, nil
	default:
		return false, fmt.Errorf("%v is not supported; only NONE and GRPC are", in)
	}
}

func bodyMode(sends bool) filterv3.ProcessingMode_BodySendMode {
	if sends {
		return filterv3.ProcessingMode_GRPC
	}
	return filterv3.ProcessingMode_NONE
}

// idle reports whether there is nothing to send.
func (m Mode) idle() bool { return m == Mode{} }

// change returns the mode that a server wants for an RPC in mode m; ok is false if it may not
// have that. Request headers have been sent by then.
func (c *Config) change(m Mode, in *filterv3.ProcessingMode) (out Mode, ok bool) {
	if in == nil || !c.AllowOverride {
		return m, false
	}
	out, err := m.override(in)
	if err != nil {
		return m, false
	}
	out.RequestHeaders = m.RequestHeaders
	if !c.Restricted {
		return out, true
	}
	compared := out
	compared.RequestHeaders = false
	for _, allowed := range c.Overrides {
		if allowed == compared {
			return out, true
		}
	}
	return m, false
}
