// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"errors"
	"fmt"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
)

// Mode says which events of an RPC the server gets. It gets messages one by one, without gRPC's
// framing; that is mode GRPC of A93.
type Mode struct {
	Request  RequestMode
	Response ResponseMode
}

// RequestMode says which events of the request the server gets.
type RequestMode struct{ Headers, Messages bool }

// ResponseMode says which events of the response the server gets.
type ResponseMode struct{ Headers, Messages, Trailers bool }

// parseMode parses a message. By default the server gets headers and nothing else.
func parseMode(in *filterv3.ProcessingMode) (Mode, error) {
	return Mode{Request: RequestMode{Headers: true}, Response: ResponseMode{Headers: true}}.override(in)
}

// override returns m with the changes that a message asks for. DEFAULT changes nothing.
func (m Mode) override(in *filterv3.ProcessingMode) (Mode, error) {
	var err error
	for _, h := range []struct {
		field string
		in    filterv3.ProcessingMode_HeaderSendMode
		out   *bool
	}{
		{"request_header_mode", in.GetRequestHeaderMode(), &m.Request.Headers},
		{"response_header_mode", in.GetResponseHeaderMode(), &m.Response.Headers},
		{"response_trailer_mode", in.GetResponseTrailerMode(), &m.Response.Trailers},
	} {
		switch h.in {
		case filterv3.ProcessingMode_DEFAULT:
		case filterv3.ProcessingMode_SEND, filterv3.ProcessingMode_SKIP:
			*h.out = h.in == filterv3.ProcessingMode_SEND
		default:
			return Mode{}, fmt.Errorf("%s: %v is not known", h.field, h.in)
		}
	}
	if m.Request.Messages, err = parseBody(in.GetRequestBodyMode()); err != nil {
		return Mode{}, fmt.Errorf("request_body_mode: %w", err)
	}
	if m.Response.Messages, err = parseBody(in.GetResponseBodyMode()); err != nil {
		return Mode{}, fmt.Errorf("response_body_mode: %w", err)
	}
	if m.Response.Messages && !m.Response.Trailers {
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

// idle reports whether the server gets no events.
func (m Mode) idle() bool { return m == Mode{} }
