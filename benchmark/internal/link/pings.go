// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// What a client says of HTTP/2 that only pings: frames, and what comes before them.
const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameHead   = 9
	settingsTag = 4
	pingTag     = 6
	ackFlag     = 1
)

// frame is an HTTP/2 frame on stream 0.
func frame(tag, flags byte, payload string) string {
	return string(append([]byte{0, 0, byte(len(payload)), tag, flags, 0, 0, 0, 0}, payload...))
}

var ping = frame(pingTag, 0, "are you?")

// greet shakes hands with an HTTP/2 server, of which nothing is on its way after that.
func greet(conn net.Conn) error {
	if _, err := io.WriteString(conn, preface+frame(settingsTag, 0, "")); err != nil {
		return err
	}
	if err := await(conn, settingsTag, 0); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, frame(settingsTag, ackFlag, "")+ping); err != nil {
		return err
	}
	return await(conn, pingTag, ackFlag)
}

// await drops what comes before a frame, and that.
func await(conn net.Conn, tag, flags byte) error {
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(append([]byte{0}, head[:3]...))
		if _, err := io.CopyN(io.Discard, conn, int64(length)); err != nil {
			return err
		}
		if head[3] == tag && head[4] == flags {
			return nil
		}
	}
}

// Ping pings the server of a connection of the protocol Pings. buf is used; it may be nil.
func Ping(conn net.Conn, buf []byte) ([]byte, error) {
	if _, err := io.WriteString(conn, ping); err != nil {
		return buf, err
	}
	buf = append(buf[:0], ping...)
	if _, err := io.ReadFull(conn, buf); err != nil {
		return buf, err
	}
	if buf[3] != pingTag || buf[4] != ackFlag {
		return buf, errors.New("a server says more than that it is there")
	}
	return buf, nil
}
