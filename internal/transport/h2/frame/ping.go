// SPDX-License-Identifier: Apache-2.0

package frame

const pingLen = 8

// ParsePing reads the payload p of a PING frame, RFC 9113 section 6.7. FlagAck marks an answer.
func ParsePing(h Header, p []byte) ([8]byte, error) {
	if err := h.of(p).checkPing(); err != nil {
		return [8]byte{}, err
	}
	return [8]byte(p), nil
}

// AppendPing appends a PING frame. An answer has the data of the PING that it answers.
func AppendPing(dst []byte, ack bool, data [8]byte) []byte {
	dst = AppendHeader(dst, Header{Length: pingLen, Type: Ping, Flags: FlagAck.when(ack)})
	return append(dst, data[:]...)
}

func (h Header) checkPing() error {
	if err := h.needConn(); err != nil {
		return err
	}
	if h.Length != pingLen {
		return ConnError(FrameSizeError, "PING: length is not 8")
	}
	return nil
}
