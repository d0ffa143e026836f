// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"math"
	"strconv"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// detailsOf is a grpc-status-details-bin value.
func detailsOf(t testing.TB, p *spb.Status) string {
	t.Helper()
	wire, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(AppendBinary(nil, wire))
}

func oneDetail(t testing.TB) []*anypb.Any {
	t.Helper()
	detail, err := anypb.New(durationpb.New(1500000000))
	if err != nil {
		t.Fatal(err)
	}
	return []*anypb.Any{detail}
}

func TestStatusFromTrailers(t *testing.T) {
	full := &spb.Status{Code: 5, Message: "from the details", Details: oneDetail(t)}
	good := detailsOf(t, full)
	tests := []struct {
		name       string
		trailers   []string // names and values
		httpStatus int
		code       codes.Code
		message    string
		nDetails   int
	}{
		{"ok", []string{"grpc-status", "0"}, 200, codes.OK, "", 0},
		{"ok with a message", []string{"grpc-status", "0", "grpc-message", "fine%21"}, 200, codes.OK, "fine!", 0},
		{"ok with details", []string{"grpc-status", "0", "grpc-status-details-bin", good}, 200, codes.Internal, "grpc-status-details-bin mismatch: grpc-status=OK, grpc-message=\"\"", 0},
		{"error", []string{"grpc-status", "5", "grpc-message", "no %E2%98%BA"}, 200, codes.NotFound, "no \u263a", 0},
		{"the highest code", []string{"grpc-status", "16"}, 200, codes.Unauthenticated, "", 0},
		{"a broken escape", []string{"grpc-status", "5", "grpc-message", "100% sure"}, 200, codes.NotFound, "100% sure", 0},
		{"leading zeros", []string{"grpc-status", "005"}, 200, codes.NotFound, "", 0},
		{"grpc-status wins over HTTP", []string{"grpc-status", "5"}, 503, codes.NotFound, "", 0},
		{"details", []string{"grpc-status", "5", "grpc-message", "short", "grpc-status-details-bin", good}, 200, codes.NotFound, "from the details", 1},
		{"padded details", []string{"grpc-status", "5", "grpc-status-details-bin", good + strings.Repeat("=", (4-len(good)%4)%4)}, 200, codes.NotFound, "from the details", 1},
		{"details of another code", []string{"grpc-status", "7", "grpc-message", "short", "grpc-status-details-bin", good}, 200, codes.Internal, `grpc-status-details-bin mismatch: grpc-status=PermissionDenied, grpc-message="short", grpc-status-details-bin=code:5`, 0},
		{"details without a code", []string{"grpc-status", "7", "grpc-message", "short", "grpc-status-details-bin", detailsOf(t, &spb.Status{Message: "m"})}, 200, codes.Internal, "grpc-status-details-bin mismatch: ", 0},
		{"details twice", []string{"grpc-status", "5", "grpc-message", "short", "grpc-status-details-bin", good, "grpc-status-details-bin", good}, 200, codes.NotFound, "short", 0},
		{"details joined", []string{"grpc-status", "5", "grpc-message", "short", "grpc-status-details-bin", good + "," + good}, 200, codes.Internal, "transport: malformed grpc-status-details-bin: ", 0},
		{"details not base64", []string{"grpc-status", "5", "grpc-message", "short", "grpc-status-details-bin", "!"}, 200, codes.Internal, "transport: malformed grpc-status-details-bin: ", 0},
		{"details not a message", []string{"grpc-status", "5", "grpc-message", "short", "grpc-status-details-bin", "/////w"}, 200, codes.NotFound, "short", 0},
		{"no status, 200", nil, 200, codes.Unknown, "", 0},
		{"no status, 503", []string{"x", "y"}, 503, codes.Unavailable, "unexpected HTTP status code received from server: 503 (Service Unavailable)", 0},
		{"no status, odd", nil, 799, codes.Unknown, "unexpected HTTP status code received from server: 799 ()", 0},
		{"no status, no HTTP status", []string{"grpc-message", "m"}, 0, codes.Unknown, "m", 0},
		{"undefined code", []string{"grpc-status", "17", "grpc-message", "why"}, 200, codes.Code(17), "why", 0},
		{"undefined code alone", []string{"grpc-status", "2147483647"}, 200, codes.Code(2147483647), "", 0},
		{"more than 31 bits", []string{"grpc-status", "4294967295"}, 200, codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing "4294967295": value out of range`, 0},
		{"undefined code with details", []string{"grpc-status", "99", "grpc-status-details-bin", detailsOf(t, &spb.Status{Code: 99, Message: "m", Details: oneDetail(t)})}, 200, codes.Code(99), "m", 1},
		{"a code too large", []string{"grpc-status", "4294967296"}, 200, codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing "4294967296": value out of range`, 0},
		{"an empty code", []string{"grpc-status", ""}, 503, codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing "": invalid syntax`, 0},
		{"a word", []string{"grpc-status", "OK", "grpc-message", "why"}, 200, codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing "OK": invalid syntax: why`, 0},
		{"a negative code", []string{"grpc-status", "-1"}, 200, codes.Code(4294967295), "", 0},
		{"a sign", []string{"grpc-status", "+5"}, 200, codes.NotFound, "", 0},
		{"a space", []string{"grpc-status", " 5"}, 200, codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing " 5": invalid syntax`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f StatusFields
			for i := 0; i < len(tt.trailers); i += 2 {
				if took := f.Add(tt.trailers[i], tt.trailers[i+1]); took != strings.HasPrefix(tt.trailers[i], "grpc-") {
					t.Errorf("Add(%q) = %v", tt.trailers[i], took)
				}
			}
			st := f.Status(tt.httpStatus)
			if st.Code() != tt.code || !strings.HasPrefix(st.Message(), tt.message) || tt.message == "" && st.Message() != "" || len(st.Details()) != tt.nDetails {
				t.Errorf("got %v, %q and %d details, want %v, %q and %d",
					st.Code(), st.Message(), len(st.Details()), tt.code, tt.message, tt.nDetails)
			}
		})
	}
}

func TestEncodeStatus(t *testing.T) {
	detailed, err := status.New(codes.NotFound, "tr\u00e8s loin").WithDetails(durationpb.New(42))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		st            *status.Status
		code, message string
		details       bool
	}{
		{nil, "0", "", false},
		{status.New(codes.OK, ""), "0", "", false},
		{status.New(codes.Internal, "a\nb"), "13", "a%0Ab", false},
		{status.New(codes.Code(1234), "own"), "1234", "own", false},
		{detailed, "5", "tr%C3%A8s loin", true},
		{status.FromProto(&spb.Status{Code: 0, Details: oneDetail(t)}), "0", "", false},
	}
	for _, tt := range tests {
		f, err := EncodeStatus(tt.st)
		if err != nil {
			t.Errorf("%v: %v", tt.st, err)
		}
		if f.Code != tt.code || f.Message != tt.message || (f.Details != "") != tt.details {
			t.Errorf("%v: got %+v", tt.st, f)
		}
		if tt.st.Code() > codes.Unauthenticated || tt.st.Code() == codes.OK {
			continue
		}
		back := f.Status(200)
		if !proto.Equal(back.Proto(), tt.st.Proto()) {
			t.Errorf("%v came back as %v", tt.st.Proto(), back.Proto())
		}
	}
}

// A message that is not UTF-8 does not keep details from being sent.
func TestEncodeStatusInvalidUTF8(t *testing.T) {
	st := status.FromProto(&spb.Status{Code: 5, Message: "bad \xff", Details: oneDetail(t)})
	f, err := EncodeStatus(st)
	if err != nil || st.Message() != "bad \xff" {
		t.Errorf("error %v, the status is %v now", err, st)
	}
	if back := f.Status(200).Proto(); !proto.Equal(back, &spb.Status{Code: 5, Message: "bad \ufffd", Details: oneDetail(t)}) {
		t.Errorf("got %v", back)
	}
}

// A status whose details cannot be encoded is still sent.
func TestEncodeStatusInvalidDetails(t *testing.T) {
	st := status.FromProto(&spb.Status{Code: 5, Message: "bad", Details: []*anypb.Any{{TypeUrl: "\xff"}}})
	f, err := EncodeStatus(st)
	if err == nil || !strings.Contains(err.Error(), HeaderStatusDetails) {
		t.Errorf("error %v", err)
	}
	if back := f.Status(200); back.Code() != codes.NotFound || back.Message() != "bad" {
		t.Errorf("got %v", back)
	}
}

func TestStatusAllocs(t *testing.T) {
	t.Run("ok", func(t *testing.T) {
		ok := status.New(codes.OK, "")
		atMostAllocs(t, 0, func() {
			f, err := EncodeStatus(ok)
			if err != nil || f.Status(200).Code() != codes.OK {
				t.Fatal(f, err)
			}
		})
	})
	t.Run("error", func(t *testing.T) {
		st := status.New(codes.NotFound, "no such item")
		atMostAllocs(t, 1, func() {
			f, err := EncodeStatus(st)
			if err != nil || f.Status(200).Code() != codes.NotFound {
				t.Fatal(f, err)
			}
		})
	})
}

func FuzzStatus(f *testing.F) {
	f.Add("0", "", "", 200)
	f.Add("5", "no%20", detailsOf(f, &spb.Status{Code: 5, Message: "m"}), 200)
	f.Add("", "x", "", 503)
	f.Add("99", "%", "!", 0)
	f.Add("-8", "", "", 200)
	f.Fuzz(func(t *testing.T, code, message, details string, httpStatus int) {
		var in StatusFields
		in.Add(HeaderGRPCStatus, code)
		in.Add(HeaderGRPCMessage, message)
		in.Add(HeaderStatusDetails, details)
		st := in.Status(httpStatus)
		if n, err := strconv.ParseInt(code, 10, 32); err == nil && st.Code() != codes.Code(uint32(n)) && st.Code() != codes.Internal {
			t.Fatalf("%q is %v", code, st.Code())
		}
		// What came in can be sent on, and says the same again.
		out, err := EncodeStatus(st)
		if err != nil && out.Details != "" {
			t.Fatalf("%+v with %v", out, err)
		}
		back := out.Status(200)
		// A negative code is read, and then written as one that does not fit into 32 bits, as in the published module: who
		// gets that reads UNKNOWN.
		if uint32(st.Code()) > math.MaxInt32 && back.Code() == codes.Unknown {
			return
		}
		if back.Code() != st.Code() {
			t.Fatalf("%v became %v", st, back)
		}
	})
}

func BenchmarkStatus(b *testing.B) {
	detailed, err := status.New(codes.NotFound, "no such item").WithDetails(durationpb.New(42))
	if err != nil {
		b.Fatal(err)
	}
	for name, st := range map[string]*status.Status{
		"ok": status.New(codes.OK, ""), "error": status.New(codes.NotFound, "no such item"), "details": detailed,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := EncodeStatus(st)
				if err != nil || f.Status(200).Code() != st.Code() {
					b.Fatal(f, err)
				}
			}
		})
	}
}

// TestMismatchIsShort: details that don't go with their status are not made text: messages within messages would take
// memory in proportion to the square of what came.
func TestMismatchIsShort(t *testing.T) {
	nested := &anypb.Any{TypeUrl: "google.protobuf.Any"}
	for range 1000 {
		wire, err := proto.Marshal(nested)
		if err != nil {
			t.Fatal(err)
		}
		nested = &anypb.Any{TypeUrl: "google.protobuf.Any", Value: wire}
	}
	long := strings.Repeat("m", 1<<20)
	var f StatusFields
	f.Code, f.Message = "7", long
	f.Details, f.nDetails = detailsOf(t, &spb.Status{Code: 5, Message: long, Details: []*anypb.Any{nested}}), 1
	st := f.detailed(codes.PermissionDenied)
	if text := st.Message(); st.Code() != codes.Internal || len(text) > 1<<10 || !strings.Contains(text, "mismatch") || !strings.Contains(text, "code:5") {
		t.Errorf("%v, %d bytes: %.2000s", st.Code(), len(text), text)
	}
}
