// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"math/rand/v2"
	"net"
	"time"
)

// opening is how an HTTP/2 client begins: the preface, empty SETTINGS, and the head of a
// HEADERS frame that says 16 KB follow (RFC 9113, sections 3.4, 6.5 and 6.2).
const opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
	"\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
	"\x00\x40\x00\x01\x04\x00\x00\x00\x01"

// stranger connects, says a part of what a client would say, or noise, and goes, politely
// or not. The error is that of connecting.
func stranger(target string) error {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return err
	}
	tcp := conn.(*net.TCPConn)
	defer tcp.Close()
	said := []byte(opening)[:rand.N(len(opening)+1)]
	for range rand.N(40) {
		said = append(said, byte(rand.Uint32()))
	}
	if _, err := tcp.Write(said); err != nil {
		return nil // the server may have had enough
	}
	time.Sleep(rand.N(300 * time.Millisecond))
	switch rand.N(3) {
	case 0:
		_ = tcp.SetLinger(0)
	case 1:
		_ = tcp.CloseWrite()
		time.Sleep(rand.N(50 * time.Millisecond))
	}
	return nil
}
