// SPDX-License-Identifier: Apache-2.0

package delay

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"testing"
	"time"
)

func TestEverythingArrivesLater(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.Copy(conn, conn)
	}()
	const oneWay = 20 * time.Millisecond
	line, err := Listen(echo.Addr().String(), oneWay)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	conn, err := net.Dial("tcp", line.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	start := time.Now()
	sent := make([]byte, 1<<20)
	rand.Read(sent)
	go func() {
		conn.Write(sent)
		conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back, %v; want the %d that were sent", len(got), err, len(sent))
	}
	if took := time.Since(start); took < 2*oneWay {
		t.Errorf("there and back took %v, want at least %v", took, 2*oneWay)
	}
}
