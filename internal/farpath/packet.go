// SPDX-License-Identifier: Apache-2.0

package farpath

import "encoding/binary"

// What stands before each packet of a device that offloads: struct virtio_net_hdr.
const (
	virtioSize = 10

	virtioFlags   = 0 // 1 byte
	virtioGSOType = 1 // 1 byte
	virtioGSOSize = 4 // 2 bytes: the payload of a segment

	gsoNone  = 0
	gsoTCPv4 = 1
	gsoECN   = 0x80 // added to the type: the first segment has CWR
)

// Places in the headers of IPv4 and TCP, and flags.
const (
	ipLength   = 2
	ipID       = 4
	ipChecksum = 10
	ipSource   = 12
	ipMinSize  = 20

	tcpSequence = 4
	tcpOffset   = 12
	tcpFlags    = 13
	tcpChecksum = 16
	tcpMinSize  = 20

	flagFIN = 0x01
	flagPSH = 0x08
	flagCWR = 0x80

	protocolTCP = 6
)

// segments is how a packet divides.
type segments struct {
	count   int // 1 for all that is not to be cut
	headers int // bytes of IP and TCP before the payload
	payload int // bytes of all segments
	size    int // payload of each but the last
}

// segmentsOf looks at a packet of the device.
func segmentsOf(packet []byte) segments {
	ip := packet[virtioSize:]
	whole := segments{count: 1, headers: len(ip)}
	if packet[virtioGSOType]&^gsoECN != gsoTCPv4 || len(ip) < ipMinSize {
		return whole
	}
	ipSize := int(ip[0]&0x0f) * 4
	if len(ip) < ipSize+tcpMinSize {
		return whole
	}
	s := segments{size: int(binary.NativeEndian.Uint16(packet[virtioGSOSize:]))}
	s.headers = ipSize + int(ip[ipSize+tcpOffset]>>4)*4
	s.payload = len(ip) - s.headers
	if s.size == 0 || s.payload <= 0 {
		return whole
	}
	s.count = (s.payload + s.size - 1) / s.size
	return s
}

// wire is how many bytes the i-th segment takes on a wire.
func (s segments) wire(i int) int {
	if s.count == 1 {
		return s.headers + s.payload
	}
	return s.headers + min(s.size, s.payload-i*s.size)
}

// cut makes a packet of the segments from first to before end, in into, which must have room. The
// first checksum of TCP in a packet that is to be segmented is that of the pseudo-header alone.
func (s segments) cut(into, packet []byte, first, end int) []byte {
	from, to := first*s.size, min(end*s.size, s.payload)
	head := virtioSize + s.headers
	out := append(into[:0], packet[:head]...)
	out = append(out, packet[head+from:head+to]...)
	if first > 0 {
		out[virtioGSOType] &^= gsoECN
	}
	if to-from <= s.size {
		out[virtioGSOType] = gsoNone
		binary.NativeEndian.PutUint16(out[virtioGSOSize:], 0)
	}
	ip := out[virtioSize:]
	ipSize := int(ip[0]&0x0f) * 4
	binary.BigEndian.PutUint16(ip[ipLength:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[ipID:], binary.BigEndian.Uint16(ip[ipID:])+uint16(first))
	binary.BigEndian.PutUint16(ip[ipChecksum:], 0)
	binary.BigEndian.PutUint16(ip[ipChecksum:], ^sum(0, ip[:ipSize]))
	tcp := ip[ipSize:]
	binary.BigEndian.PutUint32(tcp[tcpSequence:], binary.BigEndian.Uint32(tcp[tcpSequence:])+uint32(from))
	if first > 0 {
		tcp[tcpFlags] &^= flagCWR
	}
	if end < s.count {
		tcp[tcpFlags] &^= flagFIN | flagPSH
	}
	pseudo := sum(uint32(protocolTCP)+uint32(len(tcp)), ip[ipSource:ipMinSize])
	binary.BigEndian.PutUint16(tcp[tcpChecksum:], pseudo)
	return out
}

// sum adds b, of an even length, to start as the Internet checksum does (RFC 1071), not
// complemented.
func sum(start uint32, b []byte) uint16 {
	for ; len(b) >= 2; b = b[2:] {
		start += uint32(binary.BigEndian.Uint16(b))
	}
	for start > 0xffff {
		start = start>>16 + start&0xffff
	}
	return uint16(start)
}
