// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"google.golang.org/grpc/codes"
	istatus "google.golang.org/grpc/internal/status"
	"google.golang.org/grpc/status"
)

// StatusFields are the trailers that say how an RPC ended, in the form they have on the
// wire. The zero value is a trailer block in which none was seen.
type StatusFields struct {
	Code    string // grpc-status: decimal
	Message string // grpc-message: percent-encoded; empty means no such field
	Details string // grpc-status-details-bin: base64 of a google.rpc.Status; empty means no such field

	seen     bool  // a grpc-status was there, whatever its value
	nDetails uint8 // how many grpc-status-details-bin were there, up to 2
}

// Add takes one received trailer and reports whether it belongs to the status. The last of several
// grpc-status or grpc-message counts. [IsHidden] says separately which fields the application sees.
func (f *StatusFields) Add(name, value string) bool {
	switch name {
	case HeaderGRPCStatus:
		f.Code, f.seen = value, true
	case HeaderGRPCMessage:
		f.Message = value
	case HeaderStatusDetails:
		f.Details = value
		f.nDetails = min(f.nDetails+1, 2)
	default:
		return false
	}
	return true
}

// HasDetails reports whether a grpc-status-details-bin was seen.
func (f *StatusFields) HasDetails() bool { return f.nDetails > 0 }

// HasStatus reports whether a grpc-status was seen.
func (f *StatusFields) HasStatus() bool { return f.seen || f.Code != "" }

// Status returns what the trailers say, never nil. Without a grpc-status it is synthesized from httpStatus,
// which is otherwise ignored ("If grpc-status was provided, it must be used"); see [MissingStatus].
//
// If there is exactly one grpc-status-details-bin, the google.rpc.Status in it is the result. If the field
// is not base64, or has another code than grpc-status, the status is Internal, as in the published module,
// whose texts these are. If it is not a google.rpc.Status, it is ignored. A code that is not a number gives
// codes.Unknown and a message that names it. A code that is not defined is passed on, as statuscodes.md
// allows: applications have codes of their own.
func (f *StatusFields) Status(httpStatus int) *status.Status {
	if !f.HasStatus() {
		return MissingStatus(httpStatus, ContentTypeGRPC, decodePercent(f.Message))
	}
	if f.Code == "0" && f.Message == "" && f.nDetails == 0 {
		return okStatus
	}
	n, ok := parseCode(f.Code)
	if !ok {
		_, err := strconv.ParseInt(clip(f.Code), 10, 32)
		return status.Newf(codes.Unknown, "transport: malformed %s: %v%s", HeaderGRPCStatus, err, f.suffix())
	}
	code := codes.Code(n)
	if f.nDetails == 1 {
		if st := f.detailed(code); st != nil {
			return st
		}
	}
	return status.New(code, decodePercent(f.Message))
}

// EncodeStatus returns the trailers for st; a nil st is OK. If its details cannot be encoded, err says so;
// the result lacks them, and can still be sent. If the result has Details, the caller must not send those
// that the application put into its own trailer metadata.
func EncodeStatus(st *status.Status) (f StatusFields, err error) {
	f.Code, f.seen = codeString(st.Code()), true
	f.Message = encodePercent(st.Message())
	raw := istatus.Raw(st)
	// Details are for errors only: "Status-Details is allowed only if Status is not OK".
	if len(raw.GetDetails()) == 0 || st.Code() == codes.OK {
		return f, nil
	}
	if !utf8.ValidString(raw.GetMessage()) { // it is sent so as grpc-message, and must not keep the details from it
		raw = proto.CloneOf(raw)
		raw.Message = strings.ToValidUTF8(raw.Message, "\ufffd")
	}
	wire, err := proto.Marshal(raw)
	if err != nil {
		return f, fmt.Errorf("encoding %s: %w", HeaderStatusDetails, err)
	}
	f.Details = string(AppendBinary(make([]byte, 0, binaryLen(len(wire))), wire))
	f.nDetails = 1
	return f, nil
}

// codeString returns the grpc-status value for c; it allocates only for codes that are
// not defined.
func codeString(c codes.Code) string {
	return strconv.FormatUint(uint64(c), 10) // small numbers are static strings
}

var okStatus = status.New(codes.OK, "")

// detailed returns the status in the details, or nil if they have none.
func (f *StatusFields) detailed(code codes.Code) *status.Status {
	wire, err := decodeBinary(f.Details)
	if err != nil {
		return status.Newf(codes.Internal, "transport: malformed %s: %v", HeaderStatusDetails, err)
	}
	p := new(spb.Status)
	if proto.Unmarshal(wire, p) != nil {
		return nil
	}
	if codes.Code(p.GetCode()) != code {
		// Without the details: as text, messages within messages would take memory in proportion to the square of
		// what came.
		short := &spb.Status{Code: p.GetCode(), Message: Quoted(p.GetMessage())}
		return status.Newf(codes.Internal, "%s mismatch: %s=%v, %s=%q, %s=%v", HeaderStatusDetails,
			HeaderGRPCStatus, code, HeaderGRPCMessage, Quoted(decodePercent(f.Message)), HeaderStatusDetails, short)
	}
	return status.FromProto(p)
}

// suffix returns the decoded grpc-message, to be put at the end of one of our texts.
func (f *StatusFields) suffix() string {
	if f.Message == "" {
		return ""
	}
	return ": " + decodePercent(f.Message)
}

// parseCode takes what the published module takes: a signed number of 32 bits. Leading zeros and a sign
// must not be sent, but are harmless.
func parseCode(s string) (uint32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return uint32(n), err == nil
}
