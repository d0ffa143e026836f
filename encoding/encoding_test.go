// SPDX-License-Identifier: Apache-2.0

package encoding_test

import (
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/mem"
)

type codecV1 struct{ name string }

func (codecV1) Marshal(any) ([]byte, error) { return nil, nil }
func (codecV1) Unmarshal([]byte, any) error { return nil }
func (c codecV1) Name() string              { return c.name }

type codecV2 struct{ name string }

func (codecV2) Marshal(any) (mem.BufferSlice, error) { return nil, nil }
func (codecV2) Unmarshal(mem.BufferSlice, any) error { return nil }
func (c codecV2) Name() string                       { return c.name }

func TestCodecs(t *testing.T) {
	if encoding.GetCodec("test-a") != nil || encoding.GetCodecV2("test-a") != nil {
		t.Error("a codec before registration")
	}
	encoding.RegisterCodec(codecV1{"TEST-a"})
	if encoding.GetCodec("test-a") != (codecV1{"TEST-a"}) || encoding.GetCodecV2("test-a") != nil {
		t.Error("a V1 codec isn't there, or as V2 too")
	}
	encoding.RegisterCodecV2(codecV2{"test-A"})
	if encoding.GetCodec("test-a") != nil || encoding.GetCodecV2("test-a") != (codecV2{"test-A"}) {
		t.Error("a V2 codec does not replace the V1 codec")
	}
	encoding.RegisterCodec(codecV1{"test-a"})
	if encoding.GetCodec("test-a") == nil || encoding.GetCodecV2("test-a") != nil {
		t.Error("a V1 codec does not replace the V2 codec")
	}
}

func TestBadCodecsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"nil":     func() { encoding.RegisterCodec(nil) },
		"nil V2":  func() { encoding.RegisterCodecV2(nil) },
		"noname":  func() { encoding.RegisterCodec(codecV1{}) },
		"noname2": func() { encoding.RegisterCodecV2(codecV2{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

type compressor struct{ name string }

func (compressor) Compress(io.Writer) (io.WriteCloser, error) { return nil, nil }
func (compressor) Decompress(io.Reader) (io.Reader, error)    { return nil, nil }
func (c compressor) Name() string                             { return c.name }

func TestCompressors(t *testing.T) {
	if encoding.GetCompressor("test-a") != nil {
		t.Error("a compressor before registration")
	}
	var wg sync.WaitGroup
	for _, name := range []string{"test-a", "test-b", "test-a", encoding.Identity} {
		wg.Go(func() {
			encoding.RegisterCompressor(compressor{name})
			if encoding.GetCompressor(name) != (compressor{name}) {
				t.Errorf("%s isn't there", name)
			}
		})
	}
	wg.Wait()
	names := slices.Sorted(slices.Values(compressornames.List()))
	if !slices.Equal(names, []string{"test-a", "test-b"}) {
		t.Errorf("names: %q", names)
	}
	if got := compressornames.AcceptEncoding(); got != strings.Join(compressornames.List(), ",") {
		t.Errorf("grpc-accept-encoding: %q", got)
	}
}
