// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"io"

	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

type server struct {
	v1.UnimplementedServerReflectionServer
	source source
}

// ServerReflectionInfo answers the requests of one client, in order.
func (s *server) ServerReflectionInfo(stream v1.ServerReflection_ServerReflectionInfoServer) error {
	c := conversation{source: s.source}
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		resp, err := c.answer(req)
		if err != nil {
			return err
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}
