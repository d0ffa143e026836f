// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// TestAppendWritesWhatTheOracleWrites compares bytes, with every Append function
// behind a prefix that it has to leave alone.
func TestAppendWritesWhatTheOracleWrites(t *testing.T) {
	prefix := []byte("before")
	tests := map[string]struct {
		ours   func(dst []byte) []byte
		theirs func(fr *http2.Framer) error
	}{
		"DATA": {
			func(dst []byte) []byte { return append(frame.AppendDataHeader(dst, 5, 3, false), "abc"...) },
			func(fr *http2.Framer) error { return fr.WriteData(5, false, []byte("abc")) },
		},
		"DATA, end of stream": {
			func(dst []byte) []byte { return frame.AppendDataHeader(dst, 1<<31-1, 0, true) },
			func(fr *http2.Framer) error { return fr.WriteData(1<<31-1, true, nil) },
		},
		"SETTINGS": {
			func(dst []byte) []byte {
				return frame.AppendSettings(dst, frame.Setting{ID: frame.EnablePush, Value: 0},
					frame.Setting{ID: frame.MaxHeaderListSize, Value: 1<<32 - 1})
			},
			func(fr *http2.Framer) error {
				return fr.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0},
					http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1<<32 - 1})
			},
		},
		"SETTINGS, empty": {
			func(dst []byte) []byte { return frame.AppendSettings(dst) },
			func(fr *http2.Framer) error { return fr.WriteSettings() },
		},
		"SETTINGS, ack": {frame.AppendSettingsAck, (*http2.Framer).WriteSettingsAck},
		"PING": {
			func(dst []byte) []byte { return frame.AppendPing(dst, false, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}) },
			func(fr *http2.Framer) error { return fr.WritePing(false, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}) },
		},
		"PING, ack": {
			func(dst []byte) []byte { return frame.AppendPing(dst, true, [8]byte{8}) },
			func(fr *http2.Framer) error { return fr.WritePing(true, [8]byte{8}) },
		},
		"GOAWAY": {
			func(dst []byte) []byte {
				return frame.AppendGoAway(dst, 7, frame.EnhanceYourCalm, []byte("too_many_pings"))
			},
			func(fr *http2.Framer) error {
				return fr.WriteGoAway(7, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
			},
		},
		"WINDOW_UPDATE": {
			func(dst []byte) []byte { return frame.AppendWindowUpdate(dst, 0, 1<<31-1) },
			func(fr *http2.Framer) error { return fr.WriteWindowUpdate(0, 1<<31-1) },
		},
		"RST_STREAM": {
			func(dst []byte) []byte { return frame.AppendRSTStream(dst, 9, frame.Cancel) },
			func(fr *http2.Framer) error { return fr.WriteRSTStream(9, http2.ErrCodeCancel) },
		},
		"HEADERS": {
			func(dst []byte) []byte {
				return frame.FinishHeaders(append(frame.ReserveHeaders(dst), 0x82), len(dst), 3, true, 0)
			},
			func(fr *http2.Framer) error {
				return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x82}, EndStream: true, EndHeaders: true})
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := bytes.NewBuffer(bytes.Clone(prefix))
			if err := tt.theirs(http2.NewFramer(want, nil)); err != nil {
				t.Fatal(err)
			}
			got := tt.ours(bytes.Clone(prefix))
			if !bytes.Equal(got, want.Bytes()) {
				t.Errorf("got  %x\nwant %x", got, want.Bytes())
			}
			compare(t, got[len(prefix):])
		})
	}
}

func TestAppendWindowUpdateOfNothing(t *testing.T) {
	if got := frame.AppendWindowUpdate([]byte("x"), 1, 0); string(got) != "x" {
		t.Errorf("got %q, want no frame", got)
	}
}

func TestAppendGoAwayCutsDebugData(t *testing.T) {
	b := frame.AppendGoAway(nil, 1, frame.NoError, make([]byte, 1<<20))
	if err := frame.ParseHeader(b).Check(frame.MinMaxFrameSize); err != nil {
		t.Fatal(err)
	}
	if want := frame.HeaderLen + frame.MinMaxFrameSize; len(b) != want {
		t.Errorf("%d bytes, want %d", len(b), want)
	}
}

