// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"maps"
	"net"
	"slices"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/metadata"
)

func addressOf(a net.Addr) *pb.Address {
	switch a := a.(type) {
	case *net.TCPAddr:
		out := &pb.Address{Type: pb.Address_TYPE_IPV6, Address: a.IP.String(), IpPort: uint32(a.Port)}
		if a.IP.To4() != nil {
			out.Type = pb.Address_TYPE_IPV4
		}
		return out
	case *net.UnixAddr:
		return &pb.Address{Type: pb.Address_TYPE_UNIX, Address: text(a.String())}
	}
	return &pb.Address{Type: pb.Address_TYPE_UNKNOWN, Address: text(a.String())}
}

// sortedKeys returns the keys in order, so that the same metadata always gives the same entry.
func sortedKeys(md metadata.MD) []string { return slices.Sorted(maps.Keys(md)) }
