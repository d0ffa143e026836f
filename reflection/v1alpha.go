// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

// serverV1Alpha serves v1alpha by converting it to v1.
type serverV1Alpha struct {
	v1alpha.UnimplementedServerReflectionServer
	s *server
}

// ServerReflectionInfo answers the requests of one client, in order.
func (s serverV1Alpha) ServerReflectionInfo(stream v1alpha.ServerReflection_ServerReflectionInfoServer) error {
	return s.s.ServerReflectionInfo(streamV1Alpha{stream})
}

// streamV1Alpha presents a v1alpha stream as a v1 stream.
type streamV1Alpha struct {
	v1alpha.ServerReflection_ServerReflectionInfoServer
}

func (s streamV1Alpha) Recv() (*v1.ServerReflectionRequest, error) {
	in, err := s.ServerReflection_ServerReflectionInfoServer.Recv()
	if err != nil {
		return nil, err
	}
	out := new(v1.ServerReflectionRequest)
	return out, convert(in, out)
}

func (s streamV1Alpha) Send(in *v1.ServerReflectionResponse) error {
	out := new(v1alpha.ServerReflectionResponse)
	if err := convert(in, out); err != nil {
		return err
	}
	return s.ServerReflection_ServerReflectionInfoServer.Send(out)
}

// convert copies a message into a message of the other version, by encoding and decoding. Both
// versions have the same encoding.
func convert(from, to proto.Message) error {
	b, err := proto.Marshal(from)
	if err == nil {
		err = proto.Unmarshal(b, to)
	}
	if err != nil {
		return status.Errorf(codes.Internal, "reflection: converting between v1 and v1alpha: %v", err)
	}
	return nil
}