func TestHeadersAreSplit(t *testing.T) {
	const least = frame.MinMaxFrameSize
	for _, maxFrame := range []uint32{0, 1, least, least + 1, 3 * least, frame.MaxMaxFrameSize, 1<<32 - 1} {
		for _, n := range []int{0, 1, least - 1, least, least + 1, 2 * least, 2*least + 1, 3*least - 1, 7 * least} {
			t.Run(fmt.Sprintf("max %d, block %d", maxFrame, n), func(t *testing.T) {
				checkSplit(t, pattern(n), maxFrame, n%2 == 0)
			})
		}
	}
}

func FuzzHeadersSplit(f *testing.F) {
	f.Add(uint32(0), uint32(0), true)
	f.Add(uint32(frame.MinMaxFrameSize+1), uint32(frame.MinMaxFrameSize), false)
	f.Add(uint32(100_000), uint32(20_000), true)
	f.Fuzz(func(t *testing.T, n, maxFrame uint32, endStream bool) {
		checkSplit(t, pattern(int(n%(1<<18))), maxFrame, endStream)
	})
}

// checkSplit appends block and has the oracle put it together again.
func checkSplit(t *testing.T, block []byte, maxFrame uint32, endStream bool) {
	t.Helper()
	const prefix = "before"
	b := append(frame.ReserveHeaders([]byte(prefix)), block...)
	b = frame.FinishHeaders(b, len(prefix), 3, endStream, maxFrame)
	if string(b[:len(prefix)]) != prefix {
		t.Fatalf("prefix is now %q", b[:len(prefix)])
	}
	limit := min(max(maxFrame, frame.MinMaxFrameSize), frame.MaxMaxFrameSize)
	fr := http2.NewFramer(nil, bytes.NewReader(b[len(prefix):]))
	fr.SetMaxReadFrameSize(limit)
	var got []byte
	for i := 0; ; i++ {
		f, err := fr.ReadFrame()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		var last bool
		switch f := f.(type) {
		case *http2.HeadersFrame:
			if f.StreamEnded() != endStream {
				t.Errorf("end of stream %t, want %t", f.StreamEnded(), endStream)
			}
			got, last = append(got, f.HeaderBlockFragment()...), f.HeadersEnded()
		case *http2.ContinuationFrame:
			got, last = append(got, f.HeaderBlockFragment()...), f.HeadersEnded()
		default:
			t.Fatalf("frame %d is %v", i, f)
		}
		if last {
			break
		}
		if f.Header().Length != limit {
			t.Errorf("frame %d has %d bytes and is not the last; want %d", i, f.Header().Length, limit)
		}
	}
	if f, err := fr.ReadFrame(); err == nil {
		t.Errorf("one frame too many: %v", f)
	}
	if !bytes.Equal(got, block) {
		t.Error("the fragments together are not the block")
	}
}

// pattern has no period that a frame boundary could hide behind.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func TestFramesDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 1<<17)
	block := pattern(40_000)
	settings := rawFrame(frame.Settings, 0, 0, []byte{0, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0x40, 0})
	headers := rawFrame(frame.Headers, 0x2d, 3, []byte{1, 0, 0, 0, 5, 1, 0xaa, 0})
	var ping [8]byte
	got := testing.AllocsPerRun(100, func() {
		b := frame.AppendSettings(dst, frame.Setting{ID: frame.InitialWindowSize, Value: 1 << 20})
		b = frame.AppendPing(b, true, ping)
		b = frame.AppendRSTStream(b, 1, frame.Cancel)
		b = frame.AppendWindowUpdate(b, 1, 1)
		b = frame.AppendDataHeader(b, 1, 1, true)
		start := len(b)
		b = append(frame.ReserveHeaders(b), block...)
		frame.FinishHeaders(b, start, 1, true, frame.MinMaxFrameSize)

		h := frame.ParseHeader(settings)
		if h.Check(frame.MinMaxFrameSize) != nil {
			t.Error("SETTINGS refused")
		}
		s, err := frame.ParseSettings(h, settings[frame.HeaderLen:])
		if err != nil || s.Len() != 2 || s.At(1).Check() != nil {
			t.Error("SETTINGS not read")
		}
		if _, err := frame.ParseHeaders(frame.ParseHeader(headers), headers[frame.HeaderLen:]); err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
