// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// newPacket is a packet of TCP with options, as a device that offloads hands it over.
func newPacket(payload, segment int, flags byte) []byte {
	const options = 12
	head := make([]byte, virtioSize+ipMinSize+tcpMinSize+options)
	if payload > segment {
		head[virtioGSOType] = gsoTCPv4
		binary.NativeEndian.PutUint16(head[virtioGSOSize:], uint16(segment))
	}
	ip := head[virtioSize:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[ipLength:], uint16(len(ip)+payload))
	binary.BigEndian.PutUint16(ip[ipID:], 1000)
	ip[9] = protocolTCP
	copy(ip[ipSource:], []byte{10, 213, 0, 1, 10, 213, 0, 2})
	binary.BigEndian.PutUint16(ip[ipChecksum:], ^sum(0, ip[:ipMinSize]))
	tcp := ip[ipMinSize:]
	binary.BigEndian.PutUint32(tcp[tcpSequence:], 0xffff_ff00) // soon begins anew
	tcp[tcpOffset] = (tcpMinSize + options) / 4 << 4
	tcp[tcpFlags] = flags
	return append(head, random(payload)...)
}

func TestSegmentsOf(t *testing.T) {
	const head = ipMinSize + tcpMinSize + 12
	short := newPacket(10, 1448, 0)[:virtioSize+8]
	short[virtioGSOType] = gsoTCPv4
	for name, test := range map[string]struct {
		packet []byte
		count  int
		wire   int // of the last segment
	}{
		"one that need not be cut": {newPacket(500, 1448, 0), 1, head + 500},
		"without a payload":        {newPacket(0, 1448, 0), 1, head},
		"two":                      {newPacket(1449, 1448, 0), 2, head + 1},
		"two that are full":        {newPacket(2896, 1448, 0), 2, head + 1448},
		"many":                     {newPacket(60_000, 1448, 0), 42, head + 60_000 - 41*1448},
		"one that is too short":    {short, 1, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := segmentsOf(test.packet)
			if got := s.wire(s.count - 1); s.count != test.count || got != test.wire {
				t.Errorf("%d segments, the last of %d bytes; want %d, %d", s.count, got, test.count, test.wire)
			}
		})
	}
}

func TestCutPacketsAreWhatTCPWouldHaveSent(t *testing.T) {
	const segment, payload = 1000, 4500
	whole := newPacket(payload, segment, flagCWR|flagPSH|flagFIN)
	s := segmentsOf(whole)
	head := virtioSize + s.headers
	for _, test := range []struct {
		first, end int
		flags      byte
		gso        bool
	}{
		{0, 1, flagCWR, false},
		{0, 2, flagCWR, true},
		{1, 4, 0, true},
		{2, 5, flagPSH | flagFIN, true},
		{4, 5, flagPSH | flagFIN, false},
	} {
		got := s.cut(make([]byte, 0, len(whole)), whole, test.first, test.end)
		from, to := test.first*segment, min(test.end*segment, payload)
		if !bytes.Equal(got[head:], whole[head+from:head+to]) {
			t.Errorf("%v: another payload", test)
		}
		if gso := got[virtioGSOType] != gsoNone; gso != test.gso {
			t.Errorf("%v: is still to be cut: %v", test, gso)
		}
		ip := got[virtioSize:]
		if length := int(binary.BigEndian.Uint16(ip[ipLength:])); length != len(ip) {
			t.Errorf("%v: the length is %d, want %d", test, length, len(ip))
		}
		if sum(0, ip[:ipMinSize]) != 0xffff {
			t.Errorf("%v: the checksum of IP is wrong", test)
		}
		if id := binary.BigEndian.Uint16(ip[ipID:]); int(id) != 1000+test.first {
			t.Errorf("%v: ID %d", test, id)
		}
		tcp := ip[ipMinSize:]
		if tcp[tcpFlags] != test.flags {
			t.Errorf("%v: flags %x", test, tcp[tcpFlags])
		}
		if seq := binary.BigEndian.Uint32(tcp[tcpSequence:]); seq != 0xffff_ff00+uint32(from) {
			t.Errorf("%v: sequence number %x", test, seq)
		}
		// RFC 9293, 3.1: addresses, a zero byte, the protocol, and the length of TCP.
		pseudo := append(bytes.Clone(ip[ipSource:ipMinSize]), 0, protocolTCP, byte(len(tcp)>>8), byte(len(tcp)))
		if got := binary.BigEndian.Uint16(tcp[tcpChecksum:]); got != sum(0, pseudo) {
			t.Errorf("%v: the checksum of TCP's pseudo-header is %x, want %x", test, got, sum(0, pseudo))
		}
	}
}
