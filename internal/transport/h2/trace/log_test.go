// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// block encodes pairs of names and values.
func block(t *testing.T, e *hpack.Encoder, out *bytes.Buffer, pairs ...string) []byte {
	t.Helper()
	out.Reset()
	for i := 0; i < len(pairs); i += 2 {
		if err := e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Clone(out.Bytes())
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// lines returns what a connection's parcels are written as.
func lines(o Options, parcels ...[][]byte) []string {
	var out strings.Builder
	l := New(&out, o)
	l.now = func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC) }
	l.Open(1, "client", "a", "b", State{SendWindow: 65535})
	for _, p := range parcels {
		l.Sent(1, p, State{Streams: 1})
	}
	l.Close(1, "why", State{})
	l.Event(1, "parked", "", State{}) // is over
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestLines(t *testing.T) {
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	first := block(t, enc, &buf, ":method", "POST", ":path", "/secret.S/M", "authorization", "Bearer xyz", "te", "trailers")
	again := block(t, enc, &buf, ":method", "POST", "authorization", "Bearer xyz")
	headers := func(id uint32, f frame.Flags, b []byte) []byte {
		return append(frame.AppendHeader(nil, frame.Header{Length: uint32(len(b)), Type: frame.Headers, Flags: f, StreamID: id}), b...)
	}
	rest := frame.AppendHeader(nil, frame.Header{Length: uint32(len(first) - 3), Type: frame.Continuation, Flags: frame.FlagEndHeaders, StreamID: 1})
	parcels := [][][]byte{
		{join([]byte(frame.ClientPreface), frame.AppendSettings(nil, frame.Setting{ID: frame.InitialWindowSize, Value: 7}))},
		{join(headers(1, 0, first[:3]), rest, first[3:])},
		// The payload of DATA lies in three pieces, and more frames follow it.
		{frame.AppendDataHeader(nil, 1, 6, true), []byte("ab"), []byte("cd"), join([]byte("ef"), headers(3, frame.FlagEndHeaders, again))},
		{join(frame.AppendPing(nil, true, [8]byte{1}), frame.AppendWindowUpdate(nil, 0, 9), frame.AppendRSTStream(nil, 1, frame.Cancel), frame.AppendGoAway(nil, 3, frame.NoError, []byte("bye\n")))},
	}
	const head = "03:04:05.678901 client a-b "
	const tail = " | send_window=0 recv_window=0 held=0 streams=1"
	want := []string{
		head + "open | send_window=65535 recv_window=0 held=0 streams=0",
		head + "sent SETTINGS stream=0 length=6 INITIAL_WINDOW_SIZE=7" + tail,
		head + "sent HEADERS stream=1 length=3" + tail,
		head + "sent CONTINUATION stream=1 length=LEN END_HEADERS [:method=\"POST\" :path authorization te=\"trailers\"]" + tail,
		head + "sent DATA stream=1 length=6 END_STREAM" + tail,
		head + "sent HEADERS stream=3 length=2 END_HEADERS [:method=\"POST\" authorization]" + tail,
		head + "sent PING stream=0 length=8 ACK data=0100000000000000" + tail,
		head + "sent WINDOW_UPDATE stream=0 length=4 increment=9" + tail,
		head + "sent RST_STREAM stream=1 length=4 code=CANCEL" + tail,
		head + "sent GOAWAY stream=0 length=12 last_stream=3 code=NO_ERROR debug=\"bye\\n\"" + tail,
		head + "closed why | send_window=0 recv_window=0 held=0 streams=0",
	}
	got := lines(Options{}, parcels...)
	for i, line := range got {
		if i < len(want) {
			want[i] = strings.Replace(want[i], "LEN", lengthOf(line), 1)
		}
		if i >= len(want) || line != want[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i, line, want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	if all := strings.Join(got, "\n"); strings.Contains(all, "xyz") || strings.Contains(all, "secret") {
		t.Error("values are written that nobody asked for")
	}
	if all := strings.Join(lines(Options{Values: true}, parcels...), "\n"); strings.Count(all, `authorization="Bearer xyz"`) != 2 {
		t.Errorf("values were asked for:\n%s", all)
	}
	for _, line := range lines(Options{JSON: true}, parcels...) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Side != "client" || r.Event == "" || r.Time.IsZero() {
			t.Errorf("%s: %v", line, err)
		}
		if strings.Contains(line, "xyz") {
			t.Error("values are in JSON that nobody asked for")
		}
	}
}

// TestNamesAreQuoted: a field's name makes no line of its own, whatever a peer sends.
func TestNamesAreQuoted(t *testing.T) {
	var buf bytes.Buffer
	b := block(t, hpack.NewEncoder(&buf), &buf, "x\n03:04:05 client a-b closed", "1", "a=\"b", "2", "x-y_z.1", "3", "", "4")
	h := frame.AppendHeader(nil, frame.Header{Length: uint32(len(b)), Type: frame.Headers, Flags: frame.FlagEndHeaders, StreamID: 1})
	got := lines(Options{}, [][]byte{join(h, b)})
	const want = `["x\n03:04:05 client a-b closed" "a=\"b" x-y_z.1 ]`
	if len(got) != 3 || !strings.Contains(got[1], want) {
		t.Errorf("%d lines: %s", len(got), strings.Join(got, "\n"))
	}
}

// TestPrefaceInPayload: DATA that begins as a client's preface does is DATA.
func TestPrefaceInPayload(t *testing.T) {
	payload := join([]byte(frame.ClientPreface), make([]byte, 16))
	got := lines(Options{}, [][]byte{
		frame.AppendDataHeader(nil, 1, len(payload), true), payload, frame.AppendPing(nil, false, [8]byte{1}),
	})
	if len(got) != 4 || !strings.Contains(got[1], "sent DATA") || !strings.Contains(got[2], "sent PING") {
		t.Errorf("%d lines: %s", len(got), strings.Join(got, "\n"))
	}
}

func lengthOf(line string) string {
	_, after, _ := strings.Cut(line, "length=")
	n, _, _ := strings.Cut(after, " ")
	return n
}

// FuzzFrames: whatever a peer sends, a log only writes lines.
func FuzzFrames(f *testing.F) {
	f.Add(frame.AppendPing(nil, true, [8]byte{1}), 3)
	f.Add([]byte{0, 0, 1, 1, 4, 0, 0, 0, 1, 0x82}, 2)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var out bytes.Buffer
		l := New(&out, Options{Values: true})
		l.Open(1, "server", "a", "b", State{})
		cut = min(max(cut, 0), len(b))
		l.Sent(1, [][]byte{b[:cut], b[cut:]}, State{})
		if len(b) >= frame.HeaderLen {
			l.Received(1, frame.ParseHeader(b), b[frame.HeaderLen:], State{})
		}
	})
}
