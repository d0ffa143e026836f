// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// tap passes connections on to a server and takes note of the records. The frames of
// the test service's handshakes begin as records do, with other types.
type tap struct {
	mu      sync.Mutex
	largest [2]int // record, in bytes, of the client and of the server
	err     error
}

const recordType = 6

func startTap(t *testing.T, server string) (*tap, string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := lis.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.connect(client, server) })
		}
	})
	t.Cleanup(func() {
		lis.Close()
		wg.Wait()
	})
	return p, lis.Addr().String()
}

func (p *tap) connect(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		p.note(0, 0, err)
		return
	}
	defer server.Close()
	var wg sync.WaitGroup
	wg.Go(func() { p.pass(server, client, 0); server.Close() })
	wg.Go(func() { p.pass(client, server, 1); client.Close() })
	wg.Wait()
}

func (p *tap) pass(dst io.Writer, src io.Reader, from int) {
	header := make([]byte, 8)
	for {
		if _, err := io.ReadFull(src, header); err != nil {
			return // whoever hung up
		}
		size := 4 + int(binary.LittleEndian.Uint32(header))
		if size > 2<<20 || size < 8 {
			p.note(from, 0, errors.New("what passes is no record"))
			return
		}
		if binary.LittleEndian.Uint32(header[4:]) == recordType {
			p.note(from, size, nil)
		}
		if _, err := dst.Write(header); err != nil {
			return
		}
		if _, err := io.CopyN(dst, src, int64(size-8)); err != nil {
			return
		}
	}
}

func (p *tap) note(from, size int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.largest[from] = max(p.largest[from], size)
	p.err = errors.Join(p.err, err)
}
