// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// Sizes of netlink's headers.
const (
	messageHead   = 16
	attributeHead = 4
)

// attribute appends an attribute of netlink's, padded.
func attribute(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(attributeHead+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	to = append(to, value...)
	for len(to)%4 != 0 {
		to = append(to, 0)
	}
	return to
}

// netlink has the system do one thing in the namespace of the calling thread, and waits until
// it is done.
func netlink(kind, flags uint16, body []byte) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	m := binary.NativeEndian.AppendUint32(nil, uint32(messageHead+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = binary.NativeEndian.AppendUint32(m, 1) // the sequence number
	m = binary.NativeEndian.AppendUint32(m, 0) // to the system
	m = append(m, body...)
	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < messageHead+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("netlink gave an answer that is none")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[messageHead:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
